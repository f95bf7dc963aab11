#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/lab/secureml/model.h"
#include "blindfl/lab/secureml/triplet_ways.h"

// One party's whole training by SecureML, as a process runs it: from its own rows to scores that B is told.

namespace blindfl::lab::secureml {

/// What both parties say alike.
struct TrainingPlan {
  Triplets triplets = Triplets::kObliviousTransfer;
  std::size_t rows = 0;
  std::size_t features_a = 0;
  std::size_t features_b = 0;
  std::vector<std::size_t> hidden{};  ///< without any: a regression
  std::size_t outputs = 1;            ///< of more than one, each against its own column of labels
  Output output = Output::kPiecewiseSigmoid;
  std::size_t batch = 128;
  std::size_t steps = 100;
  int rate_bits = 8;   ///< see ModelSpec
  int score_bits = 4;  ///< that predictions are rounded to before B is told
};

struct PartyTraining {
  double seconds_per_step = 0;       ///< of the median step after the first
  std::uint64_t sent_per_step = 0;   ///< payload bytes to the peer, after the first step
  std::uint64_t dealt_per_step = 0;  ///< payload bytes between this party and the third one, both ways
  std::vector<double> predictions;   ///< at B: of all rows, row by row
};

/// Shares features and labels (at A: without values), and initial weights that B draws: zeros for a regression. Step s
/// takes the rows s batch, s batch + 1, ..., from the first again after the last.
///
/// Cost: `Model`. Reveals: to B, the predictions of all rows after training, rounded; to nobody anything else. A third
/// party sees shapes and the order of rows.
/// Throws InvalidArgument if this party's numbers do not fit the plan, ConfigError if the peer's plan is another.
[[nodiscard]] PartyTraining train_party(protocol::Session& session, net::Channel* third_party, const TrainingPlan& plan,
                                        const Words& features, const Words& labels);

}  // namespace blindfl::lab::secureml
