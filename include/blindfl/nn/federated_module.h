#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/nn/federated_parameter.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::data {
class RowSource;
}
namespace blindfl::protocol {
struct KeepOptions;
}

namespace blindfl::nn {

/// The base of every module with a federated layer inside: `torch::nn::Module` plus the parameters that no tensor
/// holds.
///
/// ```
/// struct LogisticRegressionImpl : blindfl::FederatedModule {
///   LogisticRegressionImpl(blindfl::Session& s, const blindfl::FeatureShape& x)
///       : source(register_module("source", blindfl::MatMul(s, x, /*out=*/1))),
///         bias(register_parameter("bias", torch::zeros({1}))) {}
///   torch::Tensor forward(const blindfl::Batch& x) { return source(x) + bias; }
///   blindfl::MatMul source;
///   torch::Tensor bias;
/// };
/// ```
/// Both parties run the same lines. At B, `source(x)` is Z; at A it has no rows, and A's `backward()` takes part in the
/// same protocol step. A's copy of what follows the source layer is never trained.
class FederatedModule : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;

  /// The federated parameters of this module and of all modules below it.
  [[nodiscard]] std::vector<FederatedParameter> federated_parameters() const;

  /// For modules that are themselves a federated layer, and so hold what no tensor does: see nn/state.h, which calls
  /// these for all modules of a model. What saved state of the layer must fit; nothing: the module is no such layer.
  [[nodiscard]] virtual std::optional<protocol::Settings> state_settings() const { return std::nullopt; }
  /// Writes this party's state of the layer, tensors left out; reads it, and no further.
  virtual void save_layer(ByteSink& /*out*/) const {}
  virtual void load_layer(ByteSource& /*in*/) {}
  /// The same for nn/keep_products.h: makes the products of all rows that do not change in training, and keeps them.
  virtual void keep_layer_products(const data::RowSource& /*rows*/, const protocol::KeepOptions& /*options*/) const {}

 protected:
  /// Makes `parameter` one of this module's own; returns it.
  FederatedParameter register_federated(FederatedParameter parameter);

 private:
  std::vector<FederatedParameter> own_;
};

}  // namespace blindfl::nn
