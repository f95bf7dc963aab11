#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/plan/plan_row.h"

namespace blindfl::nn {

/// What every source layer is as a module: a layer of the protocol, how it was planned, and its output once opened.
template <class Layer>
class SourceModule : public FederatedModule {
 public:
  /// This party's share of the output, for adding to other layers' before it is opened.
  [[nodiscard]] virtual SourceOutput shares(const data::Batch& batch) = 0;

  /// At B: Z, rows x OUT. At A: 0 x OUT. Both with a gradient function.
  torch::Tensor forward(const data::Batch& batch) { return open(shares(batch)); }

  /// What the planner weighed and chose; empty if it was not asked.
  [[nodiscard]] const std::vector<protocol::PlanRow>& plan() const { return plan_; }

  /// The layer below: for checkpoints, and for whoever wants to know what it holds.
  [[nodiscard]] Layer& layer() const { return *layer_; }

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override { return layer_->state_settings(); }
  void save_layer(ByteSink& out) const override { layer_->save(out); }
  void load_layer(ByteSource& in) override { layer_->load(in); }

 protected:
  SourceModule(std::shared_ptr<Layer> layer, std::vector<protocol::PlanRow> plan)
      : layer_(std::move(layer)), plan_(std::move(plan)) {}

  /// For parts that live in the autograd graph as long as a backward pass may come, also when the module is gone.
  [[nodiscard]] const std::shared_ptr<Layer>& shared_layer() const { return layer_; }

  /// A forward pass of the layer, as it is opened; `backward` is the layer's for this pass.
  [[nodiscard]] SourceOutput output_of(protocol::OutputShare share, std::size_t rows,
                                       SourceOutput::Backward backward) const {
    const auto& spec = layer_->params().spec();
    return {.shares = {{&layer_->session(), layer_->layer(), std::move(share)}},
            .rows = rows,
            .opening = {spec.output_scale, spec.derivative},
            .parts = {std::move(backward)}};
  }

 private:
  std::shared_ptr<Layer> layer_;
  std::vector<protocol::PlanRow> plan_;
};

}  // namespace blindfl::nn
