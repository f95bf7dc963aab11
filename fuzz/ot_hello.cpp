// Base points of either party of oblivious transfer. Input: a byte, whose bit 0 says whose (1: the 8 KB of the sender),
// and bit 1 whether edits of a valid message follow (see input.h) or, behind a valid header, the body itself; bit 2,
// the message with its header.

#include "blindfl/base/error.h"
#include "blindfl/ot/base_ot.h"
#include "input.h"

namespace {

using namespace blindfl;
using namespace blindfl::ot;

/// Made once: keys differ in every process.
struct Parties {
  Random random;
  OtSession session{OtSpec{}};
  BaseOtSender sender{session, random};
  BaseOtReceiver receiver{session, Block{1, 2}, random};
};

Bytes with_header(const OtSession& session, OtStep step, ByteView body) {
  BufferSink out;
  session.write_header(out, step, 0, 0);
  out.write(body);
  return out.take();
}

Bytes message_of(fuzz::Input& input, unsigned switches, const Bytes& valid, const OtSession& session, OtStep step) {
  if ((switches & 2) != 0) return fuzz::edited(input, valid);
  if ((switches & 4) != 0) return Bytes(input.rest().begin(), input.rest().end());
  return with_header(session, step, input.rest());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Parties parties;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const bool of_sender = (switches & 1) != 0;
  const OtStep step = of_sender ? OtStep::kSenderHello : OtStep::kReceiverHello;
  const std::size_t body_bytes = of_sender ? kBaseReceiverBytes : kPointBytes;
  // The sender of random OTs is the receiver of base OTs.
  const Bytes valid =
      with_header(parties.session, step, of_sender ? parties.receiver.message() : parties.sender.message());
  const Bytes message = message_of(input, switches, valid, parties.session, step);
  try {
    const ByteView body = parties.session.checked_body(message, step, 0, 0, body_bytes);
    fuzz::check(std::equal(message.begin(), message.begin() + OtSession::kHeaderBytes, valid.begin()),
                "a header is this session's");
    if (of_sender) {
      fuzz::check(parties.sender.keys(body).zero.size() == kBaseOts, "every base OT has keys");
    } else {
      fuzz::check(parties.receiver.keys(body).size() == kBaseOts, "every base OT has a key");
    }
  } catch (const ProtocolError&) {
    fuzz::check(message != valid, "a hello is not refused");
  }
  return 0;
}
