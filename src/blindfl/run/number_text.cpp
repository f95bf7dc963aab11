#include "blindfl/run/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace blindfl::run {

namespace {

// Of the largest double without an exponent, and a little more.
constexpr std::size_t kMostCharacters = 400;
constexpr double kSecondsPerMinute = 60;
constexpr double kSecondsPerHour = 3600;
constexpr std::uint64_t kMinutesPerHour = 60;

std::string written(double value, std::chars_format format, int precision) {
  if (!std::isfinite(value)) return "-";
  std::array<char, kMostCharacters> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return {text.data(), end.ptr};
}

std::string two_digits(std::uint64_t value) {
  std::string text = std::to_string(value);
  return value < 10 ? text.insert(0, 1, '0') : text;
}

}  // namespace

std::string decimal_text(double value, int digits) {
  return written(value, std::chars_format::general, digits);
}

std::string fixed_text(double value, int decimals) {
  return written(value, std::chars_format::fixed, decimals);
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string bytes_text(double bytes) {
  if (bytes > 0 && bytes < 1) return "< 1 B";
  constexpr std::array<std::string_view, 5> kUnits = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  // 999.95 would be written as 1000.
  for (; std::abs(bytes) >= (unit == 0 ? 1000 : 999.5) && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return decimal_text(bytes, 3).append(kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds >= 1e12) return "-";
  if (seconds < 0.9995) return decimal_text(seconds * 1000, 3).append(" ms");
  if (seconds < kSecondsPerMinute - 0.05) return decimal_text(seconds, 3).append(" s");
  if (seconds < kSecondsPerHour - 0.5) {
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    return std::to_string(whole / 60).append(" min ").append(two_digits(whole % 60)).append(" s");
  }
  const auto minutes = static_cast<std::uint64_t>(std::llround(seconds / kSecondsPerMinute));
  return std::to_string(minutes / kMinutesPerHour)
      .append(" h ")
      .append(two_digits(minutes % kMinutesPerHour))
      .append(" min");
}

}  // namespace blindfl::run
