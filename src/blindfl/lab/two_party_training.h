#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/data/dataset.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/models.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab {

/// A generalised linear model, or with hidden layers a multi-layer perceptron, between two parties.
struct TwoPartyModel {
  nn::Family family = nn::Family::kLogistic;
  std::vector<std::size_t> hidden{};
  std::size_t outputs = 1;
  nn::Activation activation = nn::Activation::kRelu;
  nn::FeatureShape shape{};
  protocol::Top top = protocol::Top::kOpen;
  nn::MatMulOptions source{};  ///< its `sgd` and `top` are taken from below and above
  train::TrainOptions training{};
};

/// The same rows at both parties.
struct TwoPartyRows {
  data::Dataset a;
  data::Dataset b;
};

/// What a training took and left.
struct TwoPartyTraining {
  double seconds_per_step = 0;  ///< of the median step after the first, at B
  double seconds_before = 0;    ///< keys, initial weights, products that are made once, and the first step
  std::uint64_t memory = 0;     ///< bytes that the process grew by at most, both parties together
  std::map<std::string, std::uint64_t> bytes{};  ///< of both parties, per step after the first, by kind of message
  std::vector<double> losses{};                  ///< of each step, as B knows them; none under a shared top
  torch::Tensor scores{};                        ///< of the test rows; undefined without them
  torch::Tensor
      first_weight{};  ///< before training, A's rows above B's, as nobody has it; undefined under a shared top
  std::vector<torch::Tensor> first_top{};  ///< B's own parameters before training
  std::string way{};                       ///< "A's features: exchanged over lattice; B's features: over lattice"

  [[nodiscard]] std::uint64_t bytes_per_step() const;
};

/// A's end of a link, and B's.
using LinkEnds = std::pair<std::shared_ptr<net::Channel>, std::shared_ptr<net::Channel>>;

/// Trains with both parties as threads of this process over a memory channel, or over the `link` that is given, and
/// scores `test` if it has rows. Stops after `most_steps`, if that is earlier. Each party knows the lattice scheme and
/// Paillier with keys of 2048 bits. Throws as sessions, models and trainers do.
[[nodiscard]] TwoPartyTraining train_two_parties(const TwoPartyModel& model, const TwoPartyRows& rows,
                                                 const TwoPartyRows& test = {},
                                                 std::size_t most_steps = std::numeric_limits<std::size_t>::max(),
                                                 std::optional<LinkEnds> link = std::nullopt);

}  // namespace blindfl::lab
