// The names of kept alignments that a peer sends before a scoring. Input: a byte (1: the right version is put in, 2: a
// number of names that there may be, and zeros after them), then the message, filled up with zeros to its size.

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/alignment_offer.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blindfl;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  Bytes message(protocol::kAlignmentOfferBytes);
  std::ranges::copy(input.take(message.size()), message.begin());
  if ((switches & 1) != 0) std::ranges::copy(Bytes{std::byte{1}, {}, {}, {}}, message.begin());
  if ((switches & 2) != 0) {
    const std::size_t count = std::to_integer<std::size_t>(message[4]) % (protocol::kMostOffered + 1);
    message[4] = static_cast<std::byte>(count);
    std::fill_n(message.begin() + 5, 3, std::byte{0});
    std::fill(message.begin() + static_cast<std::ptrdiff_t>(8 + count * kDigestBytes), message.end(), std::byte{0});
  }
  try {
    BufferSource source(message);
    const protocol::AlignmentOffer offer = protocol::read_alignment_offer(source);
    fuzz::check(source.remaining() == 0, "all of it was read");
    fuzz::check(offer.size() <= protocol::kMostOffered, "no more than there may be");
    const Bytes again = write_to_bytes([&](ByteSink& out) { protocol::write_alignment_offer(offer, out); });
    fuzz::check(again == message, "written again, it is the same");
    const auto common = protocol::common_alignment(offer, offer);
    fuzz::check(common.has_value() != offer.empty(), "an offer has all of itself");
  } catch (const ProtocolError&) {
    fuzz::check((switches & 3) != 3, "a right offer is not refused");
  }
  return 0;
}
