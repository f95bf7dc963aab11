#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/source_output.h"
#include "blindfl/protocol/embed_matmul.h"
#include "blindfl/protocol/embed_planner.h"

namespace blindfl::nn {

/// The public shape of both parties' categorical fields. Names need not be the same at the parties.
struct CategoryShape {
  std::vector<CategoryField> fields_a{};
  std::vector<CategoryField> fields_b{};
  std::size_t batch = 128;
  std::size_t dimension = 8;  ///< of an embedding
};

struct EmbedMatMulOptions {
  std::string name = "embed";
  FixedPointSpec derivative = protocol::EmbedMatMulSpec{}.derivative;
  double largest_weight = protocol::EmbedMatMulSpec{}.largest_weight;
  double largest_embedding = protocol::EmbedMatMulSpec{}.largest_embedding;
  int output_scale = protocol::EmbedMatMulSpec{}.output_scale;
  double initial_deviation = 0.0;  ///< of the weights; 0: as torch's Linear
  double table_deviation = protocol::EmbedMatMulSpec{}.table_deviation;
  /// How tables learn: exchanged, unless said or chosen otherwise. Under encryption, what travels does not depend on
  /// the number of categories; `sgd` must then be what the optimizer gets, with the number of steps.
  std::optional<protocol::Update> update{};
  protocol::SgdOptions sgd{};
  std::string scheme{};        ///< of the session's schemes, for products with the weights; empty: the default
  std::string table_scheme{};  ///< for looking up in tables, and for their gradients
  /// `auto`: for this line between the parties, the planner chooses for each field what of `scheme`, `table_scheme` and
  /// `update` is left open. Both parties must say the same.
  std::optional<protocol::Link> automatic{};
};

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

  /// Why the planner chose as it did; empty if it was not asked.
  [[nodiscard]] const std::string& why() const { return why_; }
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
  std::string why_;
};
TORCH_MODULE(EmbedMatMul);

}  // namespace blindfl::nn
