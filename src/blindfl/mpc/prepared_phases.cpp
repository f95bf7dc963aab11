#include "blindfl/mpc/prepared_phases.h"

#include <cmath>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/he/phase.h"

namespace blindfl::mpc {

namespace {

/// Fractional bits of a public factor C_j e^(i w_j (z - r)).
constexpr int kFactorBits = 26;

he::SlotSpec preparation_spec(const SmoothFunction& function, const SmoothSpec& spec) {
  return {.values = spec.rows * spec.cols,
          .frequencies = function.frequencies(),
          .functions = {},
          .result_scale = spec.result_scale,
          .run_replies = spec.run_replies,
          .error = spec.error};
}

SecretVector<std::uint32_t> random_values(std::size_t count, Random& random) {
  SecretVector<std::uint32_t> values(count);
  random.fill_integers(std::span(values));
  return values;
}

std::int64_t rounded_factor(double x) {
  constexpr double kUnit = 1 << kFactorBits;
  constexpr double kMagic = 6755399441055744;  // 1.5 * 2^52: a sum with it has no fraction
  return static_cast<std::int64_t>((x * kUnit + kMagic) - kMagic);
}

/// share * factor / 2^kFactorBits, rounded down, modulo 2^128: both parties' add up to the product but for a unit.
UInt128 times_factor(UInt128 share, std::int64_t factor) {
  const auto upper = static_cast<UInt128>(static_cast<Int128>(share) >> 32);
  const auto lower = static_cast<Int128>(static_cast<std::uint32_t>(share)) * factor;
  return (upper * static_cast<UInt128>(static_cast<Int128>(factor)) << (32 - kFactorBits)) +
         static_cast<UInt128>(lower >> kFactorBits);
}

}  // namespace

PreparationPlan::PreparationPlan(std::shared_ptr<const he::Slots> slots, const SmoothFunction& function,
                                 const SmoothSpec& spec)
    : slots_(std::move(slots)), products_(slots_->plan(preparation_spec(function, spec))) {}

double PreparationPlan::error(const SmoothFunction::Part& part) const {
  double squares = 0;
  for (const he::ComplexNumber& c : part.coefficients) squares += c.re * c.re + c.im * c.im;
  const auto terms = static_cast<double>(part.coefficients.size());
  return part.error + 8 * products_->deviation(0) * std::sqrt(squares) + terms * std::ldexp(1.0, -kFactorBits) +
         (4 * terms + 2) * std::ldexp(1.0, -products_->spec().result_scale);
}

PreparedPhases::PreparedPhases(std::shared_ptr<const PreparationPlan> plan, SecretVector<std::uint32_t> r,
                               std::vector<ShareMatrix> phases, Constants constants)
    : plan_(std::move(plan)), r_(std::move(r)), phases_(std::move(phases)), constants_(constants) {}

void PreparedPhases::mask(ShareMatrix z, ByteSink& out) {
  require<InvalidArgument>(!r_.empty(), "prepared phases serve for one z, and have been used");
  require<InvalidArgument>(
      z.values().size() == r_.size() && z.scale() == SmoothFunction::kFractionalBits && z.ring_bits() >= 32,
      "prepared phases are for ", r_.size(), " values modulo 2^32 at least, at ", SmoothFunction::kFractionalBits,
      " fractional bits");
  masked_ = angles_of(z);
  for (std::size_t i = 0; i < r_.size(); ++i) masked_[i] -= r_[i];
  SecretVector<std::uint32_t>().swap(r_);
  z_ = std::move(z);
  for (const std::uint32_t x : masked_) out.write_u32(x);
}

std::vector<ShareMatrix> PreparedPhases::finish(const SmoothFunction& function, ByteSource& peer) {
  require<InvalidArgument>(r_.empty() && !masked_.empty(),
                           "prepared phases are finished once, after their share of z - r was sent");
  require<InvalidArgument>(function.frequencies() == plan_->products()->spec().frequencies,
                           "phases were prepared for other frequencies than those of ", function.describe());
  require<InvalidArgument>(!function.needs_wide_shares() || z_.ring_bits() == ShareMatrix::kMostRingBits,
                           function.describe(), " has a linear term, so z must be shared modulo 2^128");
  auto difference = std::exchange(masked_, {});
  const auto phases = std::exchange(phases_, {});
  const ShareMatrix z = std::exchange(z_, {});
  for (std::uint32_t& x : difference) x += peer.read_u32();
  std::vector<ShareMatrix> results;
  const int scale = phases[0].scale();
  std::vector<ShareMatrix> sums(function.parts().size(), ShareMatrix(1, difference.size(), scale));
  for (std::size_t j = 0; j < function.harmonics(); ++j) {
    const auto re = phases[0].row(j);
    const auto im = phases[1].row(j);
    for (std::size_t i = 0; i < difference.size(); ++i) {
      const he::ComplexNumber u = he::phase_of(function.frequencies()[j] * difference[i]);
      for (std::size_t f = 0; f < sums.size(); ++f) {
        const he::ComplexNumber c = function.parts()[f].coefficients[j];
        const std::int64_t a = rounded_factor(c.re * u.re - c.im * u.im);
        const std::int64_t b = rounded_factor(c.re * u.im + c.im * u.re);
        sums[f].values()[i] += times_factor(re[i], a) - times_factor(im[i], b);
      }
    }
  }
  for (std::size_t f = 0; f < sums.size(); ++f) {
    results.push_back(with_line(function.parts()[f], sums[f], z, constants_));
  }
  return results;
}

PreparingOwner::PreparingOwner(std::shared_ptr<const PreparationPlan> plan, const he::Coin& coin, Random& random,
                               ThreadPool& pool, ByteSink& operand)
    : plan_(std::move(plan)), r_(random_values(plan_->values(), random)) {
  key_ = plan_->slots().encrypt(plan_->products(), coin, r_, random, pool, operand);
}

PreparedPhases PreparingOwner::open(ByteSource& reply, ThreadPool& pool) {
  auto phases = key_->open(reply, pool);
  return {plan_, std::move(r_), std::move(phases), Constants::kLeft};
}

PreparedPhases prepare_phases(std::shared_ptr<const PreparationPlan> plan, const he::Coin& coin, ByteSource& operand,
                              Random& random, ThreadPool& pool, ByteSink& reply) {
  auto r = random_values(plan->values(), random);
  auto phases = plan->slots().multiply(*plan->products(), coin, operand, r, random, pool, reply);
  return {std::move(plan), std::move(r), std::move(phases), Constants::kAdded};
}

}  // namespace blindfl::mpc
