#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <vector>

#include "blindfl/base/party.h"
#include "blindfl/nn/source_module.h"
#include "blindfl/protocol/plan/source_options.h"
#include "blindfl/protocol/session/per_peer.h"

namespace blindfl::protocol {
struct EmbedMatMulSpec;
struct EmbedPlan;
}  // namespace blindfl::protocol

namespace blindfl::nn {

using protocol::CategoryShape;
using protocol::EmbedMatMulOptions;
using protocol::PerPeer;

/// `Z = E_A W_A + E_B W_B`, where E are the embeddings of categorical fields, as a module: what `nn::Embedding` for
/// each field and one `nn::Linear` without bias compute. Neither party sees a trained table or a looked-up row.
/// With several A's: the sum of `E_A W_A` over all of them, and `E_B W_B`, which B shares with the first.
class EmbedMatMulImpl : public SourceModule<protocol::EmbedMatMul> {
 public:
  /// Throws InvalidArgument if the layer could overflow. Both parties must pass the same shape and options. With
  /// several A's: as MatMul, `CategoryShape::fields_others`.
  EmbedMatMulImpl(const protocol::Sessions& sessions, const PerPeer<CategoryShape>& shapes, std::size_t out,
                  const PerPeer<EmbedMatMulOptions>& options = EmbedMatMulOptions());
  /// With everything said, field by field, and one peer.
  EmbedMatMulImpl(protocol::Session& session, const protocol::EmbedMatMulSpec& spec);

  /// Takes the batch's `fields`.
  [[nodiscard]] SourceOutput shares(const data::Batch& batch) override;

  /// W: A's fields' rows, then B's, `dimension` for each field.
  /// In the layer with the peer at that place.
  [[nodiscard]] FederatedParameter weight(std::size_t place = 0) const;
  [[nodiscard]] FederatedParameter table(Party features_of, std::size_t field, std::size_t place = 0) const;

  void pretty_print(std::ostream& stream) const override;

 private:
  class Source;
  struct Parts;
  EmbedMatMulImpl(const protocol::Sessions& sessions, const Parts& parts);
  static std::vector<std::shared_ptr<protocol::EmbedMatMul>> layers_of(const protocol::Sessions& sessions,
                                                                       const Parts& parts);
  static Parts parts_of(const protocol::Sessions& sessions, const PerPeer<CategoryShape>& shapes, std::size_t out,
                        const PerPeer<EmbedMatMulOptions>& options);
  std::vector<std::shared_ptr<Source>> sources_;  ///< one with each peer; null where there are no fields
};
TORCH_MODULE(EmbedMatMul);

}  // namespace blindfl::nn
