#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/plan/plan_row.h"
#include "blindfl/protocol/session/session.h"  // torch asks for a whole type where a module is made

namespace blindfl::protocol {
class EmbedMatMul;
class MatMul;
}  // namespace blindfl::protocol

namespace blindfl::nn {

/// What every source layer is as a module: a layer of the protocol, how it was planned, and its output once opened.
template <class Layer>
class SourceModule : public FederatedModule {
 public:
  /// This party's share of the output, for adding to other layers' before it is opened.
  [[nodiscard]] virtual SourceOutput shares(const data::Batch& batch) = 0;

  /// At B: Z, rows x OUT. At A: 0 x OUT. Both with a gradient function.
  torch::Tensor forward(const data::Batch& batch);

  /// What this party has of an output: its share, and what `forward` returned of it; of an output that stays shared an
  /// undefined tensor.
  using Observer = std::function<void(const SourceOutput&, const torch::Tensor& z)>;
  /// Called with every output that `forward` opens from now on, and under a shared top with every one that `shares`
  /// makes. None: nobody is told.
  void observe(Observer observer) { observer_ = std::move(observer); }

  /// What the planner weighed and chose; empty if it was not asked.
  [[nodiscard]] const std::vector<protocol::PlanRow>& plan() const { return plan_; }

  /// The layer below: for checkpoints, and for whoever wants to know what it holds.
  [[nodiscard]] Layer& layer() const { return *layer_; }

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;

 protected:
  SourceModule(std::shared_ptr<Layer> layer, std::vector<protocol::PlanRow> plan);

  /// For parts that live in the autograd graph as long as a backward pass may come, also when the module is gone.
  [[nodiscard]] const std::shared_ptr<Layer>& shared_layer() const { return layer_; }

  /// A forward pass of the layer, as it is opened; `backward` is the layer's for this pass.
  [[nodiscard]] SourceOutput output_of(protocol::OutputShare share, std::size_t rows,
                                       SourceOutput::Backward backward) const;

 private:
  std::shared_ptr<Layer> layer_;
  std::vector<protocol::PlanRow> plan_;
  Observer observer_;
};

extern template class SourceModule<protocol::MatMul>;
extern template class SourceModule<protocol::EmbedMatMul>;

}  // namespace blindfl::nn
