#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/ot/pool.h"

namespace blindfl::ot {

/// What both parties' material must have in common: its purpose and size, and the places in the pools where it was
/// taken. Pads that do not belong together give numbers, and nothing would tell that they are wrong: so the first
/// message that is made with some begins with these 16 bytes. They tell nothing that the peer does not know.
class MaterialTag {
 public:
  static constexpr std::size_t kBytes = 16;

  /// Before anything is taken.
  MaterialTag(std::string_view purpose, std::initializer_list<std::uint64_t> numbers, const RandomOtSender& sender,
              const RandomOtReceiver& receiver);
  /// Of one direction only.
  MaterialTag(std::string_view purpose, std::initializer_list<std::uint64_t> numbers, const OtSession::Digest& place);

  void write(ByteSink& out) const;
  /// Throws ProtocolError if the peer's is another.
  void check(ByteSource& in) const;

 private:
  std::array<std::byte, kBytes> tag_{};
};

}  // namespace blindfl::ot
