// What an Embed-MatMul layer multiplies: the spec of every product, made from the numbers of embed_params.cpp.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/embed_params.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/share/integer_pieces.h"

namespace blindfl::protocol {

namespace {

/// Bits of noise on a gradient at that scale.
int noise_at(int scale, std::size_t batch) {
  return std::max(scale - gradient_precision(batch), 0);
}
// A derivative by an embedding is of one row: it may have so much less noise than a gradient, in bits.
constexpr int kFinerDerivatives = 2;
// Under a shared top two products make each of these, as they make Z: their noise together is not more than one's.
constexpr int kBothProducts = 1;

}  // namespace

he::ProductSpec EmbedMatMulParams::lookup(const EmbedField& field, std::size_t rows) const {
  check_rows(rows);
  const int rounded = table_scale(field) + field.field.scale() - embedding_scale_;
  return {.rows = rows,
          .inner = field.field.categories,
          .cols = spec_.dimension,
          .left_bound = field.field.bound(),
          .left_scale = field.field.scale(),
          .right_scale = table_scale(field),
          .run_values = run_values(spec_.batch, spec_.dimension),
          .ring_bits = kPieceRing + rounded,
          // Half a unit of what is left.
          .noise_bits = rounded - 2};
}

he::ProductSpec EmbedMatMulParams::embedding(const Limbs& limbs, std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = inputs() * limbs.count,
          .cols = spec_.out,
          .left_bound = limbs.bound(),
          .left_scale = embedding_scale_,
          .right_scale = spec_.weight_scale,
          .run_values = run_values(spec_.batch, spec_.out),
          .ring_bits = output_ring_,
          // Two products make Z: their noise together is less than a unit of what is opened.
          .noise_bits = std::max(product_scale() - spec_.output_scale - 1, 0)};
}

int EmbedMatMulParams::gradient_noise() const {
  return std::max(noise_at(weight_lift_.scale, spec_.batch) - (shared() ? kBothProducts : 0), 0);
}

int EmbedMatMulParams::derivative_noise() const {
  const int noise = noise_at(derivative_lift_.scale, spec_.batch) - kFinerDerivatives;
  return std::max(noise - (shared() ? kBothProducts : 0), 0);
}

he::ProductSpec EmbedMatMulParams::weight_gradient(std::size_t rows) const {
  check_rows(rows);
  return {.rows = spec_.out,
          .inner = rows,
          .cols = inputs(),
          .left_bound = low64(derivative_bound()),
          .left_scale = derivative_scale_,
          .right_scale = embedding_scale_,
          .right_bits = std::min(kPieceBits + 1, weight_lift_.ring_bits),
          .run_values = run_values(spec_.out, inputs()),
          .ring_bits = weight_lift_.ring_bits,
          .noise_bits = gradient_noise(),
          .lifted_bits = lifts_with_room() ? 0 : weight_lift_.bits};
}

he::ProductSpec EmbedMatMulParams::embedding_derivative(std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = spec_.out,
          .cols = inputs(),
          .left_bound = low64(derivative_bound()),
          .left_scale = derivative_scale_,
          .right_scale = backward_weight_scale_,
          .run_values = run_values(spec_.batch, inputs()),
          .ring_bits = embedding_derivative_ring_,
          .noise_bits = derivative_noise(),
          .lifted_bits = lifts_with_room() ? 0 : derivative_lift_.mean_bits};
}

// What is known modulo a power of 2 only, dZ, is on the right; integer shares of E are numbers already, and no lift can
// fail.
he::ProductSpec EmbedMatMulParams::shared_weight_gradient(const Limbs& limbs, std::size_t rows) const {
  check_rows(rows);
  return {.rows = inputs(),
          .inner = rows * limbs.count,
          .cols = spec_.out,
          .left_bound = limbs.bound(),
          .left_scale = embedding_scale_,
          .right_scale = derivative_scale_,
          .run_values = run_values(inputs(), spec_.out),
          .ring_bits = weight_lift_.ring_bits,
          .noise_bits = gradient_noise()};
}

