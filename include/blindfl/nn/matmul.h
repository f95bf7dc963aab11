#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <iosfwd>
#include <memory>

#include "blindfl/nn/source_module.h"
#include "blindfl/protocol/plan/source_options.h"

namespace blindfl::protocol {
struct LayerPlan;
}

namespace blindfl::nn {

using protocol::FeatureShape;
using protocol::MatMulOptions;

/// `Z = X_A W_A + X_B W_B` as a module: the source layer of generalised linear models and of multi-layer perceptrons.
class MatMulImpl : public SourceModule<protocol::MatMul> {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options but the
  /// seed.
  MatMulImpl(protocol::Session& session, const FeatureShape& shape, std::size_t out, const MatMulOptions& options = {});

  [[nodiscard]] SourceOutput shares(const data::Batch& batch) override;

  void keep_layer_products(const data::RowSource& rows, const protocol::KeepOptions& options) const override;

  [[nodiscard]] FederatedParameter weight_a() const;
  [[nodiscard]] FederatedParameter weight_b() const;

  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  MatMulImpl(protocol::Session& session, const protocol::LayerPlan& plan);
  std::shared_ptr<Source> source_;
};
TORCH_MODULE(MatMul);

}  // namespace blindfl::nn
