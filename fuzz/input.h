#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "blindfl/base/bytes.h"

namespace blindfl::fuzz {

/// What libFuzzer made up, read from front to back. After its end come zeros: every input means something.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}

  [[nodiscard]] std::uint8_t take_byte() {
    const ByteView byte = take(1);
    return byte.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(byte.front());
  }
  [[nodiscard]] std::size_t take_u16() {
    const std::size_t low = take_byte();
    return low | std::size_t{take_byte()} << 8;
  }
  /// At most `count` bytes: fewer at the end.
  [[nodiscard]] ByteView take(std::size_t count) {
    const ByteView taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] ByteView rest() const { return rest_; }

 private:
  ByteView rest_;
};

/// `valid`, overwritten here and there. An edit is an offset (2 bytes), a length (1), and the bytes.
inline Bytes edited(Input& input, Bytes message) {
  while (!input.rest().empty() && !message.empty()) {
    const std::size_t at = input.take_u16() % message.size();
    const ByteView edit = input.take(input.take_byte());
    std::ranges::copy(edit.first(std::min(edit.size(), message.size() - at)),
                      message.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return message;
}

/// Ends the process, which libFuzzer reports, unless what must hold does. An exception that a target does not expect
/// ends it too.
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace blindfl::fuzz
