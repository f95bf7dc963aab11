#include "blindfl/app/work/training_report.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>

#include "blindfl/app/estimate.h"
#include "blindfl/base/error.h"

namespace blindfl::app {

namespace {

using Unit = run::CostComparison::Unit;

std::vector<net::StepTotals> traffic_of(const net::Channel& channel) {
  std::map<net::Step, net::StepTotals> totals;
  for (const auto& [step, traffic] : channel.sent()) totals[step].sent = traffic;
  for (const auto& [step, traffic] : channel.received()) totals[step].received = traffic;
  std::vector<net::StepTotals> all;
  all.reserve(totals.size());
  for (auto& [step, total] : totals) all.push_back({step, total.sent, total.received});
  return all;
}

std::vector<run::ReportFact> facts_of(const TrainingFacts& facts, const run::RowCounts& rows) {
  const job::Shared& shared = facts.job.shared;
  std::vector<run::ReportFact> all = {
      {"model", job::Value<job::ModelKind>::write(shared.model.kind)},
      {"this party's features", words_of(facts.mine)},
      {"the peer's features", words_of(facts.theirs)},
      {"rows", rows_text(rows)},
      {"batch", std::to_string(shared.training.batch)},
      {"epochs", std::to_string(facts.layers.epochs)},
      {"learning rate", job::number_text(shared.training.learning_rate)},
      {"momentum", job::number_text(facts.layers.sgd.momentum)},
      {"alignment", job::Value<job::AlignmentMode>::write(shared.alignment.mode)},
  };
  for (const std::string& why : facts.why) all.push_back({"planner", why});
  return all;
}

/// For the steps that this process took, on the line that the job names.
std::vector<run::CostComparison> costs_of(const TrainingFacts& facts) {
  if (facts.steps == 0) return {};
  const bool is_b = facts.party == Party::kB;
  const PartyShape& a = is_b ? facts.theirs : facts.mine;
  const PartyShape& b = is_b ? facts.mine : facts.theirs;
  const JobEstimate expected = estimate(facts.job.shared, a, b, facts.rows, job_link(facts.job.shared.scheme));
  const auto steps = static_cast<double>(facts.steps);
  const auto& step = expected.per_step;
  const auto sent = static_cast<double>(is_b ? step.bytes_to_a : step.bytes_to_b);
  const auto received = static_cast<double>(is_b ? step.bytes_to_b : step.bytes_to_a);
  return {{"training", step.seconds(expected.link) * steps, facts.training_seconds, Unit::kSeconds},
          {"a step", step.seconds(expected.link), facts.training_seconds / steps, Unit::kSeconds},
          {"sent in a step", sent, static_cast<double>(facts.bytes_sent) / steps, Unit::kBytes},
          {"received in a step", received, static_cast<double>(facts.bytes_received) / steps, Unit::kBytes}};
}

run::Matching matching_of(job::AlignmentMode mode) {
  switch (mode) {
    case job::AlignmentMode::kAligned:
      return run::Matching::kAgreed;
    case job::AlignmentMode::kIntersection:
      return run::Matching::kBoth;
    case job::AlignmentMode::kOnlyB:
      return run::Matching::kOnlyB;
    case job::AlignmentMode::kUnion:
      return run::Matching::kUnion;
  }
  fail<InvalidArgument>("there is no such alignment");
}

std::vector<run::PhaseTime> phases_of(const TrainingFacts& facts) {
  // Words between steps are waited for outside the layers; they are few.
  const double products = std::max(0.0, facts.in_protocol - facts.waiting - facts.sending);
  return {{"reading, meeting, aligning", facts.setup_seconds},
          {"training: private products", products},
          {"training: top layers, optimizer, batches, logs", std::max(0.0, facts.training_seconds - facts.in_protocol)},
          {"training: waiting for the peer", facts.waiting},
          {"training: handing over to the link", facts.sending}};
}

}  // namespace

run::RunReport training_report(const TrainingFacts& facts, const run::RunSummary& summary,
                               const net::Channel& channel) {
  run::RunReport report;
  report.summary = summary;
  report.facts = facts_of(facts, summary.rows);
  report.traffic = traffic_of(channel);
  report.phases = phases_of(facts);
  report.costs = costs_of(facts);
  const bool encrypted =
      facts.job.shared.scheme.update == job::UpdateKind::kEncrypted ||
      std::ranges::any_of(facts.why, [](const std::string& why) { return why.find("encrypted") != std::string::npos; });
  report.model = {.numeric = facts.layers.numeric.has_value(),
                  .categorical = facts.layers.categories.has_value(),
                  .encrypted_update = encrypted,
                  .matching = matching_of(facts.job.shared.alignment.mode),
                  .stops_early = facts.job.shared.training.early_stopping.patience > 0};
  return report;
}

std::string rows_text(const run::RowCounts& rows) {
  std::string text = std::to_string(rows.training) + " trained on";
  if (rows.validation > 0) text += ", " + std::to_string(rows.validation) + " for validation";
  if (rows.test > 0) text += ", " + std::to_string(rows.test) + " for the test";
  return text;
}

std::string baseline_text(const run::RunSummary& summary) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4);
  for (const run::Measure& alone : summary.baseline) {
    const auto federated = std::ranges::find(summary.results, alone.name, &run::Measure::name);
    if (federated == summary.results.end()) continue;
    text << "B alone: " << alone.name << " " << alone.value << ", federated " << federated->value << "\n";
  }
  return text.str();
}

std::string amount_text(double value, Unit unit) {
  std::ostringstream text;
  text << std::setprecision(3);
  if (unit == Unit::kBytes) {
    if (value >= 1e6) {
      text << value / 1e6 << " MB";
    } else if (value >= 1e3) {
      text << value / 1e3 << " kB";
    } else {
      text << value << " B";
    }
  } else if (unit == Unit::kSeconds) {
    if (value < 1) {
      text << value * 1e3 << " ms";
    } else {
      text << value << " s";
    }
  } else {
    text << value;
  }
  return text.str();
}

void print_costs(const run::RunReport& report, std::ostream& out) {
  for (const run::PhaseTime& phase : report.phases) {
    out << std::left << std::setw(50) << phase.name << amount_text(phase.seconds, Unit::kSeconds) << "\n";
  }
  for (const run::CostComparison& cost : report.costs) {
    out << std::left << std::setw(20) << cost.what << "predicted " << std::setw(10)
        << amount_text(cost.predicted, cost.unit) << " measured " << amount_text(cost.measured, cost.unit) << "\n";
  }
}

}  // namespace blindfl::app
