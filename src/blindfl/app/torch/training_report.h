#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/net/channel.h"
#include "blindfl/run/report.h"

namespace blindfl::app {

/// What validation between epochs took, which is no part of a step.
struct ValidationCost {
  double seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

/// What training took, in this process.
struct TrainingCost {
  double setup_seconds = 0;
  double training_seconds = 0;
  double waiting = 0;  ///< while training
  double sending = 0;
  double in_protocol = 0;  ///< waiting and sending included
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  ValidationCost validation{};  ///< of all that
};

/// What a training run was and what it took.
struct TrainingFacts {
  const job::Job& job;
  Party party{};
  const ShapesOfA& shapes_a;
  const PartyShape& shape_b;
  std::size_t place = 0;        ///< at one of several A's: which of them this is
  const JobEstimate& expected;  ///< on the line that the job names
  const JobModel& model;
  std::size_t epochs = 0;   ///< that the run goes to; 0: as planned
  std::uint64_t steps = 0;  ///< that this process took
  TrainingCost cost{};
};

/// Everything but curves.
[[nodiscard]] run::RunReport training_report(const TrainingFacts& facts, const run::RunSummary& summary,
                                             const std::vector<const net::Channel*>& channels);

/// "23 found all values inside the range of the functions".
[[nodiscard]] std::string range_checks_text(const run::RangeChecks& checks);

/// "540 trained on, 60 for the test".
[[nodiscard]] std::string rows_text(const run::RowCounts& rows);

/// "B alone: auc 0.7210, federated 0.8034", a line for each measure that both have; nothing without a baseline.
[[nodiscard]] std::string baseline_text(const run::RunSummary& summary);

/// What was predicted beside what was measured, some lines.
void print_costs(const run::RunReport& report, std::ostream& out);

/// "Logistic regression": for titles.
[[nodiscard]] std::string name_of_model(job::ModelKind kind);

}  // namespace blindfl::app
