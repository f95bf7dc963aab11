#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/layer_options.h"
#include "blindfl/protocol/layers/lifted_gradient.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/session/room_lift.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/settings.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::protocol {

/// What a user asks of a MatMul layer. All of it is public: both parties must say the same.
struct MatMulSpec : FeatureShape, MatMulLayerOptions {
  std::size_t out = 0;
  Update update = Update::kExchanged;
  /// How B's weights learn, under a shared top. Under an open one B updates its own share by itself.
  Update update_b = Update::kExchanged;
};

/// A MatMul layer that cannot overflow: every bound computed, every product's spec made.
class MatMulParams {
 public:
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
  [[nodiscard]] bool shared() const { return spec_.top == Top::kShared; }
  /// The weights of a party's features are updated under encryption.
  [[nodiscard]] bool encrypted(Party party = Party::kA) const {
    return (party == Party::kA ? spec_.update : spec_.update_b) == Update::kEncrypted && in(party) > 0;
  }
  /// Both parties have shares of the gradient of the weights of a party's features, and so it takes a product.
  [[nodiscard]] bool shares_gradient(Party party) const {
    return in(party) > 0 && !encrypted(party) && (shared() || party == Party::kA);
  }
  /// With A's features forward and backward, with B's forward; and backward under a shared top.
  [[nodiscard]] std::size_t products() const { return shared() ? 4 : 3; }
  /// Shares of the gradient of A's weights are those of the update (ScaledUpdate): exchanged, under plain SGD whose
  /// steps are declared. Otherwise they are lifted, and left to an optimizer.
  [[nodiscard]] bool scaled() const { return scaled_; }
  [[nodiscard]] const FixedPoint& derivative() const { return derivative_; }
  [[nodiscard]] double initial_deviation() const { return initial_deviation_; }
  /// Features of all parties.
  [[nodiscard]] std::size_t inputs() const { return spec_.in_a + spec_.in_b + spec_.in_others; }
  /// Of the initial share that `owner` draws of the weights of a party's features.
  [[nodiscard]] double piece_deviation(Party features_of, Party owner) const;

  /// Scale of Z before it is rounded: both parties' parts are brought to it.
  [[nodiscard]] int product_scale() const { return product_scale_; }
  /// Bits of the largest Z at that scale: what weights and features can make, or what is assumed of it.
  [[nodiscard]] int output_bits() const { return output_bits_; }
  /// The ring of shares of Z.
  [[nodiscard]] int output_ring() const { return output_ring_; }
  /// The ring that the weights of a party's features are needed in.
  [[nodiscard]] int weight_ring(Party party) const;

  /// Scale at which dZ is encrypted for the product with a party's features. Lifted: not finer than gradients need, so
  /// that they can be lifted from their ring. Scaled: so fine that dZ times the smallest learning rate still has its
  /// precision.
  [[nodiscard]] int derivative_scale(Party party = Party::kA) const { return gradient(party).derivative_scale; }
  /// Under a shared top, the ring that shares of dZ at that scale are needed in.
  [[nodiscard]] int derivative_ring(Party party) const { return gradient(party).ring_bits; }
  /// Bits of a share of dZ, lifted from that ring, with the factor of a short batch: updates under encryption have room
  /// for it.
  [[nodiscard]] int derivative_share_bits(Party party) const {
    return derivative_ring(party) - 1 + bit_length(spec_.batch);
  }
  /// The chance that lifting one share of dZ fails, where that is done.
  [[nodiscard]] double failure_of_derivative_lift(Party party) const;
  /// Scale that gradients of a party's weights are kept at: the spec's; of shared ones perhaps less, so that no share
  /// of them outgrows 2^127 when it is multiplied with a public factor.
  [[nodiscard]] int gradient_scale(Party party) const {
    const LiftedGradient& lifted = gradient(party).lifted;
    return lifted.bits > 0 ? lifted.kept_scale(spec_.gradient_scale) : spec_.gradient_scale;
  }
  /// Bits of the largest of them at that scale.
  [[nodiscard]] int gradient_bits(Party party) const {
    const bool own = party == Party::kB && !shared();
    return own ? gradient_bits_b_ : gradient(party).lifted.kept_bits(spec_.gradient_scale);
  }
  /// What the derivatives of a run add up to at most, by magnitude, over rows and outputs: LiftBudget holds it to that,
  /// under an open top.
  [[nodiscard]] double most_derivatives() const;
  /// The chance, over the run, that a share of a party's weights outgrows 2^127 all the same where an optimizer
  /// multiplies it.
  [[nodiscard]] double failure_of_factors(Party party = Party::kA) const;

  /// Forward passes that hiding is made for.
  [[nodiscard]] std::uint64_t passes() const { return counted_passes(spec_.run, spec_.sgd); }
  /// Under a shared top: gradients that a backward pass lifts with room, of A's weights before those of B's.
  [[nodiscard]] std::vector<RoomLift> lifts() const;
  /// Of a product that opens so many values in a pass: see ProductSpec.
  [[nodiscard]] std::uint64_t run_values(std::size_t rows, std::size_t cols) const;

  /// Throws InvalidArgument unless a batch may have so many rows.
  void check_rows(std::size_t rows) const;

  /// Everything that saved state must fit, as text.
  [[nodiscard]] Settings settings() const;
  /// Everything both parties must agree on: the same, and what sizes their messages only.
  [[nodiscard]] Settings agreement() const;

  /// `X_P V_P` for a batch of `rows` rows.
  [[nodiscard]] he::ProductSpec forward(Party party, std::size_t rows) const;
  /// `X_A^T dZ` for a batch of `rows` rows, lifted; or of dZ times the learning rate, scaled. Under a shared top
  /// `X_P^T` times the share of dZ that P has not.
  [[nodiscard]] he::ProductSpec backward(Party party, std::size_t rows) const;
  [[nodiscard]] he::ProductSpec backward(std::size_t rows) const { return backward(Party::kA, rows); }

 private:
  /// Of the weights of one party's features: how the gradient comes out of its product.
  struct GradientProduct {
    int derivative_scale = 0;
    int ring_bits = ShareMatrix::kMostRingBits;  ///< of shares of the gradient, and of dZ
    LiftedGradient lifted{};                     ///< where it is lifted
  };
  [[nodiscard]] const GradientProduct& gradient(Party party) const {
    return party == Party::kA ? gradient_a_ : gradient_b_;
  }

  [[nodiscard]] std::string where() const;
  void check_top() const;
  void check_gradient(int bits, int scale) const;
  void choose_gradients();
  void choose_scaled();
  void choose_lifted(Party party, int coarsest);
  void choose_lifted_with_room(Party party, int coarsest);
  [[nodiscard]] int noise_bits(Party party) const;
  void choose_encrypted(Party party);
  [[nodiscard]] UInt128 derivative_bound(int scale, double times = 1) const;
  /// Of derivatives by magnitude, over a run.
  [[nodiscard]] double mean_derivative() const;
  /// By how much the scale of Z is finer than that of a party's part of it.
  [[nodiscard]] int missing_scale(Party party) const {
    return product_scale_ - features(party).scale() - spec_.weight_scale;
  }

  MatMulSpec spec_;
  FixedPoint features_a_;
  FixedPoint features_b_;
  FixedPoint derivative_;
  double initial_deviation_;
  int product_scale_;
  int output_bits_ = 0;
  int output_ring_ = 0;
  bool scaled_ = false;
  GradientProduct gradient_a_{};
  GradientProduct gradient_b_{};
  int gradient_bits_b_ = 0;  ///< where B has all of it
};

}  // namespace blindfl::protocol
