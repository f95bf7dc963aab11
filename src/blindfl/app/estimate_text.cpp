#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "blindfl/app/estimate.h"
#include "blindfl/app/job/lines.h"
#include "blindfl/protocol/plan_words.h"

namespace blindfl::app {

namespace {

using protocol::memory_in_words;
using protocol::size_in_words;

constexpr std::size_t kWidth = 100;

/// Hours and minutes where seconds say little: "2 h 05 min".
std::string duration_in_words(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < 2 * kMinute) return protocol::time_in_words(seconds);
  std::ostringstream text;
  const double minutes = std::round(seconds / kMinute);
  if (seconds < 2 * kHour) {
    text << minutes << " min";
  } else {
    const double hours = std::floor(minutes / 60);
    text << std::fixed << std::setprecision(0) << hours << " h " << std::setw(2) << std::setfill('0')
         << minutes - hours * 60 << " min";
  }
  return text.str();
}

void write_row(std::ostream& out, std::string_view what, const std::string& a, const std::string& b,
               const std::string& c) {
  out << std::left << std::setw(20) << what << std::right << std::setw(13) << a << std::setw(13) << b << std::setw(13)
      << c << '\n';
}

void write_layer(std::ostream& out, const LayerEstimate& layer) {
  std::string indent;
  for (const std::string& line : job::broken_into_lines("layer '" + layer.name + "': " + layer.words, kWidth - 2)) {
    out << indent << line << '\n';
    indent = "  ";
  }
  for (const std::string& line : job::broken_into_lines(layer.why, kWidth - 2)) out << "  " << line << '\n';
}

/// A name, and words that may take several lines.
void write_fact(std::ostream& out, std::string_view name, const std::string& words) {
  for (const std::string& line : job::broken_into_lines(words, kWidth - 20)) {
    out << std::left << std::setw(20) << name << line << '\n';
    name = "";
  }
}

std::string speed_in_words(const MachineSpeed& speed) {
  if (speed.factors.empty()) return "as the schemes expect, not measured";
  std::ostringstream text;
  text << std::setprecision(2);
  for (const auto& [scheme, factor] : speed.factors) {
    text << (text.tellp() > 0 ? ", " : "") << scheme << " takes " << factor << " times what it expects";
  }
  return text.str() + " (measured)";
}

}  // namespace

std::string security_text(const std::vector<UsedScheme>& schemes) {
  std::string words;
  for (const UsedScheme& scheme : schemes) {
    protocol::append(words, "; ", scheme.name + " " + protocol::security_in_words(scheme.security));
  }
  return words;
}

bool has_short_keys(const std::vector<UsedScheme>& schemes) {
  return std::ranges::any_of(schemes, [](const UsedScheme& scheme) { return scheme.security < 128; });
}

std::string estimate_text(const JobEstimate& estimate) {
  std::ostringstream out;
  for (const LayerEstimate& layer : estimate.layers) write_layer(out, layer);
  const std::size_t steps = estimate.steps_per_epoch * estimate.epochs;
  out << "\nrows to train on    " << estimate.rows << "\nsteps               " << steps << ": " << estimate.epochs
      << (estimate.epochs == 1 ? " epoch of " : " epochs of ") << estimate.steps_per_epoch << "\nlink                "
      << estimate.link.bits_per_second / 1e6 << " Mbit/s, " << estimate.link.round_trip * 1e3
      << " ms there and back\nmachine             " << speed_in_words(estimate.speed) << '\n';
  write_fact(out, "security", security_text(estimate.schemes));
  write_fact(out, "hiding", protocol::hiding_in_words(estimate.exposure));
  if (has_short_keys(estimate.schemes)) {
    write_fact(out, "", "shared.scheme.security: 128 takes Paillier's longer keys, for secrets that must last longer");
  }
  out << '\n';
  const protocol::StepCost& step = estimate.per_step;
  write_row(out, "", "a step", "an epoch", "in all");
  write_row(out, "time", duration_in_words(step.seconds(estimate.link)), duration_in_words(estimate.seconds_per_epoch),
            duration_in_words(estimate.seconds));
  write_row(out, "computing at A", duration_in_words(step.seconds_a),
            duration_in_words(step.seconds_a * static_cast<double>(estimate.steps_per_epoch)),
            duration_in_words(estimate.setup.seconds_a + step.seconds_a * static_cast<double>(steps)));
  write_row(out, "computing at B", duration_in_words(step.seconds_b),
            duration_in_words(step.seconds_b * static_cast<double>(estimate.steps_per_epoch)),
            duration_in_words(estimate.setup.seconds_b + step.seconds_b * static_cast<double>(steps)));
  write_row(out, "from B to A", size_in_words(step.bytes_to_a), size_in_words(estimate.bytes_to_a_per_epoch),
            size_in_words(estimate.bytes_to_a));
  write_row(out, "from A to B", size_in_words(step.bytes_to_b), size_in_words(estimate.bytes_to_b_per_epoch),
            size_in_words(estimate.bytes_to_b));
  out << "memory for ciphertexts and weights: " << memory_in_words(estimate.memory_a) << " at A, "
      << memory_in_words(estimate.memory_b) << " at B\n"
      << "Traffic is exact but for the headers of messages. Times are for one core at each party, and may be off by\n"
         "half. Not counted: alignment, validation, B's own layers, what the data takes.\n";
  return out.str();
}

}  // namespace blindfl::app
