#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/batches.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/share/products.h"
#include "testing/two_parties.h"

// All that each party has of a training under a shared top, written down for attacks. The source layer, its protocol
// and its optimizer are the real ones. The top is the test's own: it adds up both shares of Z, which nobody may, and
// deals out new ones of the derivative, as a top on shares would leave them with the parties.

namespace blindfl::lab::attacks {

/// What one party has of a batch that went through the layer.
struct SeenPass {
  std::vector<std::uint32_t> rows;          ///< both know which
  IntMatrix features;                       ///< its own
  ShareMatrix z;                            ///< its share, a row for each
  std::optional<ShareMatrix> derivative{};  ///< its share, in training
  ShareMatrix weight_a;                     ///< its pieces of both weights at that time
  ShareMatrix weight_b;
};

struct PartyView {
  std::vector<SeenPass> steps;
  std::vector<SeenPass> validations;  ///< the same rows after each epoch
  std::vector<testing::RecordedMessage> received;
};

struct SharedViews {
  PartyView a;
  PartyView b;

  [[nodiscard]] const PartyView& of(Party party) const { return party == Party::kA ? a : b; }
};

/// A share of a batch, read as numbers, without the rows that it was filled up with.
inline torch::Tensor numbers_of_rows(const SeenPass& pass, const ShareMatrix& share) {
  return numbers_of(share).narrow(0, 0, nn::torch_size(pass.rows.size()));
}

/// What A's side adds to B's view where a mistake opens it.
struct Opened {
  bool z = false;
  bool weight_b = false;
};

/// B's pass, with A's shares added to what was opened.
inline SeenPass with_opened(const SeenPass& b, const SeenPass& a, const Opened& opened) {
  SeenPass seen = b;
  if (opened.z) seen.z = open(a.z, b.z);
  if (opened.weight_b) seen.weight_b = open(a.weight_b, b.weight_b);
  return seen;
}

/// What B makes of its own part of Z before it looks at the rest.
enum class OwnPart {
  kLeftIn,
  kTakenOut,  ///< its features times what it has of its weights, in the ring of Z
};

/// B's validations as `attack_differences` takes them, with what B has in the place of Z. The shares of weights are
/// left as 0: what they explain was taken out in the ring already, or stays.
inline std::vector<Opening> openings_of(const SharedViews& views, OwnPart own, const Opened& opened = {}) {
  std::vector<Opening> openings;
  for (std::size_t i = 0; i < views.b.validations.size(); ++i) {
    SeenPass seen = with_opened(views.b.validations[i], views.a.validations[i], opened);
    if (own == OwnPart::kTakenOut) {
      seen.z -= narrowed(rescale(multiply(seen.features, seen.weight_b), seen.z.scale()), seen.z.ring_bits());
    }
    openings.push_back({numbers_of_rows(seen, seen.z), torch::zeros_like(numbers_of(seen.weight_b))});
  }
  return openings;
}

/// All numbers that a party has for each of the rows it trains with: its shares of Z and of the derivative in every
/// step, rows x (2 * epochs * outputs).
inline torch::Tensor numbers_of_training(const PartyView& view, std::int64_t rows) {
  std::vector<torch::Tensor> columns;
  std::vector<std::int64_t> order;
  std::vector<torch::Tensor> batches;
  for (const SeenPass& step : view.steps) {
    order.insert(order.end(), step.rows.begin(), step.rows.end());
    batches.push_back(torch::cat({numbers_of_rows(step, step.z), numbers_of_rows(step, *step.derivative)}, 1));
    if (static_cast<std::int64_t>(order.size()) < rows) continue;
    const torch::Tensor epoch = torch::cat(batches);
    columns.push_back(torch::empty_like(epoch).index_copy_(0, torch::tensor(order, torch::kInt64), epoch));
    order.clear();
    batches.clear();
  }
  return torch::cat(columns, 1);
}

/// A logistic regression for each output, all on the same labels.
class SharedTraining {
 public:
  /// Throws InvalidArgument if the rows of `validation` are more than a batch.
  SharedTraining(const he::Scheme& scheme, TwoTables training, TwoTables validation, const ViewOptions& options)
      : parties_(scheme),
        training_(std::move(training)),
        validation_(std::move(validation)),
        options_(options),
        shape_(shape_of(training_, options)),
        a_(side_of(Party::kA)),
        b_(side_of(Party::kB)) {
    require<InvalidArgument>(validation_.a.size(0) <= nn::torch_size(options.batch), "validation rows make one batch");
  }

