// What a peer sends where two bits are multiplied into a ring, as lifts with room do. Input: a byte, whose bit 0 says
// whether the rest is the message itself or edits of a right one (see input.h), and bit 1 which message (0: choices, 1:
// words); a byte, how many; a byte, how wide.

#include "blindfl/base/error.h"
#include "blindfl/ot/ring_and.h"
#include "input.h"
#include "mpc/dealt_pools.h"

namespace {

using namespace blindfl;

/// `step` with a wrong message, and if it is refused, which changes nothing, with the right one.
template <class Step>
auto either(const Bytes& wrong, const Bytes& right, const Step& step) {
  try {
    auto result = step(wrong);
    fuzz::check(wrong.size() == right.size(), "only messages of the right length are accepted");
    return result;
  } catch (const ProtocolError&) {
    fuzz::check(wrong != right, "what an honest party sends is not refused");
  }
  return step(right);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static mpc::DealtPools pools;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t count = 1 + input.take_byte() % 70;
  const int width = 1 + input.take_byte() % 128;
  const auto tampered = [&](const Bytes& right) {
    return (switches & 1) != 0 ? Bytes(input.rest().begin(), input.rest().end()) : fuzz::edited(input, right);
  };
  pools.sent.extend_to(count + 1);
  const ot::RingAndSizes sizes({{count, width}, {1, 128}});
  ot::RingAndSender sender(sizes, pools.sent.sender);
  ot::RingAndReceiver receiver(sizes, pools.sent.receiver);
  const ot::BitWords bits((count + 1 + 63) / 64);
  const Bytes choices = receiver.choose(bits);
  const auto sent = either((switches & 2) == 0 ? tampered(choices) : choices, choices,
                           [&](const Bytes& m) { return sender.send(m, bits); });
  const auto shares = either((switches & 2) != 0 ? tampered(sent.message) : sent.message, sent.message,
                             [&](const Bytes& m) { return receiver.finish(m); });
  fuzz::check(shares.size() == count + 1, "every pair of bits has a share");
  return 0;
}
