#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/app/job/shared.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/app/plan/machine_speed.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/protocol/plan/plan_row.h"
#include "blindfl/protocol/plan/step_cost.h"

// What a job will cost, before anything runs: bytes exactly, seconds and memory about.

namespace blindfl::app {

/// One source layer of the model, with one of several A's, or its top on shares.
struct LayerEstimate {
  std::string name;
  std::string words;                    ///< its schemes and updates
  std::vector<protocol::PlanRow> rows;  ///< what the planner weighed, with the machine's speed
  protocol::LayerCost cost;             ///< with opening Z in each step, where that is opened
  std::string pair = {};                ///< of several A's, which it is with
};

/// A scheme that products of the job are encrypted with.
struct UsedScheme {
  std::string name;
  int security = 0;  ///< bits: see he::Scheme::security_bits
};

/// What training a job costs all parties. With several A's: B's line carries what it exchanges with all of them; `_a`
/// is what the busiest of them computes and keeps.
struct JobEstimate {
  std::vector<LayerEstimate> layers{};
  bool shared_top = false;  ///< then it is the last of the layers
  std::size_t rows = 0;     ///< that are trained on
  std::size_t steps_per_epoch = 0;
  std::size_t epochs = 0;
  protocol::Link link{};
  MachineSpeed speed{};
  protocol::StepCost per_step{};               ///< with opening Z, where that is opened; of all pairs together
  std::vector<protocol::StepCost> per_pair{};  ///< of each A with B
  protocol::StepCost setup{};                  ///< with the public keys of the schemes that are used
  std::vector<UsedScheme> schemes{};           ///< in the order of their first use
  he::Exposure exposure{};                     ///< of all layers: see LayerCost
  /// Of ciphertexts and shares of weights, gradients, momentum and kept products, between steps. Data, B's own layers
  /// and what is there for a moment only are not in it.
  std::uint64_t memory_a = 0;
  std::uint64_t memory_b = 0;
  double seconds_per_epoch = 0;
  std::uint64_t bytes_to_a_per_epoch = 0;
  std::uint64_t bytes_to_b_per_epoch = 0;
  double seconds = 0;  ///< of all epochs, setup included
  std::uint64_t bytes_to_a = 0;
  std::uint64_t bytes_to_b = 0;
};

/// Schemes and updates are chosen as training will: for the line that the job names. Seconds are for `link`, on a
/// machine of `speed` at both parties, one core each. Validation, alignment and B's own layers are not in it.
/// Throws ConfigError or InvalidArgument, with the reason, if there is no way to run the job.
[[nodiscard]] JobEstimate estimate(const JobLayers& layers, const job::Scheme& scheme, const protocol::Link& link,
                                   const MachineSpeed& speed = {});
/// The same of the layers that these shapes and `rows` rows in common make.
[[nodiscard]] JobEstimate estimate(const job::Shared& shared, const ShapesOfA& a, const PartyShape& b, std::size_t rows,
                                   const protocol::Link& link, const MachineSpeed& speed = {});

/// The same rows with one-hot columns in place of embeddings.
struct OneHotEstimate {
  job::ModelKind kind{};  ///< the model that takes them
  JobEstimate estimate{};
};

/// For a job with embeddings: what one-hot columns would take, with hidden layers (mlp) and without (lr or mlr), where
/// that is clearly less, time and traffic both. Empty for other jobs, where it is not less, and where one-hot columns
/// are not possible.
[[nodiscard]] std::vector<OneHotEstimate> cheaper_one_hot(const job::Shared& shared, const ShapesOfA& a,
                                                          const PartyShape& b, std::size_t rows,
                                                          const protocol::Link& link, const MachineSpeed& speed = {});
/// That in one line, for a screen; empty if there is none.
[[nodiscard]] std::string one_hot_text(const JobEstimate& estimate, const std::vector<OneHotEstimate>& one_hot);

/// "lattice 128 bits; paillier 112 bits (NIST: until 2030)".
[[nodiscard]] std::string security_text(const std::vector<UsedScheme>& schemes);
/// Whether one of them has less than 128 bits.
[[nodiscard]] bool has_short_keys(const std::vector<UsedScheme>& schemes);

/// For a screen, some lines.
[[nodiscard]] std::string estimate_text(const JobEstimate& estimate);

}  // namespace blindfl::app