  /// Trains all epochs.
  [[nodiscard]] SharedViews run() {
    const data::BatchOrder order(static_cast<std::size_t>(training_.a.size(0)), options_.batch, /*seed=*/4);
    std::vector<std::uint32_t> kept_back(static_cast<std::size_t>(validation_.a.size(0)));
    std::iota(kept_back.begin(), kept_back.end(), 0U);
    SharedViews views;
    for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
      for (const auto& rows : order.batches(epoch)) step(rows, views);
      (void)pass(&Side::validation, kept_back, views.a.validations, views.b.validations);
    }
    for (const Party party : {Party::kA, Party::kB}) {
      for (auto& message : parties_.recording(party).messages()) {
        if (message.direction != net::Direction::kReceived) continue;
        (party == Party::kA ? views.a : views.b).received.push_back(std::move(message));
      }
    }
    return views;
  }

 private:
  /// What a party has.
  struct Side {
    data::Dataset training;
    data::Dataset validation;
    nn::MatMul source;
    std::unique_ptr<nn::FederatedOptimizer> optimizer;
  };
  using Rows = data::Dataset Side::*;

  Side side_of(Party party) {
    nn::MatMulOptions layer = layer_of(options_);
    layer.top = protocol::Top::kShared;
    nn::MatMul source(parties_.session(party), shape_, options_.out, layer);
    auto optimizer = std::make_unique<nn::FederatedOptimizer>(
        *source, nn::SgdOptions{.learning_rate = options_.learning_rate, .momentum = 0.9});
    return {own_rows(party, training_, shape_), own_rows(party, validation_, shape_), source, std::move(optimizer)};
  }

  /// A forward pass at both, noted down.
  std::pair<nn::SourceOutput, nn::SourceOutput> pass(Rows of, const std::vector<std::uint32_t>& rows,
                                                     std::vector<SeenPass>& seen_by_a,
                                                     std::vector<SeenPass>& seen_by_b) {
    const auto at = [&](Side& side, std::vector<SeenPass>& seen) {
      return [&, this](protocol::Session&) {
        const data::Batch batch = data::make_batch(side.*of, rows, options_.batch);
        nn::SourceOutput output = side.source->shares(batch);
        seen.push_back({.rows = rows,
                        .features = batch.features,
                        .z = output.shares.front().output.share,
                        .weight_a = side.source->weight_a().piece(),
                        .weight_b = side.source->weight_b().piece()});
        return output;
      };
    };
    return parties_.run(at(a_, seen_by_a), at(b_, seen_by_b));
  }

  void step(const std::vector<std::uint32_t>& rows, SharedViews& views) {
    const auto [output_a, output_b] = pass(&Side::training, rows, views.a.steps, views.b.steps);
    auto [share_a, share_b] = derivative(rows, open(views.a.steps.back().z, views.b.steps.back().z));
    const auto at = [&](Side& side, const nn::SourceOutput& output, const ShareMatrix& share) {
      return [&](protocol::Session&) {
        side.optimizer->zero_grad();
        for (const auto& part : output.parts) part(protocol::shared_derivative(rows.size(), share));
        side.optimizer->step();
      };
    };
    parties_.run(at(a_, output_a, share_a), at(b_, output_b, share_b));
    views.a.steps.back().derivative = std::move(share_a);
    views.b.steps.back().derivative = std::move(share_b);
  }

  /// Shares of `sigmoid(Z) - y`, with rows of zeros where the batch is short.
  [[nodiscard]] std::pair<ShareMatrix, ShareMatrix> derivative(const std::vector<std::uint32_t>& rows,
                                                               const ShareMatrix& opened) const {
    const std::vector<std::int64_t> numbers(rows.begin(), rows.end());
    const torch::Tensor labels = training_.labels.index_select(0, torch::tensor(numbers, torch::kInt64)).unsqueeze(1);
    torch::Tensor dz = torch::sigmoid(numbers_of(opened));
    const auto real_rows = nn::torch_size(rows.size());
    dz.narrow(0, 0, real_rows) -= labels;
    dz.narrow(0, real_rows, dz.size(0) - real_rows).zero_();
    Random random;
    constexpr int kScale = 30;
    return split(encode_ring(opened.rows(), opened.cols(), nn::to_vector(dz), kScale, 1.0), random);
  }

  testing::TwoParties parties_;
  TwoTables training_;
  TwoTables validation_;
  ViewOptions options_;
  nn::FeatureShape shape_;
  Side a_;
  Side b_;
};

}  // namespace blindfl::lab::attacks
