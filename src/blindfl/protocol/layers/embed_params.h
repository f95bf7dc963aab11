#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/encrypted_update_params.h"
#include "blindfl/protocol/layers/layer_options.h"
#include "blindfl/protocol/layers/lifted_gradient.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/share/limbs.h"
#include "blindfl/tensor/category_field.h"

namespace blindfl::protocol {

/// A categorical field, and how its table is looked up in and learns.
struct EmbedField {
  CategoryField field;
  Update update = Update::kExchanged;
  std::string scheme{};   ///< of the session's schemes, or `kByOt`; empty: the default
  std::size_t calls = 0;  ///< by oblivious transfer, that a batch is looked up in: see `lookup_plan`

  [[nodiscard]] bool by_ot() const { return scheme == kByOt; }
};

/// Why a field's table cannot be looked up in by oblivious transfer; empty if it can.
[[nodiscard]] std::string ot_refusal(const EmbedField& field);

/// What a user asks of an Embed-MatMul layer. All of it but the fields' names is public: both parties must say the
/// same.
struct EmbedMatMulSpec : EmbedLayerOptions {
  std::vector<EmbedField> fields_a{};
  std::vector<EmbedField> fields_b{};
  std::size_t dimension = 8;  ///< of an embedding
  std::size_t out = 0;
  std::size_t batch = 0;  ///< the most rows a batch may have
  /// Where B has several A's, and this is the layer with one of them: how many, and the fields that are in the layers
  /// with the others. Initial weights follow from all.
  std::size_t peers = 1;
  std::size_t fields_others = 0;
};

/// An Embed-MatMul layer that cannot overflow: every bound computed, every product's spec made.
///
/// Embeddings E are A's fields side by side, then B's: `inputs()` columns.
class EmbedMatMulParams {
 public:
  // E = L_A + L_B, where both are integers that a product can have on its left side: pieces (share/integer_pieces.h),
  // which the party with a field draws. `divergence_of_pieces` says how well they hide E.

  /// Shares of lookups in tables that are updated under encryption come at this scale.
  static constexpr int kShareScale = 60;

  /// Throws InvalidArgument, with the layer in the message, if a shape is empty, a bound is out of range, or a value
  /// could outgrow what a share can be rescaled with.
  explicit EmbedMatMulParams(const EmbedMatMulSpec& spec);

  [[nodiscard]] const EmbedMatMulSpec& spec() const { return spec_; }
  [[nodiscard]] const std::vector<EmbedField>& fields(Party party) const {
    return party == Party::kA ? spec_.fields_a : spec_.fields_b;
  }
  [[nodiscard]] std::size_t inputs() const { return (spec_.fields_a.size() + spec_.fields_b.size()) * spec_.dimension; }
  /// The column of E that a field's embedding begins at.
  [[nodiscard]] std::size_t first_column(Party party, std::size_t field) const;
  [[nodiscard]] const FixedPoint& derivative() const { return derivative_; }
  [[nodiscard]] double initial_deviation() const { return initial_deviation_; }
  [[nodiscard]] bool shared() const { return spec_.top == Top::kShared; }

  /// Of embeddings: the spec's, or less, so that pieces hide them in a run of that length. Each bit less allows a run
  /// four times as long.
  [[nodiscard]] int embedding_scale() const { return embedding_scale_; }
  /// Of a field's table.
  [[nodiscard]] int table_scale(const EmbedField& field) const;
  /// Kullback-Leibler divergence, in nats, between one piece that hides E and one that hides 0; and of all pieces of
  /// the run, of all layers.
  [[nodiscard]] double divergence_of_piece() const;
  [[nodiscard]] double divergence_of_pieces() const;
  /// Scale of Z before it is rounded.
  [[nodiscard]] int product_scale() const { return embedding_scale_ + spec_.weight_scale; }
  /// Bits of the largest Z at that scale: what weights and embeddings can make, or what is assumed of it.
  [[nodiscard]] int output_bits() const { return output_bits_; }
  /// The ring of shares of Z.
  [[nodiscard]] int output_ring() const { return output_ring_; }

