#pragma once

#include <cstdint>
#include <string>

// Numbers as people read them. None depends on the locale of the process.

namespace blindfl::run {

/// With at most `digits` significant digits, "0.9124"; "-" for what is not finite.
[[nodiscard]] std::string decimal_text(double value, int digits = 4);
/// With that many digits after the point, as in "12.50".
[[nodiscard]] std::string fixed_text(double value, int decimals);
/// "1,234,567".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// "512 B", "1.5 kB", "20.3 MB": units of 1000; "< 1 B" for a share of one.
[[nodiscard]] std::string bytes_text(double bytes);
/// "350 ms", "12.3 s", "4 min 05 s", "2 h 03 min".
[[nodiscard]] std::string seconds_text(double seconds);

}  // namespace blindfl::run
