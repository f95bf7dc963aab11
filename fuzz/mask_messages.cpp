// What A's tell each other by way of B when they agree on masks. Input: a byte with which message (0 to 5) and whether
// the right versions are put in (bit 3), then the message, filled up with zeros to its size.

#include <algorithm>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/mask_messages.h"
#include "input.h"

namespace {

using namespace blindfl;
using namespace blindfl::protocol;

Bytes message_of(fuzz::Input& input, std::size_t size) {
  Bytes message(size);
  std::ranges::copy(input.take(size), message.begin());
  return message;
}

void put_version(Bytes& message, std::size_t at) {
  message[at] = std::byte{2};
  std::fill_n(message.begin() + static_cast<std::ptrdiff_t>(at + 1), 3, std::byte{0});
}

template <class Said>
void read_one(fuzz::Input& input, bool version) {
  Bytes message = message_of(input, Said::kBytes);
  if (version && std::is_same_v<Said, MaskOffer>) put_version(message, 0);
  BufferSource in(message);
  Said said;
  read(said, in);
  const Bytes again = write_to_bytes([&](ByteSink& out) { write(said, out); });
  fuzz::check(in.remaining() == 0 && again == message, "written again, it is the same");
}

template <class Said>
void read_all(fuzz::Input& input, bool version) {
  Bytes message = message_of(input, kListBytes<Said>);
  if (version && std::is_same_v<Said, MaskOffer>) {
    for (std::size_t i = 0; i < std::to_integer<std::size_t>(message[0]) % (kMostPeers + 1); ++i) {
      put_version(message, 4 + i * Said::kBytes);
    }
  }
  BufferSource in(message);
  const std::vector<Said> all = read_list<Said>(in);
  const Bytes again = write_to_bytes([&](ByteSink& out) { write_list(all, out); });
  fuzz::check(in.remaining() == 0 && again == message, "written again, it is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const bool version = (switches & 8) != 0;
  try {
    switch (switches % 8) {
      case 0:
        read_one<MaskOffer>(input, version);
        break;
      case 1:
        read_one<MaskProof>(input, version);
        break;
      case 2:
        read_one<MaskVerdict>(input, version);
        break;
      case 3:
        read_all<MaskOffer>(input, version);
        break;
      case 4:
        read_all<MaskProof>(input, version);
        break;
      default:
        read_all<MaskVerdict>(input, version);
    }
  } catch (const ProtocolError&) {
  }
  return 0;
}
