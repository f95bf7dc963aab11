#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Numbers as people read them, with their units: on screens, in logs and in reports. None depends on the locale of the
// process, and none but `decimal_text` writes an exponent.

namespace blindfl {

/// With at most `digits` significant digits, "0.9124"; "-" for what is not finite. Very large and very small numbers
/// have an exponent.
[[nodiscard]] std::string decimal_text(double value, int digits = 4);
/// With that many digits after the point, as in "12.50".
[[nodiscard]] std::string fixed_text(double value, int decimals);
/// "1,234,567".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// "1 row", "0 rows", "12,000 rows". `plural` is for nouns that do not just take an "s": "1 category", "2 categories".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural = {});
/// The same in plain digits, "12000 rows": for lines of logs, which programs read too.
[[nodiscard]] std::string plainly_counted(std::uint64_t count, std::string_view noun, std::string_view plural = {});
/// "3", "0, 2 and 3", "0 to 12 and 20". Ascending.
[[nodiscard]] std::string ranges_text(const std::vector<std::size_t>& numbers);
/// "512 B", "1.5 kB", "20.3 MB", "6.65 GB": units of 1000; "< 1 B" for a part of one. Of what travels.
[[nodiscard]] std::string bytes_text(double bytes);
/// "1.3 GiB", rounded up to a tenth, as options that limit memory are in GiB. Of what is kept.
[[nodiscard]] std::string memory_text(std::uint64_t bytes);
/// "0.05 ms", "350 ms", "12.3 s", "4 min 05 s", "2 h 03 min"; "< 0.001 ms" for what is less.
[[nodiscard]] std::string seconds_text(double seconds);
/// What a number counts.
enum class Unit { kNumber, kBytes, kSeconds };
/// In its unit: "0.9124", "12,345", "1.5 MB", "350 ms".
[[nodiscard]] std::string amount_text(double value, Unit unit);
/// "1 Gbit/s", "12.5 Mbit/s".
[[nodiscard]] std::string link_text(double bits_per_second);

}  // namespace blindfl