  /// Scales at which backward products have dZ, shares of the weights, and, for a field's table, shares of dE. Not
  /// finer than gradients need, so that they can be lifted from their rings.
  [[nodiscard]] int derivative_scale() const { return derivative_scale_; }
  [[nodiscard]] int backward_weight_scale() const { return backward_weight_scale_; }
  [[nodiscard]] int derivative_share_scale(const EmbedField& field) const;
  /// No dZ exceeds this at `derivative_scale()`.
  [[nodiscard]] UInt128 derivative_bound() const { return derivative_bound(derivative_scale_); }
  /// Under a shared top, the ring that shares of dZ at that scale are needed in.
  [[nodiscard]] int derivative_ring() const { return std::max(weight_lift_.ring_bits, embedding_derivative_ring_); }
  /// The ring of the products that make dE: where it is lifted with room, to that of `derivative_lift()`, no wider than
  /// that takes.
  [[nodiscard]] int embedding_derivative_ring() const { return embedding_derivative_ring_; }
  /// Whether gradients of W and dE are lifted exactly (session/room_lift.h), in rings with room for all that they can
  /// be: under a shared top, where nobody has dZ; and beside tables by oblivious transfer, where there are random OTs.
  [[nodiscard]] bool lifts_with_room() const { return shared() || fields_by_ot() > 0; }
  /// Tables by oblivious transfer, of both parties.
  [[nodiscard]] std::size_t fields_by_ot() const;
  /// These, in a batch of `rows` rows.
  [[nodiscard]] std::vector<RoomLift> lifts(std::size_t rows) const;
  /// The chance that reading one share of dE as a number fails.
  [[nodiscard]] double failure_of_derivative_lift() const;
  /// Gradients and dE, to be read as numbers. They are expected to be at most 16 times as large as a derivative by Z,
  /// and dE on average a 64th.
  [[nodiscard]] const LiftedGradient& weight_lift() const { return weight_lift_; }
  [[nodiscard]] const LiftedGradient& derivative_lift() const { return derivative_lift_; }
  [[nodiscard]] LiftedGradient table_lift(const EmbedField& field) const;
  /// The chance that shares of the weights, or of a field's table, fail in what an optimizer does with them over the
  /// run.
  [[nodiscard]] double failure_of_weights() const;
  [[nodiscard]] double failure_of_table(const EmbedField& field) const;

  /// Forward passes that hiding is made for.
  [[nodiscard]] std::uint64_t passes() const { return counted_passes(spec_.run, spec_.sgd); }

  /// Everything that saved state must fit, as text.
  [[nodiscard]] Settings settings() const;
  /// Everything both parties must agree on: the same, and what sizes their messages only.
  [[nodiscard]] Settings agreement() const;

  /// `X T` for a field's categories X and one piece T of its table.
  [[nodiscard]] he::ProductSpec lookup(const EmbedField& field, std::size_t rows) const;
  /// `L R` for one party's piece L of E, cut into limbs, and the other's piece R of W.
  [[nodiscard]] he::ProductSpec embedding(const Limbs& limbs, std::size_t rows) const;
  /// Under an open top: `dZ^T L`, and `dZ R^T`, of A's pieces.
  [[nodiscard]] he::ProductSpec weight_gradient(std::size_t rows) const;
  [[nodiscard]] he::ProductSpec embedding_derivative(std::size_t rows) const;
  /// Under a shared top: `L^T` of one party's piece L of E times the other's share of dZ; and one party's share of dZ
  /// times `R^T` of the other's piece R of W. What is on the left is cut into limbs.
  [[nodiscard]] he::ProductSpec shared_weight_gradient(const Limbs& limbs, std::size_t rows) const;
  [[nodiscard]] he::ProductSpec shared_embedding_derivative(const Limbs& limbs, std::size_t rows) const;
  /// For a field's table by oblivious transfer: the chance that one value of its gradient fails to be lifted. The only
  /// thing about it that can fail, and not by noise: there is none.
  [[nodiscard]] double failure_of_table_lift(const EmbedField& field) const;
  /// `X^T dE` for a field's categories and one share of its embeddings' derivative.
  [[nodiscard]] he::ProductSpec table_gradient(const EmbedField& field, std::size_t rows) const;

