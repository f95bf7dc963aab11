#include <algorithm>
#include <iomanip>
#include <sstream>

#include "blindfl/app/job/lines.h"
#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/plan_text.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

namespace blindfl::app {

namespace {

constexpr std::size_t kWidth = 100;

std::string size_text(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

void write_costs(std::ostream& out, std::string_view what, const std::string& a, const std::string& b,
                 const std::string& c) {
  out << std::left << std::setw(20) << what << std::right << std::setw(13) << a << std::setw(13) << b << std::setw(13)
      << c << '\n';
}

/// The planner's table of all layers; reasons below it are broken into lines.
void write_plan(std::ostream& out, const JobEstimate& estimate) {
  std::vector<protocol::PlanRow> rows;
  for (const LayerEstimate& layer : estimate.layers) rows.insert(rows.end(), layer.rows.begin(), layer.rows.end());
  std::istringstream table(table_text(rows, estimate.link));
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with('[')) {
      out << line << '\n';
      continue;
    }
    std::string indent;
    for (const std::string& piece : job::broken_into_lines(line, kWidth - 4)) {
      out << indent << piece << '\n';
      indent = "    ";
    }
  }
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
  std::string text;
  for (const auto& [scheme, factor] : speed.factors) {
    append(text, ", ", scheme + " takes " + decimal_text(factor, 2) + " times what it expects");
  }
  return text + " (measured)";
}

}  // namespace

std::string security_text(const std::vector<UsedScheme>& schemes) {
  std::string words;
  for (const UsedScheme& scheme : schemes) {
    append(words, "; ", scheme.name + " " + security_in_words(scheme.security));
  }
  return words;
}

bool has_short_keys(const std::vector<UsedScheme>& schemes) {
  return std::ranges::any_of(schemes, [](const UsedScheme& scheme) { return scheme.security < 128; });
}

std::string estimate_text(const JobEstimate& estimate) {
  std::ostringstream out;
  write_plan(out, estimate);
  const std::size_t steps = estimate.steps_per_epoch * estimate.epochs;
  out << "\nrows to train on    " << count_text(estimate.rows) << "\nsteps               " << count_text(steps) << ": "
      << counted(estimate.epochs, "epoch") << " of " << count_text(estimate.steps_per_epoch) << "\nlink                "
      << link_text(estimate.link.bits_per_second) << ", " << seconds_text(estimate.link.round_trip)
      << " there and back\nmachine             " << speed_in_words(estimate.speed) << '\n';
  write_fact(out, "security", security_text(estimate.schemes));
  write_fact(out, "hiding", hiding_in_words(estimate.exposure));
  if (has_short_keys(estimate.schemes)) {
    write_fact(out, "", "shared.scheme.security: 128 takes Paillier's longer keys, for secrets that must last longer");
  }
  out << '\n';
  const protocol::StepCost& step = estimate.per_step;
  write_costs(out, "", "a step", "an epoch", "in all");
  write_costs(out, "time", seconds_text(step.seconds(estimate.link)), seconds_text(estimate.seconds_per_epoch),
              seconds_text(estimate.seconds));
  const bool several = estimate.per_pair.size() > 1;
  write_costs(out, several ? "computing at an A" : "computing at A", seconds_text(step.seconds_a),
              seconds_text(step.seconds_a * static_cast<double>(estimate.steps_per_epoch)),
              seconds_text(estimate.setup.seconds_a + step.seconds_a * static_cast<double>(steps)));
  write_costs(out, "computing at B", seconds_text(step.seconds_b),
              seconds_text(step.seconds_b * static_cast<double>(estimate.steps_per_epoch)),
              seconds_text(estimate.setup.seconds_b + step.seconds_b * static_cast<double>(steps)));
  write_costs(out, several ? "from B to the A's" : "from B to A", size_text(step.bytes_to_a),
              size_text(estimate.bytes_to_a_per_epoch), size_text(estimate.bytes_to_a));
  write_costs(out, several ? "from the A's to B" : "from A to B", size_text(step.bytes_to_b),
              size_text(estimate.bytes_to_b_per_epoch), size_text(estimate.bytes_to_b));
  const auto trips = static_cast<std::size_t>(step.rounds);
  write_costs(out, "round trips", count_text(trips), count_text(trips * estimate.steps_per_epoch),
              count_text(static_cast<std::size_t>(estimate.setup.rounds) + trips * steps));
  out << "before the first step: " << size_text(estimate.setup.bytes()) << ", "
      << seconds_text(estimate.setup.seconds(estimate.link))
      << " (keys, and the products that training does not change)\n"
      << "memory for ciphertexts and weights: " << memory_text(estimate.memory_a) << " at A, "
      << memory_text(estimate.memory_b) << " at B\n"
      << "Traffic is exact but for the headers of messages. Times are for one core at each party, and may be off by\n"
         "half. Not counted: alignment, validation, "
      << (estimate.shared_top ? "what the data takes.\n" : "B's own layers, what the data takes.\n");
  return out.str();
}

std::string one_hot_text(const JobEstimate& estimate, const std::vector<OneHotEstimate>& one_hot) {
  if (one_hot.empty()) return "";
  const auto cost = [](const JobEstimate& job) {
    return size_text(job.bytes_to_a + job.bytes_to_b) + " and " + seconds_text(job.seconds);
  };
  std::string others;
  for (const OneHotEstimate& each : one_hot) {
    const std::string kind = job::Value<job::ModelKind>::write(each.kind);
    append(others, " or ", cost(each.estimate) + " (model.kind: " + kind + ")");
  }
  return "One-hot columns (one_hot: true) would take about " + others + " in place of " + cost(estimate) +
         "; with few categories they are often as good.\n";
}

}  // namespace blindfl::app
