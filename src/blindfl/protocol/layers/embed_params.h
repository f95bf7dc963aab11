#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/encrypted_update_params.h"
#include "blindfl/protocol/layers/layer_options.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/share/limbs.h"
#include "blindfl/tensor/category_field.h"

namespace blindfl::protocol {

/// A categorical field, and how its table is looked up in and learns.
struct EmbedField {
  CategoryField field;
  Update update = Update::kExchanged;
  std::string scheme{};  ///< of the session's schemes; empty: the default
};

/// What a user asks of an Embed-MatMul layer. All of it but the fields' names is public: both parties must say the
/// same.
struct EmbedMatMulSpec : EmbedLayerOptions {
  std::vector<EmbedField> fields_a{};
  std::vector<EmbedField> fields_b{};
  std::size_t dimension = 8;  ///< of an embedding
  std::size_t out = 0;
  std::size_t batch = 0;  ///< the most rows a batch may have
};

/// An Embed-MatMul layer that cannot overflow: every bound computed, every product's spec made.
///
/// Embeddings E are A's fields side by side, then B's: `inputs()` columns.
class EmbedMatMulParams {
 public:
  /// Shares of E come out of the lookup at this scale. They fill the ring, and rounding them to `embedding_scale` makes
  /// them `piece_bits()` long: pieces that a product can have on its left side. The higher the scale, the shorter the
  /// pieces, and the likelier a wrong one: with 60, values of E up to 2^7 go wrong with probability 2^-60.
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

  /// Of a field's table, so that looking up in it gives shares at `kShareScale`.
  [[nodiscard]] static int table_scale(const EmbedField& field) { return kShareScale - field.field.scale(); }
  /// No share of E exceeds 2^piece_bits in magnitude.
  [[nodiscard]] int piece_bits() const { return 127 - (kShareScale - spec_.embedding_scale); }
  /// Scale of Z before it is rounded.
  [[nodiscard]] int product_scale() const { return spec_.embedding_scale + spec_.weight_scale; }
  [[nodiscard]] int output_bits() const { return output_bits_; }
  /// Of the weights' gradient, and of a table's, at `gradient_scale`.
  [[nodiscard]] int weight_gradient_bits() const { return weight_gradient_bits_; }
  [[nodiscard]] int table_gradient_bits(const EmbedField& field) const;

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
  /// `dZ^T L`, and `dZ R^T`.
  [[nodiscard]] he::ProductSpec weight_gradient(std::size_t rows) const;
  [[nodiscard]] he::ProductSpec embedding_derivative(std::size_t rows) const;
  /// `X^T dE` for a field's categories and one share of its embeddings' derivative.
  [[nodiscard]] he::ProductSpec table_gradient(const EmbedField& field, std::size_t rows) const;

  /// For a field's table that is updated under encryption.
  [[nodiscard]] EncryptedUpdateSpec encrypted_update(const EmbedField& field) const;

  /// The cut of shares of E that makes the least traffic under a scheme.
  [[nodiscard]] Limbs choose_limbs(const he::Scheme& scheme) const;

 private:
  /// Pieces of E and of W from both sides, dZ with either, and for each field looking up and its gradient.
  [[nodiscard]] std::size_t products() const { return 4 + 2 * (spec_.fields_a.size() + spec_.fields_b.size()); }
  /// Of a product that opens so many values in a pass: see ProductSpec.
  [[nodiscard]] std::uint64_t run_values(std::size_t rows, std::size_t cols) const;
  [[nodiscard]] std::string where() const;
  void check_rows(std::size_t rows) const;
  void check_ranges() const;
  void check_bits();
  /// Bits of the shares of dE at `gradient_scale`, a short batch's factor included.
  [[nodiscard]] int derivative_share_bits() const;
  /// Of the derivative of the summed loss by an embedding.
  [[nodiscard]] double largest_embedding_derivative() const;

  EmbedMatMulSpec spec_;
  FixedPoint derivative_;
  double initial_deviation_ = 0;
  UInt128 weight_bound_ = 0;
  int output_bits_ = 0;
  int weight_gradient_bits_ = 0;
};

}  // namespace blindfl::protocol
