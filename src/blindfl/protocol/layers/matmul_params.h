#pragma once

#include <cstddef>
#include <string>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/layer_options.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/settings.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::protocol {

/// What a user asks of a MatMul layer. All of it is public: both parties must say the same.
struct MatMulSpec : FeatureShape, MatMulLayerOptions {
  std::size_t out = 0;
  Update update = Update::kExchanged;
};

/// A MatMul layer that cannot overflow: every bound computed, every product's spec made.
class MatMulParams {
 public:
  /// With A's features forward and backward, with B's forward.
  static constexpr std::size_t kProducts = 3;

  /// Throws InvalidArgument, with layer, shape and scale in the message, if a shape is empty, a bound is out of range,
  /// or a value could outgrow what a share can be rescaled with.
  explicit MatMulParams(const MatMulSpec& spec);

  [[nodiscard]] const MatMulSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t in(Party party) const { return party == Party::kA ? spec_.in_a : spec_.in_b; }
  [[nodiscard]] const FixedPoint& features(Party party) const { return party == Party::kA ? features_a_ : features_b_; }
  [[nodiscard]] const std::string& scheme(Party party) const {
    return party == Party::kA ? spec_.scheme_a : spec_.scheme_b;
  }
  /// No row of this party's features has more that are not 0.
  [[nodiscard]] std::size_t most_nonzeros(Party party) const;
  /// A's weights are updated under encryption.
  [[nodiscard]] bool encrypted() const { return spec_.update == Update::kEncrypted && spec_.in_a > 0; }
  [[nodiscard]] const FixedPoint& derivative() const { return derivative_; }
  [[nodiscard]] double initial_deviation() const { return initial_deviation_; }

  /// Scale of Z before it is rounded: both parties' parts are brought to it.
  [[nodiscard]] int product_scale() const { return product_scale_; }
  /// Bits of the largest Z at that scale.
  [[nodiscard]] int output_bits() const { return output_bits_; }
  /// Bits of the largest gradient at `gradient_scale`.
  [[nodiscard]] int gradient_bits() const { return gradient_bits_; }

  /// Forward passes that hiding is made for.
  [[nodiscard]] std::uint64_t passes() const { return counted_passes(spec_.run, spec_.sgd); }
  /// Of a product that opens so many values in a pass: see ProductSpec.
  [[nodiscard]] std::uint64_t run_values(std::size_t rows, std::size_t cols) const;

  /// Everything that saved state must fit, as text.
  [[nodiscard]] Settings settings() const;
  /// Everything both parties must agree on: the same, and what sizes their messages only.
  [[nodiscard]] Settings agreement() const;

  /// `X_P V_P` for a batch of `rows` rows.
  [[nodiscard]] he::ProductSpec forward(Party party, std::size_t rows) const;
  /// `X_P^T dZ` for a batch of `rows` rows.
  [[nodiscard]] he::ProductSpec backward(Party party, std::size_t rows) const;

 private:
  [[nodiscard]] std::string where() const;
  void check_rows(std::size_t rows) const;

  MatMulSpec spec_;
  FixedPoint features_a_;
  FixedPoint features_b_;
  FixedPoint derivative_;
  double initial_deviation_;
  int product_scale_;
  int output_bits_ = 0;
  int gradient_bits_ = 0;
};

}  // namespace blindfl::protocol
