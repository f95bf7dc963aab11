#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/matmul.h"
#include "blindfl/protocol/planner.h"

namespace blindfl::nn {

/// The public shape of both parties' features.
struct FeatureShape {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  std::size_t batch = 128;
  FixedPointSpec features_a{};
  FixedPointSpec features_b{};
  /// The most features of a row that are not 0; 0: all of them.
  std::size_t nonzeros_a = 0;
  std::size_t nonzeros_b = 0;
};

struct MatMulOptions {
  std::string name = "matmul";
  FixedPointSpec derivative = protocol::MatMulSpec{}.derivative;
  double largest_weight = protocol::MatMulSpec{}.largest_weight;
  int output_scale = protocol::MatMulSpec{}.output_scale;
  double initial_deviation = 0.0;  ///< 0: as torch's Linear
  /// How A's weights learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend
  /// on the number of features; `sgd` must then be what the optimizer gets, with the number of steps.
  std::optional<protocol::Update> update{};
  protocol::SgdOptions sgd{};
  std::string scheme_a{};  ///< of the session's schemes, for products with A's features; empty: the default
  std::string scheme_b{};  ///< for products with B's features
  /// `auto`: for this line between the parties, the planner chooses of the session's schemes and updates what of
  /// `scheme_a`, `scheme_b` and `update` is left open. Both parties must say the same.
  std::optional<protocol::Link> automatic{};
};

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

  /// Why the planner chose as it did; empty if it was not asked.
  [[nodiscard]] const std::string& why() const { return why_; }

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
  std::string why_;
};
TORCH_MODULE(MatMul);

}  // namespace blindfl::nn
