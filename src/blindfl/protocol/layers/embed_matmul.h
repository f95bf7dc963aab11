#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/protocol/layers/batch_keys.h"
#include "blindfl/protocol/layers/embedding_table.h"
#include "blindfl/protocol/session/output.h"

// Embed-MatMul, the paper's Figure 8: Z = E_A W_A + E_B W_B, where E = lookup(Q, X). Side by side, E = [E_A | E_B] and
// W = [W_A ; W_B], and everything is shared between the parties: each field's table (embedding_table.h), the embeddings
// E = L_A + L_B, the weights W = R_A + R_B, and all their gradients. docs/protocols.md, "Embed-MatMul".
//
//   forward    lookups give shares of E, and a correction by the party with the field makes pieces of them: L_A at A
//              and L_B at B, integers that add up to E.   Z = L_A R_A + L_A R_B + L_B R_A + L_B R_B:
//              the outer terms are local, the inner ones are products, each way one.
//   backward   dW^T = dZ^T L_A + dZ^T L_B,  dE = dZ R_A^T + dZ R_B^T:  B has dZ, so A sends [[L_A]]_A and [[R_A^T]]_A.
//              dQ = X^T dE by each table.
//
// With several A's, B has such a layer with each. Its own fields are in the one with the first of them: a table or
// weights in shares of all would take products between the A's. Their outputs are opened together (open_output).
//
// Under a shared top (`Top::kShared`) Z and dZ stay shared: dZ = e + f, e at A and f at B. The forward pass and dQ are
// as above; between them both parties do the same, at the same time:
//
//   dW = L_A^T e (A alone) + L_B^T f (B alone) + product(L_A^T at A, f at B) + product(L_B^T at B, e at A)
//   dE = e R_A^T (A alone) + f R_B^T (B alone) + product(e at A, R_B^T at B) + product(f at B, R_A^T at A)
//
// The left side of a product must be a number, and L_A, L_B are; so in dW shares of dZ are on the right, as elements of
// a ring. In dE neither side is short; but a result modulo 2^t needs its left side modulo 2^t only, and any number that
// is the same modulo 2^t will do. In neither can anything fail. Long numbers are cut into limbs.
//
// There, and beside tables by oblivious transfer, both gradients come in rings with room for all that they can be, and
// are lifted from these exactly (session/room_lift.h).

namespace blindfl::protocol {

/// What a forward pass leaves for the backward pass, at one party.
struct EmbedPass {
  std::vector<IntMatrix> categories;  ///< this party's, field by field
  ShareMatrix embeddings;             ///< this party's share of E: signed numbers of at most 62 bits
  std::shared_ptr<BatchKeys> keys{};  ///< of tables by oblivious transfer. They serve one backward pass
  std::shared_ptr<BatchKeys> next{};  ///< those of the coming batch, if it was said; null if there are no such tables
};

/// The batch that the next forward pass is for, where it is known: both parties say so, or neither.
struct ComingBatch {
  std::span<const std::uint32_t> numbers;  ///< which rows these are, the same at both parties
  std::span<const IntMatrix> categories;   ///< this party's, field by field
};

/// This party's shares of the gradients, at the weights' gradient scales: those of the mean loss over the real rows,
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
  /// Cost: a product for each field, then one each way; what is encrypted travels only if it has changed, what is
  /// looked up in by oblivious transfer in every pass.
  /// `rows` is the batch's number of rows, which a party without fields cannot tell from them. Keys of tables by
  /// oblivious transfer take a flight of their own, unless they were made ahead: with a `coming` batch of as many rows,
  /// those of it are asked for here, made while a party waits, and there when the backward pass is done; the pass with
  /// these `numbers` takes them. Nothing is made ahead while masks repeat.
  /// Reveals: the number of rows. Throws InvalidArgument if `categories`, or coming ones, are not what the layer was
  /// made for.
  [[nodiscard]] Forward forward(const std::vector<IntMatrix>& categories, std::size_t rows,
                                std::span<const std::uint32_t> numbers = {}, const ComingBatch* coming = nullptr);

  /// This party's shares of the gradients, with the weights that `forward` had.
  /// Cost: two products with dZ at B, under a shared top two each way at the same time, and one for each field.
  /// Reveals: nothing; whole tables' gradients travel. Throws InvalidArgument, before anything is sent, unless the
  /// derivative is of the layer's top: under a shared one a share at `derivative_scale()` modulo 2^derivative_ring(),
  /// or in a wider ring at any scale that leaves these; and if a table is by oblivious transfer, for a pass that
  /// had its backward pass.
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
  void begin_pass(Pass pass, std::size_t rows);
  void check_categories(std::span<const IntMatrix> categories, std::size_t rows) const;
  /// Keys for tables by oblivious transfer: those that were made ahead, or, with a flight of their own, new ones.
  [[nodiscard]] std::shared_ptr<BatchKeys> keys_of(std::span<const IntMatrix> categories, std::size_t rows,
                                                   std::span<const std::uint32_t> numbers);
  /// With it travels what is asked for the coming batch, if `next` is not null.
  void refresh_operands(std::size_t rows, BatchKeys& keys, BatchKeys* next);
  [[nodiscard]] ShareMatrix look_up(const std::vector<IntMatrix>& categories, std::size_t rows);
  [[nodiscard]] ShareMatrix multiply_pieces(const ShareMatrix& embeddings);
  /// Shares of dW and dE, not yet rescaled.
  struct Shares {
    ShareMatrix weight;
    ShareMatrix embeddings;
  };
  [[nodiscard]] Shares backward_at_a(const EmbedPass& pass);
  [[nodiscard]] Shares backward_at_b(const EmbedPass& pass, const Derivative& derivative);
  [[nodiscard]] Shares backward_shared(const EmbedPass& pass, const ShareMatrix& dz);
  /// From the rings of their products to those in which they are read as numbers.
  [[nodiscard]] Shares lifted_with_room(Shares raw);
  [[nodiscard]] StateOrigin::Clock clock() const;
  void table_gradients(const EmbedPass& pass, const ShareMatrix& raw, const Derivative& derivative,
                       EmbedGradients& gradients);
  /// This party's R^T as the backward product takes it.
  [[nodiscard]] ShareMatrix backward_weights() const;

  Session& session_;
  std::shared_ptr<const EmbedMatMulParams> params_;
  std::uint32_t layer_;
  const he::Scheme& scheme_;
  Limbs limbs_;
  Limbs gradient_limbs_;    ///< under a shared top: of integer shares of E, on the left of products with dZ
  Limbs derivative_limbs_;  ///< the same: of shares of dZ
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::shared_ptr<Weight> weight_;
  std::shared_ptr<BatchKeys> ahead_;  ///< of the batch that the last backward pass knew to come
  // The three products with the whole of E or W: each party's share L with the other's R; dZ^T, and dZ, at B with L and
  // R^T of A's. Under a shared top each party's L^T with the other's share of dZ, and its share of dZ with the other's
  // R^T.
  RepeatedProduct embedding_;
  RepeatedProduct weight_gradient_;
  RepeatedProduct embedding_derivative_;
  StateOrigin origin_;
};

}  // namespace blindfl::protocol
