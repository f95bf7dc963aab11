// All that a peer sends while shared numbers are compared, to either party. Input: a byte, whose bit 0 says whose side
// is played (1: the receiver's); a byte, the bits of the numbers; a byte, how many; a byte, the message that is edited
// (see input.h) if there is one; the others are as they should be. With bit 1 of the first byte, what follows is that
// message itself.

#include "blindfl/mpc/comparison.h"
#include "blindfl/base/error.h"
#include "input.h"
#include "mpc/comparison_sides.h"

using namespace blindfl;
using namespace blindfl::mpc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Random random;
  static DealtPools pools;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const bool victim_is_sender = (switches & 1) == 0;
  const int bits = 2 + input.take_byte() % 63;
  const std::size_t count = 1 + input.take_byte() % 70;
  const std::size_t edited = input.take_byte() % 6;
  ComparisonSides sides(ComparisonPlan(bits, count), pools, random);
  const SecretVector<std::uint64_t> shares(count, 12345);
  (void)sides.sender.start(shares);
  Bytes message = sides.receiver.start(shares);
  for (std::size_t number = 0; !message.empty(); ++number) {
    const bool to_sender = number % 2 == 0;
    Comparison& to = to_sender ? sides.sender : sides.receiver;
    if (to_sender == victim_is_sender && number == edited) {
      const Bytes wrong =
          (switches & 2) != 0 ? Bytes(input.rest().begin(), input.rest().end()) : fuzz::edited(input, message);
      try {
        Bytes answer = to.next(wrong);
        fuzz::check(wrong.size() == message.size(), "only messages of the right length are accepted");
        message = std::move(answer);
        continue;
      } catch (const ProtocolError&) {
        fuzz::check(wrong != message, "what an honest party sends is not refused");
      }
    }
    message = to.next(message);  // also after a wrong one, which changed nothing
  }
  fuzz::check(sides.sender.done() && sides.receiver.done(), "a comparison ends");
  fuzz::check(sides.sender.take().size() == count && sides.receiver.take().size() == count, "every number has a bit");
  return 0;
}
