// The operand of an element-wise product; one that is accepted is multiplied. Input: see small_slots.h.

#include "small_slots.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blindfl;
  fuzz::Input input(data, size);
  const fuzz::SlotSetting setting(input);
  fuzz::SmallSlots& slots = setting.slots();
  const Bytes valid = slots.operand(setting.product());
  const Bytes bytes = setting.message(input, valid);
  try {
    BufferSource in(bytes);
    const Bytes reply = slots.multiply(setting.product(), in);
    fuzz::check(in.remaining() == 0, "an operand is read to its end");
    fuzz::check(reply.size() == slots.reply_bytes(setting.product()), "a reply has the plan's size");
  } catch (const ProtocolError&) {
    fuzz::check(bytes != valid, "an operand is not refused");
  }
  return 0;
}
