#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/protocol/layers/embedding_table.h"
#include "blindfl/protocol/session/output.h"

// Embed-MatMul, the paper's Figure 8: Z = E_A W_A + E_B W_B, where E = lookup(Q, X). Side by side, E = [E_A | E_B] and
// W = [W_A ; W_B], and everything is shared between the parties: each field's table (embedding_table.h), the embeddings
// E = L_A + L_B, the weights W = R_A + R_B, and all their gradients. docs/protocols.md, "Embed-MatMul".
//
//   forward    lookups give the shares L_A at A, L_B at B.   Z = L_A R_A + L_A R_B + L_B R_A + L_B R_B:
//              the outer terms are local, the inner ones are products, each way one.
//   backward   dW^T = dZ^T L_A + dZ^T L_B,  dE = dZ R_A^T + dZ R_B^T:  B has dZ, so A sends [[L_A]]_A and [[R_A^T]]_A.
//              dQ = X^T dE by each table.

namespace blindfl::protocol {

/// What a forward pass leaves for the backward pass, at one party.
struct EmbedPass {
  std::vector<IntMatrix> categories;  ///< this party's, field by field
  ShareMatrix embeddings;             ///< this party's share of E
};

/// This party's shares of the gradients, at the layer's gradient scale: those of the mean loss over the real rows,
/// times the layer's batch size. For tables that are updated under encryption there are none.
struct EmbedGradients {
  ShareMatrix weight;
  std::vector<std::optional<ShareMatrix>> tables;  ///< in the order of `EmbedMatMul::tables()`
};

/// One party's half of an Embed-MatMul source layer. Both parties make the same calls at the same time.
class EmbedMatMul {
 public:
  /// Draws this party's initial shares. `session` must outlive the layer. Exchanges public keys at once if a table is
  /// updated under encryption by another scheme than the session's default.
  /// Throws InvalidArgument as EmbedMatMulParams and Scheme::plan do, ConfigError if the session has no scheme of a
  /// name in `spec`, before anything is sent.
  EmbedMatMul(Session& session, const EmbedMatMulSpec& spec);

  [[nodiscard]] const EmbedMatMulParams& params() const { return *params_; }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] std::uint32_t layer() const { return layer_; }

  struct Forward {
    OutputShare output;
    EmbedPass pass;
  };
  /// This party's share of Z for its own categories, a matrix for each of its fields (`encode_categories`).
  /// Cost: a product for each field, then one each way; what is encrypted travels only if it has changed.
  /// `rows` is the batch's number of rows, which a party without fields cannot tell from them.
  /// Reveals: the number of rows. Throws InvalidArgument if `categories` are not what the layer was made for.
  [[nodiscard]] Forward forward(const std::vector<IntMatrix>& categories, std::size_t rows);

  /// This party's shares of the gradients, with the weights that `forward` had.
  /// Cost: two products with dZ at B, and one for each field. Reveals: nothing; whole tables' gradients travel.
  [[nodiscard]] EmbedGradients backward(const EmbedPass& pass, const Derivative& derivative);

  /// What saved state must fit: settings, party, and the keys that tables are encrypted under.
  [[nodiscard]] Settings state_settings() const;
  /// Writes all of this party's state: its shares of weights and tables, encrypted tables.
  /// Throws InvalidArgument between a backward pass and its step if a table is updated under encryption.
  void save(ByteSink& out) const;
  /// As `MatMul::load`.
  void load(ByteSource& in);

  /// Of all fields: A's, then B's.
  [[nodiscard]] const std::vector<std::unique_ptr<EmbeddingTable>>& tables() const { return tables_; }
  [[nodiscard]] const std::shared_ptr<Weight>& weight() const { return weight_; }

 private:
  void draw_weight(SeededRandom& random);
  void begin_pass();
  void take_keys();
  void check_categories(const std::vector<IntMatrix>& categories, std::size_t rows) const;
  void refresh_operands(std::size_t rows);
  [[nodiscard]] ShareMatrix look_up(const std::vector<IntMatrix>& categories, std::size_t rows);
  [[nodiscard]] ShareMatrix multiply_pieces(const ShareMatrix& embeddings);
  /// Shares of dW^T and dE, not yet rescaled.
  struct Shares {
    ShareMatrix weight;
    ShareMatrix embeddings;
  };
  [[nodiscard]] Shares backward_at_a(const EmbedPass& pass);
  [[nodiscard]] Shares backward_at_b(const EmbedPass& pass, const Derivative& derivative);
  [[nodiscard]] StateOrigin::Clock clock() const;
  void table_gradients(const EmbedPass& pass, const ShareMatrix& derivative, EmbedGradients& gradients);

  Session& session_;
  std::shared_ptr<const EmbedMatMulParams> params_;
  std::uint32_t layer_;
  const he::Scheme& scheme_;
  Limbs limbs_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::shared_ptr<Weight> weight_;
  // The three products with the whole of E or W: each party's share L with the other's R; dZ^T, and dZ, at B with L and
  // R^T of A's.
  RepeatedProduct embedding_;
  RepeatedProduct weight_gradient_;
  RepeatedProduct embedding_derivative_;
  bool has_keys_ = false;
  StateOrigin origin_;
};

}  // namespace blindfl::protocol
