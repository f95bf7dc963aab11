#include "blindfl/base/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "blindfl/base/text.h"

namespace blindfl {

namespace {

// Of the largest double without an exponent, and a little more.
constexpr std::size_t kMostCharacters = 400;
constexpr double kSecondsPerMinute = 60;
constexpr double kSecondsPerHour = 3600;
constexpr std::uint64_t kMinutesPerHour = 60;
constexpr int kDigits = 3;

std::string written(double value, std::chars_format format, int precision) {
  if (!std::isfinite(value)) return "-";
  std::array<char, kMostCharacters> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return {text.data(), end.ptr};
}

/// Three digits that count and no exponent: "0.05", "6.65", "20.3", "512", "12300".
std::string short_text(double value) {
  if (!std::isfinite(value)) return "-";
  const int magnitude = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string text = written(value, std::chars_format::fixed, std::clamp(kDigits - 1 - magnitude, 0, 9));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// In the largest unit that leaves a number of at least 1.
std::string in_units(double value, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  // 999.95 would be written as 1000.
  for (; std::abs(value) >= (unit == 0 ? 1000 : 999.5) && unit + 1 < units.size(); ++unit) value /= 1000;
  return short_text(value).append(" ").append(units[unit]);
}

/// Singular or plural.
std::string form_of(std::uint64_t count, std::string_view noun, std::string_view plural) {
  if (count != 1 && !plural.empty()) return std::string(plural);
  return std::string(noun).append(count == 1 ? "" : "s");
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

std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural) {
  return count_text(count).append(" ").append(form_of(count, noun, plural));
}

std::string plainly_counted(std::uint64_t count, std::string_view noun, std::string_view plural) {
  return std::to_string(count).append(" ").append(form_of(count, noun, plural));
}

std::string ranges_text(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    // Two in a row are not worth a range.
    if (end - i < 3) end = i + 1;
    items.push_back(std::to_string(numbers[i]));
    if (end - i > 1) items.back().append(" to ").append(std::to_string(numbers[end - 1]));
    i = end;
  }
  return listed(items);
}

std::string bytes_text(double bytes) {
  if (bytes > 0 && bytes < 1) return "< 1 B";
  constexpr std::array<std::string_view, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  return in_units(bytes, kUnits);
}

std::string memory_text(std::uint64_t bytes) {
  return short_text(std::ceil(static_cast<double>(bytes) / 0x1p30 * 10) / 10).append(" GiB");
}

std::string seconds_text(double seconds) {
  constexpr double kShortest = 1e-6;
  if (!std::isfinite(seconds) || seconds < 0 || seconds >= 1e12) return "-";
  if (seconds > 0 && seconds < kShortest) return "< 0.001 ms";
  if (seconds < 0.9995) return short_text(seconds * 1000).append(" ms");
  if (seconds < kSecondsPerMinute - 0.05) return short_text(seconds).append(" s");
  if (seconds < kSecondsPerHour - 0.5) {
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    return std::to_string(whole / 60).append(" min ").append(two_digits(whole % 60)).append(" s");
  }
  const auto minutes = static_cast<std::uint64_t>(std::llround(seconds / kSecondsPerMinute));
  return count_text(minutes / kMinutesPerHour)
      .append(" h ")
      .append(two_digits(minutes % kMinutesPerHour))
      .append(" min");
}

std::string amount_text(double value, Unit unit) {
  constexpr double kLarge = 1000;
  if (unit == Unit::kBytes) return bytes_text(value);
  if (unit == Unit::kSeconds) return seconds_text(value);
  if (value >= 10 * kLarge && value < 1e15) return count_text(static_cast<std::uint64_t>(std::llround(value)));
  return decimal_text(value, std::abs(value) < kLarge ? 4 : 6);
}

std::string link_text(double bits_per_second) {
  constexpr std::array<std::string_view, 4> kUnits = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
  return in_units(bits_per_second, kUnits);
}

}  // namespace blindfl
