#pragma once

#include <cstddef>
#include <string>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/run_length.h"
#include "blindfl/protocol/layers/sgd_plan.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/settings.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::protocol {

/// The public shape of both parties' features.
struct FeatureShape {
  std::size_t in_a = 0;  ///< A's features; 0 if A has none in this layer
  std::size_t in_b = 0;
  std::size_t batch = 128;  ///< the most rows a batch may have
  FixedPointSpec features_a{};
  FixedPointSpec features_b{};
  /// The most features of a row that are not 0; 0: all of them. A row with more is an error at its owner.
  std::size_t nonzeros_a = 0;
  std::size_t nonzeros_b = 0;
};

/// What a MatMul layer is told beside its shape.
struct MatMulLayerOptions {
  std::string name = "matmul";  ///< for error messages
  /// Of the derivative of the summed loss by Z. Exceeding its range is an error at B unless it clips.
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};
  int weight_scale = 32;
  double largest_weight = 1024.0;  ///< assumed of trained weights; it sizes what must not overflow
  int gradient_scale = 32;         ///< of gradients and momentum
  int output_scale = 16;           ///< Z is opened at this many fractional bits and no more
  /// Allows an output_scale above 20. It gives A's features away to B: from a finer Z they follow by lattice reduction.
  bool fine_outputs_reveal_features = false;
  /// Deviation of the initial weights; 0 stands for 1 / sqrt(3 (in_a + in_b)), as torch's Linear has it.
  double initial_deviation = 0.0;
  /// Names of the session's schemes that carry the products with A's and with B's features, forward and backward;
  /// empty: the session's default.
  std::string scheme_a{};
  std::string scheme_b{};
  /// With updates under encryption: how training will go, which sizes what must not overflow. It must be what the
  /// optimizer gets, and `steps` must be given.
  SgdOptions sgd{};
  /// How much will be hidden in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
};

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
