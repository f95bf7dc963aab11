#include "blindfl/app/torch/training_report.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>

#include "blindfl/app/plan/open_top.h"
#include "blindfl/app/plan/plan_text.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"

namespace blindfl::app {

namespace {

/// Of all links together.
std::vector<net::StepTotals> traffic_of(const std::vector<const net::Channel*>& channels) {
  std::map<net::Step, net::StepTotals> totals;
  const auto add = [](net::Traffic& sum, const net::Traffic& traffic) { sum = sum + traffic; };
  for (const net::Channel* channel : channels) {
    for (const auto& [step, traffic] : channel->sent()) add(totals[step].sent, traffic);
    for (const auto& [step, traffic] : channel->received()) add(totals[step].received, traffic);
  }
  std::vector<net::StepTotals> all;
  all.reserve(totals.size());
  for (auto& [step, total] : totals) all.push_back({step, total.sent, total.received});
  return all;
}

/// How many times as long as planned the run was; 1 at least.
double prolonged(const TrainingFacts& facts) {
  const std::size_t planned = facts.expected.epochs;
  return facts.epochs <= planned ? 1 : static_cast<double>(facts.epochs) / static_cast<double>(planned);
}

std::string epochs_text(const TrainingFacts& facts) {
  const std::string planned = count_text(facts.expected.epochs);
  return facts.epochs == 0 || facts.epochs == facts.expected.epochs
             ? planned
             : count_text(facts.epochs) + ", planned for " + planned;
}

void add_features(const TrainingFacts& facts, std::vector<run::ReportFact>& all) {
  const bool is_b = facts.party == Party::kB;
  const bool is_several = facts.shapes_a.several();
  if (is_b) all.push_back({"this party's features", words_of(facts.shape_b)});
  for (std::size_t i = 0; i < facts.shapes_a.size(); ++i) {
    const bool is_this = !is_b && i == facts.place;
    const std::string whose = is_this ? "this party's" : is_several ? facts.shapes_a.name(i) + "'s" : "the peer's";
    all.push_back({whose + " features", words_of(facts.shapes_a[i])});
  }
  if (!is_b) all.push_back({is_several ? "B's features" : "the peer's features", words_of(facts.shape_b)});
}

std::vector<run::ReportFact> facts_of(const TrainingFacts& facts, const run::RunSummary& summary) {
  const job::Shared& shared = facts.job.shared;
  std::vector<run::ReportFact> all = {
      {"model", job::Value<job::ModelKind>::write(shared.model.kind)},
      {"top", job::Value<protocol::Top>::write(shared.model.top)},
  };
  add_features(facts, all);
  const std::vector<run::ReportFact> training = {
      {"rows", rows_text(summary.rows)},
      {"batch size", count_text(shared.training.batch)},
      {"epochs", epochs_text(facts)},
      {"learning rate", job::number_text(shared.training.learning_rate)},
      {"momentum", job::number_text(momentum_of(shared, facts.shapes_a, facts.shape_b))},
      {"alignment", job::Value<job::AlignmentMode>::write(shared.alignment.mode)},
  };
  all.insert(all.end(), training.begin(), training.end());
  all.push_back({"security", security_text(facts.expected.schemes)});
  // Masks are those that were planned; a run that was made longer opened more values under them.
  const std::string hiding = hiding_in_words(prolonged(facts) * facts.expected.exposure);
  all.push_back({"hiding of masks and noise", hiding});
  if (summary.range_checks != run::RangeChecks{}) {
    all.push_back({"range checks", range_checks_text(summary.range_checks)});
  }
  return all;
}

/// On the line that the job names, as the planner counts.
std::vector<run::PlanFact> plan_of(const TrainingFacts& facts) {
  const protocol::Link& link = facts.expected.link;
  std::vector<protocol::PlanRow> rows = facts.model.plan;
  if (facts.expected.shared_top) {
    const std::vector<protocol::PlanRow>& top = facts.expected.layers.back().rows;
    rows.insert(rows.end(), top.begin(), top.end());
  }
  std::vector<run::PlanFact> plan;
  plan.reserve(rows.size());
  for (const protocol::PlanRow& row : rows) {
    plan.push_back({.layer = row.layer,
                    .features = part_in_words(row),
                    .way = way_in_words(row),
                    .seconds = row.step.seconds(link),
                    .bytes = static_cast<double>(row.step.bytes()),
                    .chosen = row.chosen,
                    .refused = row.refused});
  }
  return plan;
}

/// For the steps that this process took, on the line that the job names; validation is in neither figure.
std::vector<run::CostComparison> costs_of(const TrainingFacts& facts) {
  if (facts.steps == 0) return {};
  const JobEstimate& expected = facts.expected;
  const bool is_b = facts.party == Party::kB;
  const auto steps = static_cast<double>(facts.steps);
  const auto& step = expected.per_step;
  const ValidationCost& besides = facts.cost.validation;
  const double seconds = facts.cost.training_seconds - besides.seconds;
  const auto all_sent = static_cast<double>(facts.cost.bytes_sent - besides.bytes_sent);
  const auto all_received = static_cast<double>(facts.cost.bytes_received - besides.bytes_received);
  // Of one of several A's, what it exchanges with B.
  const auto& own = is_b ? step : expected.per_pair.at(facts.place);
  const auto sent = static_cast<double>(is_b ? own.bytes_to_a : own.bytes_to_b);
  const auto received = static_cast<double>(is_b ? own.bytes_to_b : own.bytes_to_a);
  return {{"training", step.seconds(expected.link) * steps, seconds, Unit::kSeconds},
          {"a step", step.seconds(expected.link), seconds / steps, Unit::kSeconds},
          {"sent in a step", sent, all_sent / steps, Unit::kBytes},
          {"received in a step", received, all_received / steps, Unit::kBytes}};
}

std::vector<run::PhaseTime> phases_of(const TrainingFacts& facts) {
  const TrainingCost& cost = facts.cost;
  std::vector<run::PhaseTime> phases{{"reading, meeting, aligning", cost.setup_seconds}};
  if (facts.model.shared_top()) {
    // All layers wait for the peer there.
    phases.push_back({"training: products, top on shares, batches, logs",
                      std::max(0.0, cost.training_seconds - cost.waiting - cost.sending)});
  } else {
    // Words between steps are waited for outside the layers; they are few.
    phases.push_back({"training: private products", std::max(0.0, cost.in_protocol - cost.waiting - cost.sending)});
    phases.push_back(
        {"training: top layers, optimizer, batches, logs", std::max(0.0, cost.training_seconds - cost.in_protocol)});
  }
  phases.push_back({"training: waiting for the peer", cost.waiting});
  phases.push_back({"training: handing over to the link", cost.sending});
  return phases;
}

}  // namespace

run::RunReport training_report(const TrainingFacts& facts, const run::RunSummary& summary,
                               const std::vector<const net::Channel*>& channels) {
  run::RunReport report;
  report.summary = summary;
  report.model_name = name_of_model(facts.job.shared.model.kind);
  report.facts = facts_of(facts, summary);
  report.plan = plan_of(facts);
  report.traffic = traffic_of(channels);
  report.phases = phases_of(facts);
  report.costs = costs_of(facts);
  report.model =
      open_top_facts(facts.job.shared, facts.shapes_a, facts.shape_b, place_among_as(facts.party, facts.place));
  // What was done, and not what the job asked for: it may leave the epochs open, and resuming may add some.
  report.model.openings = summary.epochs > 0 ? summary.epochs : facts.expected.epochs;
  report.model.encrypted_update = facts.model.encrypted_update;
  report.model.encrypted_update_b = facts.model.encrypted_update_b;
  report.model.short_keys = has_short_keys(facts.expected.schemes);
  report.model.matching = facts.job.shared.alignment.mode;
  report.model.stops_early = facts.job.shared.training.early_stopping.patience > 0;
  report.model.weight_seed = seeded_party(facts.job.own);
  report.model.scored_rows = summary.rows.test;
  return report;
}

std::string range_checks_text(const run::RangeChecks& checks) {
  std::string text = std::to_string(checks.inside) + " found all values inside the range of the functions";
  if (checks.outside > 0) {
    text += ", " + std::to_string(checks.outside) + " found some outside, and ended the run";
  }
  return text;
}

std::string rows_text(const run::RowCounts& rows) {
  std::string text = std::to_string(rows.training) + " trained on";
  if (rows.validation > 0) text += ", " + std::to_string(rows.validation) + " for validation";
  if (rows.test > 0) text += ", " + std::to_string(rows.test) + " for the test";
  return text;
}

std::string baseline_text(const run::RunSummary& summary) {
  std::string text;
  for (const run::Measure& alone : summary.baseline) {
    const auto federated = std::ranges::find(summary.results, alone.name, &run::Measure::name);
    if (federated == summary.results.end()) continue;
    text += "B alone: " + alone.name + " " + fixed_text(alone.value, 4) + ", federated " +
            fixed_text(federated->value, 4) + "\n";
  }
  return text;
}

std::string name_of_model(job::ModelKind kind) {
  switch (kind) {
    case job::ModelKind::kLr:
      return "Logistic regression";
    case job::ModelKind::kMlr:
      return "Multinomial regression";
    case job::ModelKind::kLinear:
      return "Linear regression";
    case job::ModelKind::kPoisson:
      return "Poisson regression";
    case job::ModelKind::kMlp:
      return "Multi-layer perceptron";
    case job::ModelKind::kWdl:
      return "Wide and deep";
    case job::ModelKind::kDlrm:
      return "DLRM";
    case job::ModelKind::kFm:
      return "Factorisation machine";
    case job::ModelKind::kDeepfm:
      return "DeepFM";
  }
  fail<InvalidArgument>("there is no such model");
}

void print_costs(const run::RunReport& report, std::ostream& out) {
  for (const run::PhaseTime& phase : report.phases) {
    out << std::left << std::setw(50) << phase.name << seconds_text(phase.seconds) << "\n";
  }
  for (const run::CostComparison& cost : report.costs) {
    out << std::left << std::setw(20) << cost.what << (cost.what.size() < 20 ? "" : "  ") << "predicted "
        << std::setw(12) << amount_text(cost.predicted, cost.unit) << "  measured "
        << amount_text(cost.measured, cost.unit) << "\n";
  }
}

}  // namespace blindfl::app
