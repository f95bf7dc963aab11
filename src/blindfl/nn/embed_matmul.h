#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/plan/source_layer.h"

namespace blindfl::nn {

using protocol::CategoryShape;
using protocol::EmbedMatMulOptions;

/// `Z = E_A W_A + E_B W_B`, where E are the embeddings of categorical fields, as a module: what `nn::Embedding` for
/// each field and one `nn::Linear` without bias compute. Neither party sees a trained table or a looked-up row.
class EmbedMatMulImpl : public FederatedModule {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options.
  EmbedMatMulImpl(protocol::Session& session, const CategoryShape& shape, std::size_t out,
                  const EmbedMatMulOptions& options = {});
  /// With everything said, field by field.
  EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedMatMulSpec& spec);

  /// At B: Z, rows x OUT. At A: 0 x OUT. Both with a gradient function. Takes the batch's `fields`.
  torch::Tensor forward(const data::Batch& batch);

  /// This party's share of the output, for adding to other layers' before it is opened.
  [[nodiscard]] SourceOutput shares(const data::Batch& batch);

  /// W: A's fields' rows, then B's, `dimension` for each field.
  [[nodiscard]] FederatedParameter weight() const;
  [[nodiscard]] FederatedParameter table(protocol::Party features_of, std::size_t field) const;

  /// What the planner weighed and chose; empty if it was not asked.
  [[nodiscard]] const std::vector<protocol::PlanRow>& plan() const { return plan_; }
  /// The layer below: for checkpoints, and for whoever wants to know what it holds.
  [[nodiscard]] protocol::EmbedMatMul& layer() const;

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;
  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedPlan& plan);
  std::shared_ptr<Source> source_;
  std::vector<protocol::PlanRow> plan_;
};
TORCH_MODULE(EmbedMatMul);

}  // namespace blindfl::nn