  /// For a field's table that is updated under encryption.
  [[nodiscard]] EncryptedUpdateSpec encrypted_update(const EmbedField& field) const;

  // The cut of what is on the left that makes the least traffic under a scheme: into one, if it takes that.
  // Throw InvalidArgument, with the reason, if it takes none.

  /// Of integer shares of E, for products with W.
  [[nodiscard]] Limbs choose_limbs(const he::Scheme& scheme) const;
  /// Under a shared top, of the same for products with dZ, and of shares of dZ.
  [[nodiscard]] Limbs choose_gradient_limbs(const he::Scheme& scheme) const;
  [[nodiscard]] Limbs choose_derivative_limbs(const he::Scheme& scheme) const;

 private:
  /// Pieces of E and of W from both sides, dZ with either, under a shared top from both sides, too; and for each field
  /// looking up and its gradient. By oblivious transfer neither has noise, so that others may have more; only lifts of
  /// gradients are left, which have room for all.
  [[nodiscard]] std::size_t products() const { return products_and_lifts() - 2 * fields_by_ot(); }
  [[nodiscard]] std::size_t products_and_lifts() const {
    return (shared() ? 6 : 4) + 2 * (spec_.fields_a.size() + spec_.fields_b.size());
  }
  [[nodiscard]] Limbs least_traffic(const he::Scheme& scheme, int value_bits,
                                    const std::function<he::ProductSpec(const Limbs&)>& product) const;
  /// Of a product that opens so many values in a pass: see ProductSpec.
  [[nodiscard]] std::uint64_t run_values(std::size_t rows, std::size_t cols) const;
  [[nodiscard]] std::uint64_t table_values(const EmbedField& field) const;
  [[nodiscard]] std::string where() const;
  void check_rows(std::size_t rows) const;
  void check_ranges() const;
  void check_top() const;
  void check_bits();
  void choose_output_ring();
  /// Bits of the shares of dE for tables under encryption, a short batch's factor included.
  [[nodiscard]] int derivative_share_bits(const EmbedField& field) const;
  /// Of the derivative of the summed loss by an embedding: what there can be; and what lifts are made for, of the sum
  /// of so many. A larger one is as right, and its lift is as much likelier to fail as it is larger.
  [[nodiscard]] double largest_embedding_derivative() const;
  [[nodiscard]] double expected_derivative(double summed) const;
  /// Of derivatives by embeddings and of gradients of a table's values, by magnitude, over a run.
  [[nodiscard]] double mean_derivative() const;
  [[nodiscard]] double mean_gradient(const EmbedField& field) const;
  void choose_gradients();
  void choose_rings();
  /// Bits of noise on gradients of W, and on dE.
  [[nodiscard]] int gradient_noise() const;
  [[nodiscard]] int derivative_noise() const;
  [[nodiscard]] UInt128 derivative_bound(int scale) const;
  [[nodiscard]] double failure_over_run(double values, const LiftedGradient& lift, double decayed) const;

  EmbedMatMulSpec spec_;
  FixedPoint derivative_;
  double initial_deviation_ = 0;
  int embedding_scale_ = 0;
  UInt128 weight_bound_ = 0;
  UInt128 embedding_bound_ = 0;
  int output_bits_ = 0;
  int output_ring_ = 0;
  int derivative_scale_ = 0;
  int backward_weight_scale_ = 0;
  int embedding_derivative_ring_ = 0;
  LiftedGradient weight_lift_{};
  LiftedGradient derivative_lift_{};
};

}  // namespace blindfl::protocol
