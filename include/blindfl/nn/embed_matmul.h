#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <iosfwd>
#include <memory>

#include "blindfl/base/party.h"
#include "blindfl/nn/source_module.h"
#include "blindfl/protocol/plan/source_options.h"

namespace blindfl::protocol {
struct EmbedMatMulSpec;
struct EmbedPlan;
}  // namespace blindfl::protocol

namespace blindfl::nn {

using protocol::CategoryShape;
using protocol::EmbedMatMulOptions;

/// `Z = E_A W_A + E_B W_B`, where E are the embeddings of categorical fields, as a module: what `nn::Embedding` for
/// each field and one `nn::Linear` without bias compute. Neither party sees a trained table or a looked-up row.
class EmbedMatMulImpl : public SourceModule<protocol::EmbedMatMul> {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options.
  EmbedMatMulImpl(protocol::Session& session, const CategoryShape& shape, std::size_t out,
                  const EmbedMatMulOptions& options = {});
  /// With everything said, field by field.
  EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedMatMulSpec& spec);

  /// Takes the batch's `fields`.
  [[nodiscard]] SourceOutput shares(const data::Batch& batch) override;

  /// W: A's fields' rows, then B's, `dimension` for each field.
  [[nodiscard]] FederatedParameter weight() const;
  [[nodiscard]] FederatedParameter table(Party features_of, std::size_t field) const;

  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedPlan& plan);
  std::shared_ptr<Source> source_;
};
TORCH_MODULE(EmbedMatMul);

}  // namespace blindfl::nn
