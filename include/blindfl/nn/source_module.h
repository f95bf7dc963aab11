#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
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
#include "blindfl/protocol/session/sessions.h"

namespace blindfl::protocol {
class EmbedMatMul;
class MatMul;
}  // namespace blindfl::protocol

namespace blindfl::nn {

/// What every source layer is as a module: layers of the protocol, one with each peer, how they were planned, and their
/// output once opened. B with several A's runs them at the same time, a thread for each.
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

  /// What the planner weighed and chose, for one peer after the other; empty if it was not asked.
  [[nodiscard]] const std::vector<protocol::PlanRow>& plan() const { return plan_; }

  /// The layer below, with the peer at that place: for checkpoints, and for whoever wants to know what it holds.
  /// Throws InvalidArgument if there is none: see `layers()`.
  [[nodiscard]] Layer& layer(std::size_t place = 0) const;
  /// With each peer, in the order of the sessions; null where neither it nor B has fields of a layer for these.
  [[nodiscard]] const std::vector<std::shared_ptr<Layer>>& layers() const { return layers_; }

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;

 protected:
  /// What all layers of the sum have alike.
  struct Sum {
    std::size_t out = 0;
    SourceOutput::Opening opening{};
    double largest_output = 0;
  };
  SourceModule(const protocol::Sessions& sessions, std::vector<std::shared_ptr<Layer>> layers, const Sum& sum,
               std::vector<protocol::PlanRow> plan);

  [[nodiscard]] const protocol::Sessions& sessions() const { return sessions_; }

  /// The forward passes of all layers, as they are opened; `backward` is theirs for this pass.
  using PairForward = std::function<protocol::OutputShare(std::size_t place, Layer& layer)>;
  [[nodiscard]] SourceOutput output_of(const data::Batch& batch, std::size_t padded_rows, const PairForward& forward,
                                       SourceOutput::Backward backward) const;

 private:
  protocol::Sessions sessions_;
  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<std::uint32_t> numbers_;  ///< that the peers know outputs by
  std::vector<std::uint32_t> outputs_;  ///< that all A's know them by
  Sum sum_;
  std::vector<protocol::PlanRow> plan_;
  Observer observer_;
};

extern template class SourceModule<protocol::MatMul>;
extern template class SourceModule<protocol::EmbedMatMul>;

}  // namespace blindfl::nn
