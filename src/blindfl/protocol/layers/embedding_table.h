#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "blindfl/protocol/layers/embed_params.h"
#include "blindfl/protocol/layers/encrypted_update.h"
#include "blindfl/protocol/layers/layer_state.h"
#include "blindfl/protocol/layers/operand_versions.h"
#include "blindfl/protocol/layers/weight.h"

// One field's embedding table Q = S + T, of which the party that has the field holds S and the other T. It is looked up
// in by a product with the categories X, and it learns by another:
//
//   has the field                                     the other
//     receive_operand      <--- [[T]] ---               send_operand            once per change of T
//     send_lookup          --- [[X T + R]] --->         receive_lookup          shares of E = X Q
//     receive_derivative   <--- [[its share of dE]] --- send_derivative
//     send_gradient        --- [[X^T dE + R]] --->      receive_gradient        shares of dQ = X^T dE, the whole
//     table's
//
// With `update: encrypted`, T exists only as [[T]] at the party that has the field, which looks up and adds there by
// itself: no operand and no gradient travels, and nothing depends on the number of categories.

namespace blindfl::protocol {

/// One party's side of one table.
class EmbeddingTable {
 public:
  /// Draws this party's share. `session` must outlive the table.
  /// Throws InvalidArgument as Scheme::plan does, ConfigError if the session lacks the field's scheme or if it cannot
  /// update under encryption.
  EmbeddingTable(Session& session, std::shared_ptr<const EmbedMatMulParams> params, Party features_of,
                 std::size_t index, SeededRandom& random);

  /// Whether this party has the field.
  [[nodiscard]] bool mine() const { return weight_->features_of == session_.party(); }
  [[nodiscard]] const EmbedField& field() const { return field_; }
  /// Column of E that its embedding begins at.
  [[nodiscard]] std::size_t first_column() const { return first_column_; }
  [[nodiscard]] const std::shared_ptr<Weight>& weight() const { return weight_; }
  /// Counts all changes of the share that masks of a lookup hide.
  [[nodiscard]] std::uint64_t version() const;

  /// Exchanges public keys if the field's scheme has none yet: at the first pass, or here at once for updates under
  /// encryption. Both parties call it at the same time.
  void take_keys();

  // What the party without the field will send: bytes, and the sending.
  [[nodiscard]] std::uint64_t operand_bytes(std::size_t rows);
  void send_operand(std::size_t rows);
  [[nodiscard]] std::uint64_t derivative_bytes(std::size_t rows);
  void send_derivative(const ShareMatrix& derivative);
  // And what it receives: its shares of E, and of the gradient, where one travels.
  [[nodiscard]] ShareMatrix receive_lookup(std::size_t rows);
  [[nodiscard]] std::optional<ShareMatrix> receive_gradient(std::size_t rows);

  // The same for the party that has the field. `x` are its categories.
  void receive_operand(std::size_t rows);
  [[nodiscard]] std::uint64_t lookup_bytes(std::size_t rows);
  [[nodiscard]] ShareMatrix send_lookup(const IntMatrix& x);
  void receive_derivative(const IntMatrix& x, const ShareMatrix& derivative);
  [[nodiscard]] std::uint64_t gradient_bytes(std::size_t rows);
  [[nodiscard]] std::optional<ShareMatrix> send_gradient(const IntMatrix& x, const ShareMatrix& derivative);

  /// Part of the layer's state: see `EmbedMatMul::save` and `EmbedMatMul::load`.
  void add_state_settings(const std::string& prefix, Settings& settings) const;
  /// Counts changes, at both parties alike.
  [[nodiscard]] std::uint64_t changes() const;
  void save(ByteSink& out) const;
  void load(ByteSource& in);

  /// With updates under encryption: at the party that has the field, and at the other. Null elsewhere.
  [[nodiscard]] EncryptedUpdateHolder* holder() { return holder_.get(); }
  [[nodiscard]] EncryptedUpdateOwner* owner() { return owner_.get(); }

 private:
  using Plans = std::map<std::size_t, std::shared_ptr<const he::Plan>>;
  [[nodiscard]] bool encrypted() const { return field_.update == Update::kEncrypted; }
  [[nodiscard]] const he::Plan& lookup_plan(std::size_t rows);
  [[nodiscard]] const he::Plan& gradient_plan(std::size_t rows);
  [[nodiscard]] ProductSteps lookup_steps() const;
  [[nodiscard]] ProductSteps gradient_steps() const;
  void draw_weight(SeededRandom& random);
  void make_encrypted();

  Session& session_;
  std::shared_ptr<const EmbedMatMulParams> params_;
  EmbedField field_;
  std::size_t first_column_;
  std::uint32_t layer_;
  const he::Scheme& scheme_;
  const SchemeKeys* keys_ = nullptr;
  std::shared_ptr<Weight> weight_;
  Plans lookup_plans_;
  Plans gradient_plans_;
  SentOperand sent_;
  ReceivedOperand received_;
  std::unique_ptr<const he::Operand> derivative_;  ///< between `receive_derivative` and `send_gradient`
  std::shared_ptr<EncryptedUpdateHolder> holder_;
  std::shared_ptr<EncryptedUpdateOwner> owner_;
};

}  // namespace blindfl::protocol
