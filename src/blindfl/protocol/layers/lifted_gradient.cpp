#include "blindfl/protocol/layers/lifted_gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl::protocol {

namespace {

constexpr int kMeanPrecision = 18;
constexpr int kFinestPrecision = 16;
constexpr int kCoarsestPrecision = 8;
constexpr int kCoarsest = 16;
// By so many bits a sum of gradients may be longer than one: momentum up to 0.99, a step of several passes, the factor
// of a short batch. Factors themselves take no room: products with them are exact.
constexpr int kRoomForSums = 12;
// Bits that a share may have before it is added up.
constexpr int kSafeShareBits = 127 - kRoomForSums;

}  // namespace

int gradient_precision(std::size_t batch) {
  return std::clamp(kMeanPrecision - bit_length(batch) + 1, kCoarsestPrecision, kFinestPrecision);
}

int LiftedGradient::kept_scale(int wanted) const {
  if (with_room) return std::min({wanted, scale, kCoarsest});
  const int too_long = std::max(0, ring_bits - 1 + factor_bits - kSafeShareBits);
  return std::min(wanted, std::max(scale - too_long, std::min(scale, kCoarsest)));
}

double LiftedGradient::failure_of_factors(int wanted) const {
  const int share_bits = ring_bits - 1 + factor_bits + kept_scale(wanted) - scale;
  if (share_bits <= kSafeShareBits && !with_room) return 0;
  return std::ldexp(1.0, kept_bits(wanted) + kRoomForSums - 127);
}

void LiftBudget::spend(double derivatives) {
  require<InvalidArgument>(
      spent_ + derivatives <= most_, "layer '", layer_, "': derivatives of this run add up to more than the ", most_,
      " by magnitude that its shares of gradients have room for. Training may have diverged (lower the learning "
      "rate); otherwise declare larger derivatives (derivative.largest) or more passes at both parties");
  spent_ += derivatives;
}

void LiftBudget::save(ByteSink& out) const {
  out.write_u64(std::bit_cast<std::uint64_t>(spent_));
}

void LiftBudget::load(ByteSource& in) {
  const auto spent = std::bit_cast<double>(in.read_u64());
  require<DataError>(std::isfinite(spent) && spent >= 0,
                     "the saved state is damaged: derivatives add up to what cannot be");
  spent_ = spent;
}

}  // namespace blindfl::protocol
