#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/plan/source_layer.h"

namespace blindfl::nn {

using protocol::FeatureShape;
using protocol::MatMulOptions;

/// `Z = X_A W_A + X_B W_B` as a module: the source layer of generalised linear models and of multi-layer perceptrons.
class MatMulImpl : public FederatedModule {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options but the
  /// seed.
  MatMulImpl(protocol::Session& session, const FeatureShape& shape, std::size_t out, const MatMulOptions& options = {});

  /// At B: Z, rows x OUT. At A: 0 x OUT. Both with a gradient function.
  torch::Tensor forward(const data::Batch& batch);

  /// This party's share of the output, for adding to other layers' before it is opened.
  [[nodiscard]] SourceOutput shares(const data::Batch& batch);

  [[nodiscard]] FederatedParameter weight_a() const;
  [[nodiscard]] FederatedParameter weight_b() const;

  /// What the planner weighed and chose; empty if it was not asked.
  [[nodiscard]] const std::vector<protocol::PlanRow>& plan() const { return plan_; }

  /// The layer below: for checkpoints, and for whoever wants to know what it holds.
  [[nodiscard]] protocol::MatMul& layer() const;

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;
  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  MatMulImpl(protocol::Session& session, const protocol::LayerPlan& plan);
  std::shared_ptr<Source> source_;
  std::vector<protocol::PlanRow> plan_;
};
TORCH_MODULE(MatMul);

}  // namespace blindfl::nn
