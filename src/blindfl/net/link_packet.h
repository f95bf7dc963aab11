#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "blindfl/base/bytes.h"

// What two ends of a resumable stream say to each other, below the frames. A packet is one byte for its kind and a
// body, little-endian:
//
//   'H'  hello    version (4), the sender's nonce (16), the receiver's nonce or zeros (16), bytes received so far (8),
//                 window (8): the first packet of every connection, each way
//   'D'  data     the next bytes of the stream, 1 to kLargestData of them
//   'A'  credit   bytes consumed so far (8): the receiver may forget them, and send that much further
//   'B'  bye      a reason (1), then words for people, at most kLongestReason bytes: no data follows
//   'C'  bye seen nothing
//   'N'  note     words for people, 1 to kLongestReason bytes: from B, whom it waits for where it has several peers

namespace blindfl::net {

constexpr std::uint32_t kLinkVersion = 1;
constexpr std::size_t kLargestData = std::size_t{1} << 18;
constexpr std::size_t kLongestReason = 200;

using Nonce = std::array<std::byte, 16>;

struct HelloPacket {
  std::uint32_t version = kLinkVersion;
  Nonce mine{};
  Nonce yours{};
  std::uint64_t received = 0;
  std::uint64_t window = 0;
};
struct DataPacket {
  Bytes packet;  ///< with its kind in front, so that nothing is moved
  [[nodiscard]] ByteView bytes() const { return ByteView(packet).subspan(1); }
};
struct CreditPacket {
  std::uint64_t consumed = 0;
};
enum class ByeReason : std::uint8_t { kDone = 0, kError = 1, kInterrupted = 2 };
struct ByePacket {
  ByeReason reason = ByeReason::kDone;
  std::string words;
};
struct ByeSeenPacket {};
struct NotePacket {
  std::string words;
};

using LinkPacket = std::variant<HelloPacket, DataPacket, CreditPacket, ByePacket, ByeSeenPacket, NotePacket>;

/// The bytes of a packet. Data packets are not made here: theirs are pieces of what the stream keeps.
[[nodiscard]] Bytes encode_packet(const LinkPacket& packet);

/// What comes before a data packet's bytes.
constexpr std::byte kDataKind{'D'};

/// Words of a peer, fit for a screen: at most kLongestReason characters of printable ASCII.
[[nodiscard]] std::string printable_words(std::string_view words);

/// Throws ProtocolError if the bytes are not a packet. Words are cut down to printable ASCII: they end up on a screen.
[[nodiscard]] LinkPacket decode_packet(Bytes bytes);

}  // namespace blindfl::net
