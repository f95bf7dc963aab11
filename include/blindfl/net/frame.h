#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/net/step.h"

// A message on the wire, little-endian:
//
//   offset  bytes
//   0       4      magic "BFL1"
//   4       2      step
//   6       2      zero
//   8       4      layer
//   12      8      sequence number, counted from 0 in each direction
//   20      8      size of the payload
//   28      4      CRC-32C of bytes 0..27
//   32      size   payload
//   32+size 4      CRC-32C of the payload, continued from the header's

namespace blindfl::net {

/// Which way a message went, seen from one party.
enum class Direction : std::uint8_t { kSent, kReceived };

/// What a message is: which step of which layer, and how long.
struct Message {
  Step step;
  std::uint32_t layer = 0;
  std::uint64_t size = 0;
  /// Of the matrix inside, for this party's ledger: never on the wire. Both 0 if there is none.
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;

  /// The same on the wire, which knows nothing of shapes.
  friend bool operator==(const Message& a, const Message& b) {
    return a.step == b.step && a.layer == b.layer && a.size == b.size;
  }
};

struct FrameHeader {
  Message message;
  std::uint64_t sequence = 0;
};

constexpr std::size_t kFrameHeaderBytes = 32;
constexpr std::size_t kFrameTrailerBytes = 4;
using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

[[nodiscard]] FrameHeaderBytes encode_header(const FrameHeader& header);

/// The step is a number alone. Throws ProtocolError if the bytes are not a header or were damaged.
[[nodiscard]] FrameHeader decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes);

/// Where the payload's checksum starts from: the header's own.
[[nodiscard]] std::uint32_t header_checksum(std::span<const std::byte, kFrameHeaderBytes> bytes);

}  // namespace blindfl::net
