#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <vector>

#include "blindfl/nn/source_module.h"
#include "blindfl/protocol/plan/source_options.h"
#include "blindfl/protocol/session/per_peer.h"

namespace blindfl::protocol {
struct LayerPlan;
}

namespace blindfl::nn {

using protocol::FeatureShape;
using protocol::MatMulOptions;
using protocol::PerPeer;

/// `Z = X_A W_A + X_B W_B` as a module: the source layer of generalised linear models and of multi-layer perceptrons.
/// With several A's: the sum of `X_A W_A` over all of them, and `X_B W_B`.
class MatMulImpl : public SourceModule<protocol::MatMul> {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options but the
  /// seed. B with several A's passes all sessions, and the shape of each pair: who has no features in this layer takes
  /// part all the same. An A passes that of its own pair, and how many features the others have
  /// (`FeatureShape::in_others`); how many A's there are, `agree_on_masks` has said.
  MatMulImpl(const protocol::Sessions& sessions, const PerPeer<FeatureShape>& shapes, std::size_t out,
             const PerPeer<MatMulOptions>& options = MatMulOptions());

  [[nodiscard]] SourceOutput shares(const data::Batch& batch) override;

  void keep_layer_products(const data::RowSource& rows, const protocol::KeepOptions& options) const override;

  /// In the layer with the peer at that place. Of B's own weights, B has its share in the first.
  [[nodiscard]] FederatedParameter weight_a(std::size_t place = 0) const;
  [[nodiscard]] FederatedParameter weight_b(std::size_t place = 0) const;

  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  MatMulImpl(const protocol::Sessions& sessions, const std::vector<protocol::LayerPlan>& plans);
  std::vector<std::shared_ptr<Source>> sources_;  ///< one with each peer
};
TORCH_MODULE(MatMul);

}  // namespace blindfl::nn