// Neither shares of dZ nor shares of W are short: on the left a share is any number that is right modulo the result's
// ring. dZ is there, so that shares of W serve every pass until they change.
he::ProductSpec EmbedMatMulParams::shared_embedding_derivative(const Limbs& limbs, std::size_t rows) const {
  check_rows(rows);
  return {.rows = rows,
          .inner = spec_.out * limbs.count,
          .cols = inputs(),
          .left_bound = limbs.bound(),
          .left_scale = derivative_scale_,
          .right_scale = backward_weight_scale_,
          .run_values = run_values(spec_.batch, inputs()),
          .ring_bits = embedding_derivative_ring_,
          .noise_bits = derivative_noise()};
}

he::ProductSpec EmbedMatMulParams::table_gradient(const EmbedField& field, std::size_t rows) const {
  check_rows(rows);
  const LiftedGradient lift = table_lift(field);
  return {.rows = field.field.categories,
          .inner = rows,
          .cols = spec_.dimension,
          .left_bound = field.field.bound(),
          .left_scale = field.field.scale(),
          .right_scale = derivative_share_scale(field),
          .run_values = run_values(field.field.categories, spec_.dimension),
          .ring_bits = lift.ring_bits,
          .noise_bits = noise_at(lift.scale, spec_.batch),
          .lifted_bits = lift.mean_bits};
}

EncryptedUpdateSpec EmbedMatMulParams::encrypted_update(const EmbedField& field) const {
  const int scale = field.field.scale();
  return {
      .name = spec_.name,
      .in = field.field.categories,
      .out = spec_.dimension,
      .batch = spec_.batch,
      .features = FixedPoint({.scale = scale, .largest = std::ldexp(static_cast<double>(field.field.bound()), -scale)}),
      .most_terms = field.field.most,
      .product_scale = kShareScale,
      .largest_derivative = largest_embedding_derivative(),
      .share_bits = derivative_share_bits(field),
      .share_scale = derivative_share_scale(field),
      .sgd = spec_.sgd,
      .passes = passes(),
      .products = products(),
      .run = spec_.run,
      .product_step = steps::kLookupProduct,
      .derivative_step = steps::kDerivativeShare};
}

Limbs EmbedMatMulParams::least_traffic(const he::Scheme& scheme, int value_bits,
                                       const std::function<he::ProductSpec(const Limbs&)>& product) const {
  constexpr std::size_t kFewest = 1;
  constexpr std::size_t kMost = 6;
  std::optional<Limbs> best;
  std::uint64_t least = 0;
  std::string refused;
  for (std::size_t count = kFewest; count <= kMost; ++count) {
    try {
      const Limbs limbs = Limbs::of(value_bits, count);
      const auto plan = scheme.plan(product(limbs));
      const std::uint64_t bytes = plan->operand_bytes() + plan->reply_bytes();
      if (!best || bytes < least) {
        best = limbs;
        least = bytes;
      }
    } catch (const InvalidArgument& error) {
      refused = error.what();  // perhaps only because limbs of that length leave no room
    }
  }
  require<InvalidArgument>(best.has_value(), where(), ": ", refused);
  return *best;
}

Limbs EmbedMatMulParams::choose_limbs(const he::Scheme& scheme) const {
  return least_traffic(scheme, kPieceBits, [&](const Limbs& limbs) { return embedding(limbs, spec_.batch); });
}

Limbs EmbedMatMulParams::choose_gradient_limbs(const he::Scheme& scheme) const {
  return least_traffic(scheme, kPieceBits,
                       [&](const Limbs& limbs) { return shared_weight_gradient(limbs, spec_.batch); });
}

Limbs EmbedMatMulParams::choose_derivative_limbs(const he::Scheme& scheme) const {
  return least_traffic(scheme, embedding_derivative_ring_ - 1,
                       [&](const Limbs& limbs) { return shared_embedding_derivative(limbs, spec_.batch); });
}

}  // namespace blindfl::protocol
