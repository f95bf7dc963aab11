#include "blindfl/mpc/smooth_plan.h"

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

constexpr double kDeviations = 8;

he::SlotSpec slot_spec(const SmoothFunction& function, const SmoothSpec& spec) {
  he::SlotSpec slots{.values = spec.rows * spec.cols,
                     .frequencies = function.frequencies(),
                     .functions = {},
                     .result_scale = spec.result_scale,
                     .run_replies = spec.run_replies,
                     .error = spec.error};
  for (const SmoothFunction::Part& part : function.parts()) slots.functions.push_back(part.coefficients);
  return slots;
}

std::vector<ShareMatrix> with_lines(const SmoothPlan& plan, const std::vector<ShareMatrix>& waves, const ShareMatrix& z,
                                    Constants constants) {
  std::vector<ShareMatrix> results;
  for (std::size_t i = 0; i < waves.size(); ++i) {
    results.push_back(with_line(plan.function().parts()[i], waves[i], z, constants));
  }
  return results;
}

}  // namespace

SmoothPlan::SmoothPlan(std::shared_ptr<const he::Slots> slots, SmoothFunction function, const SmoothSpec& spec)
    : slots_(std::move(slots)),
      function_(std::move(function)),
      spec_(spec),
      products_(slots_->plan(slot_spec(function_, spec))) {}

double SmoothPlan::error(std::size_t part) const {
  // Each party rounds its linear term.
  return function_.parts()[part].error + kDeviations * products_->deviation(part) +
         std::ldexp(2.0, -spec_.result_scale);
}

void SmoothPlan::check(const ShareMatrix& z) const {
  require<InvalidArgument>(z.rows() == spec_.rows && z.cols() == spec_.cols, function_.describe(), " of ", spec_.rows,
                           "x", spec_.cols, " values: this share is ", z.rows(), "x", z.cols());
  require<InvalidArgument>(z.scale() == SmoothFunction::kFractionalBits && z.ring_bits() >= 32, function_.describe(),
                           ": z must be shared modulo 2^32 at least, at ", SmoothFunction::kFractionalBits,
                           " fractional bits");
  require<InvalidArgument>(!function_.needs_wide_shares() || z.ring_bits() == ShareMatrix::kMostRingBits,
                           function_.describe(), " has a linear term, so z must be shared modulo 2^128");
}

SecretVector<std::uint32_t> angles_of(const ShareMatrix& z) {
  SecretVector<std::uint32_t> angles;
  angles.reserve(z.values().size());
  for (const UInt128 v : z.values()) angles.push_back(static_cast<std::uint32_t>(v));
  return angles;
}

ShareMatrix with_line(const SmoothFunction::Part& part, const ShareMatrix& waves, const ShareMatrix& z,
                      Constants constants) {
  ShareMatrix result(z.rows(), z.cols(), waves.scale());
  const auto constant = static_cast<UInt128>(static_cast<Int128>(
      std::floor(std::ldexp(constants == Constants::kAdded ? part.constant : 0, waves.scale()) + 0.5)));
  for (std::size_t i = 0; i < result.values().size(); ++i) result.values()[i] = waves.values()[i] + constant;
  if (part.slope != 0) result += multiply_public(z, PublicFactor(part.slope), waves.scale());
  return result;
}

SmoothOwner::SmoothOwner(std::shared_ptr<const SmoothPlan> plan, const he::Coin& coin, ShareMatrix z, Random& random,
                         ThreadPool& pool, ByteSink& operand)
    : plan_(std::move(plan)), z_(std::move(z)) {
  plan_->check(z_);
  key_ = plan_->slots().encrypt(plan_->products(), coin, angles_of(z_), random, pool, operand);
}

std::vector<ShareMatrix> SmoothOwner::open(ByteSource& reply, ThreadPool& pool) {
  return with_lines(*plan_, key_->open(reply, pool), z_, Constants::kLeft);
}

std::vector<ShareMatrix> multiply_smooth(const SmoothPlan& plan, const he::Coin& coin, ByteSource& operand,
                                         const ShareMatrix& z, Random& random, ThreadPool& pool, ByteSink& reply) {
  plan.check(z);
  const auto waves = plan.slots().multiply(*plan.products(), coin, operand, angles_of(z), random, pool, reply);
  return with_lines(plan, waves, z, Constants::kAdded);
}

}  // namespace blindfl::mpc
