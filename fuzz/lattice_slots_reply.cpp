// The reply of an element-wise product, as its key's owner opens it. Input: see small_slots.h.

#include "small_slots.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blindfl;
  fuzz::Input input(data, size);
  const fuzz::SlotSetting setting(input);
  fuzz::SmallSlots& slots = setting.slots();
  const Bytes operand = slots.operand(setting.product());
  BufferSource in(operand);
  const Bytes valid = slots.multiply(setting.product(), in);
  const Bytes bytes = setting.message(input, valid);
  try {
    BufferSource reply(bytes);
    slots.open(setting.product(), reply);
    fuzz::check(reply.remaining() == 0, "a reply is read to its end");
  } catch (const ProtocolError&) {
    fuzz::check(bytes != valid, "a reply is not refused");
  }
  return 0;
}
