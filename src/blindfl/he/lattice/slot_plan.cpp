#include "blindfl/he/lattice/slot_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>

#include "blindfl/base/digest.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/plan.h"

namespace blindfl::he::lattice {

namespace {

constexpr double kErrorVariance = 10.5;
constexpr double kRoundingVariance = 1.0 / 12;
constexpr double kSecretVariance = 2.0 / 3;
/// Of a bound on wraps: for roundings and errors, which add a little to the message.
constexpr double kWrapSlack = 1.01;
/// What exceeds this many standard deviations is not counted: a chance of 2^-49.
constexpr double kDeviations = 8;
/// Bits that are cut off the first digit leave at least this many.
constexpr int kLeastDigit = 8;
/// Shares that are far larger than usual must still be counted in 128 bits.
constexpr int kLargestShare = 112;
constexpr int kSmallestScale = 4;
constexpr int kLargestScale = LatticeSlotPlan::kCoefficientBits - 2;

double square(double x) {
  return x * x;
}

double degree_of(const Params& params) {
  return static_cast<double>(params.degree());
}

double modulus_of(const Params& params) {
  double q = 1;
  for (const Modulus& m : params.moduli()) q *= static_cast<double>(m.value());
  return q;
}

/// What errors depend on, of one function.
struct Coefficients {
  double sum = 0;           ///< of the absolute values
  double squares = 0;       ///< the sum of their squares
  double message = 0;       ///< of any chunk, the root of the mean of the squared slots, without scales
  double terms = 0;         ///< products that add up to a result
  double side_by_side = 0;  ///< slots that add up to a result
};

double magnitude(const ComplexNumber& c) {
  return std::sqrt(square(c.re) + square(c.im));
}

Coefficients coefficients_of(const SlotSpec& spec, const std::vector<SlotChunk>& chunks, std::size_t slots,
                             std::size_t function) {
  if (spec.functions.empty()) return {.sum = 1, .squares = 1, .message = 1, .terms = 1, .side_by_side = 1};
  const auto& all = spec.functions[function];
  Coefficients result;
  for (const ComplexNumber& c : all) {
    result.sum += magnitude(c);
    result.squares += square(magnitude(c));
  }
  result.terms = static_cast<double>(all.size());
  for (const SlotChunk& chunk : chunks) {
    double squares = 0;
    for (std::size_t h = 0; h < chunk.side_by_side; ++h) {
      double slot = 0;
      for (std::size_t j = h; j < all.size(); j += chunk.side_by_side) slot += magnitude(all[j]);
      squares += square(slot);
    }
    squares *= static_cast<double>(chunk.count) / static_cast<double>(slots);
    result.message = std::max(result.message, std::sqrt(squares));
    result.side_by_side = std::max(result.side_by_side, static_cast<double>(chunk.side_by_side));
  }
  return result;
}

std::size_t scale_count(const SlotSpec& spec) {
  return std::max<std::size_t>(1, spec.functions.size());
}

/// The chance that one ciphertext of this function wraps.
double wrap_chance(const Params& params, const Coefficients& c, double scale) {
  return kWrapSlack * std::sqrt(degree_of(params)) * c.message * scale / modulus_of(params);
}

/// The variance without what is cut off, and what a cut of one bit (of width 2) adds.
struct Variances {
  double uncut = 0;
  double cut_of_one = 0;
};
Variances variances(const Params& params, const SlotSpec& spec, const Coefficients& c, double phases, double factors) {
  const double n = degree_of(params);
  const double scale = phases * factors;
  const double fresh = n / 2 * kErrorVariance * n * kSecretVariance * 2 * c.side_by_side / square(scale);
  const double crossed = n / 2 * kRoundingVariance * n * kErrorVariance * c.terms / square(scale);
  Variances result;
  result.uncut = n / 2 * (kErrorVariance + kRoundingVariance) * c.squares / square(phases) +
                 n / 2 * kRoundingVariance * c.terms / square(factors) + fresh + crossed +
                 std::ldexp(1.0 / 6, -2 * spec.result_scale);
  result.cut_of_one = n / 2 * 4 * kRoundingVariance * n * kSecretVariance * c.side_by_side / square(scale);
  return result;
}

/// The largest cut that adds at most a quarter to every variance.
int cut_of(const Params& params, const std::vector<Variances>& all) {
  int cut = params.moduli().front().bits() - kLeastDigit;
  for (const Variances& v : all) {
    while (cut > 0 && v.cut_of_one * std::ldexp(1.0, 2 * (cut - 1)) > v.uncut / 4) --cut;
  }
  return cut;
}

std::vector<Coefficients> all_coefficients(const Params& params, const SlotSpec& spec,
                                           const std::vector<SlotChunk>& chunks) {
  std::vector<Coefficients> all;
  for (std::size_t f = 0; f < scale_count(spec); ++f) {
    all.push_back(coefficients_of(spec, chunks, params.degree() / 2, f));
  }
  return all;
}

std::uint64_t replies_of_run(const SlotSpec& spec, const std::vector<SlotChunk>& chunks) {
  return std::max<std::uint64_t>(spec.run_replies, slot_replies(chunks, spec.functions.size()));
}

/// The scales with the smallest errors that let a run wrap with a chance of 2^-kHidingOfRun; none if they would be too
/// small to mean anything.
std::optional<LatticeSlotPlan::Scales> best_scales(const Params& params, const SlotSpec& spec,
                                                   const std::vector<SlotChunk>& chunks) {
  const auto all = all_coefficients(params, spec, chunks);
  const double chance = std::ldexp(1.0, -kHidingOfRun) / static_cast<double>(replies_of_run(spec, chunks));
  std::optional<LatticeSlotPlan::Scales> best;
  double least = std::numeric_limits<double>::infinity();
  for (int bits = kSmallestScale; bits <= kLargestScale; ++bits) {
    LatticeSlotPlan::Scales scales{.phases = std::ldexp(1.0, bits)};
    std::vector<Variances> found;
    double most = 0;
    for (const Coefficients& c : all) {
      const double factors =
          std::min(chance / wrap_chance(params, c, scales.phases), std::ldexp(1.0, kLargestScale) / c.sum);
      scales.factors.push_back(factors);
      found.push_back(variances(params, spec, c, scales.phases, factors));
      most = std::max(most, factors >= 1 ? found.back().uncut : std::numeric_limits<double>::infinity());
    }
    if (most >= least) continue;
    least = most;
    scales.cut = cut_of(params, found);
    best = std::move(scales);
  }
  return best;
}

}  // namespace

LatticeSlotPlan::LatticeSlotPlan(std::shared_ptr<const Params> params, const SlotSpec& spec,
                                 std::vector<SlotChunk> chunks, Scales scales)
    : SlotPlan(spec), params_(std::move(params)), chunks_(std::move(chunks)), scales_(std::move(scales)) {
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    operand_words_ += packed_words(params_->degree(), params_->moduli()[l].bits());
    reply_words_ += packed_words(params_->degree(), reply_bits(l));
  }
  digest_ = digest_of(describe());
}

std::shared_ptr<const LatticeSlotPlan> LatticeSlotPlan::choose(const std::vector<std::shared_ptr<const Params>>& sets,
                                                               const SlotSpec& spec) {
  std::shared_ptr<const LatticeSlotPlan> best;
  double least_error = std::numeric_limits<double>::infinity();
  for (const auto& params : sets) {
    auto chunks = slot_layout(sizes(*params, spec.values, spec.frequencies.size(), spec.functions.size()));
    auto scales = best_scales(*params, spec, chunks);
    if (!scales) continue;
    auto plan = std::make_shared<const LatticeSlotPlan>(params, spec, std::move(chunks), std::move(*scales));
    double error = 0;
    double largest_share = 0;
    for (std::size_t f = 0; f < scale_count(spec); ++f) {
      error = std::max(error, kDeviations * plan->deviation(f));
      largest_share = std::max(largest_share, plan->largest_share(f));
    }
    if (largest_share > std::ldexp(1.0, kLargestShare)) continue;
    least_error = std::min(least_error, error);
    if (error > (spec.error > 0 ? spec.error : 1)) continue;
    if (best && plan->operand_bytes() + plan->reply_bytes() >= best->operand_bytes() + best->reply_bytes()) continue;
    best = std::move(plan);
  }
  require<InvalidArgument>(
      best != nullptr, spec.describe(), ": with ", spec.run_replies,
      " replies in a run, of which none may wrap but with a chance of 2^-", kHidingOfRun, ", errors stay below ",
      least_error, " at best, and ", spec.error > 0 ? spec.error : 1.0,
      " was asked for. Allow a larger error, plan a shorter run, or fit with smaller coefficients");
  return best;
}

SlotSizes LatticeSlotPlan::sizes(const Params& params, std::size_t values, std::size_t frequencies,
                                 std::size_t functions) {
  SlotSizes sizes{.slots = params.degree() / 2, .values = values, .frequencies = frequencies, .functions = functions};
  for (const Modulus& m : params.moduli()) sizes.operand_bytes += packed_bytes(params.degree(), m.bits());
  sizes.reply_bytes = sizes.operand_bytes - sizes.operand_bytes / 5;
  return sizes;
}

const LatticeSlotPlan& LatticeSlotPlan::of(const SlotPlan& plan) {
  const auto* own = dynamic_cast<const LatticeSlotPlan*>(&plan);
  require<InvalidArgument>(own != nullptr, "a plan of another scheme");
  return *own;
}

double LatticeSlotPlan::unit(std::size_t function) const {
  return modulus_of(*params_) / (scales_.phases * scales_.factors[function]) * std::ldexp(1.0, spec().result_scale);
}

double LatticeSlotPlan::largest_share(std::size_t function) const {
  const Coefficients c = coefficients_of(spec(), chunks_, slots(), function);
  return unit(function) * 16 * std::sqrt(degree_of(*params_) / 8 * c.side_by_side);
}

std::uint64_t LatticeSlotPlan::operand_bytes() const {
  return PublicKey::bytes(*params_) + sizeof(Seed) + 8 * operand_words_ * operand_ciphertexts();
}

std::uint64_t LatticeSlotPlan::reply_bytes() const {
  return sizeof(KeyId) + 8 * reply_words_ * reply_ciphertexts();
}

double LatticeSlotPlan::deviation(std::size_t function) const {
  const Coefficients c = coefficients_of(spec(), chunks_, slots(), function);
  const Variances v = variances(*params_, spec(), c, scales_.phases, scales_.factors[function]);
  const double cut = scales_.cut == 0 ? 0 : v.cut_of_one * std::ldexp(1.0, 2 * (scales_.cut - 1));
  return std::sqrt(v.uncut + cut);
}

double LatticeSlotPlan::largest_error(std::size_t function) const {
  const Coefficients c = coefficients_of(spec(), chunks_, slots(), function);
  const double n = degree_of(*params_);
  const double phases = scales_.phases;
  const double factors = scales_.factors[function];
  const double error = Params::kErrorBound + 0.5;
  const double fresh = 2 * n * n * Params::kErrorBound * c.side_by_side / (phases * factors);
  const double crossed = n / 2 * n * error * c.terms / (phases * factors);
  const double cut =
      scales_.cut == 0 ? 0 : n * n * std::ldexp(1.0, scales_.cut - 1) * c.side_by_side / (phases * factors);
  // A hundredth for reals that are doubles.
  return 1.01 * (n * error * c.sum / phases + n / 2 * c.terms / factors + fresh + crossed + cut) +
         std::ldexp(1.0, -spec().result_scale);
}

namespace {

// Seconds for each residue on one core with IFMA, from bench_slots; docs/appendix/planner.md has how far they carry.
constexpr double kSlotKey = 10e-9;
constexpr double kSlotOperand = 5e-9;
constexpr double kSlotLoad = 0.5e-9;
constexpr double kSlotProduct = 3.5e-9;
constexpr double kSlotReply = 13e-9;
constexpr double kSlotOpen = 12.5e-9;

}  // namespace

ProductTimes LatticeSlotPlan::times() const {
  const auto residues = static_cast<double>(params_->degree() * params_->moduli().size());
  const auto operands = static_cast<double>(operand_ciphertexts());
  const auto replies = static_cast<double>(reply_ciphertexts());
  // Of an operand, what multiplies it is encoded for each reply that it is part of.
  const auto encoded = operands * (separate() ? 1.0 : static_cast<double>(spec().functions.size()));
  return {.encrypt = residues * (kSlotKey + operands * kSlotOperand),
          .load = 0,
          .multiply = residues * (kSlotKey + operands * kSlotLoad + encoded * kSlotProduct + replies * kSlotReply),
          .open = residues * replies * kSlotOpen};
}

double LatticeSlotPlan::wraps_of_run() const {
  double most = 0;
  for (std::size_t f = 0; f < scale_count(spec()); ++f) {
    most = std::max(
        most, wrap_chance(*params_, coefficients_of(spec(), chunks_, slots(), f), scales_.phases * scales_.factors[f]));
  }
  return most * static_cast<double>(replies_of_run(spec(), chunks_));
}

std::string LatticeSlotPlan::describe() const {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "slots 1, " << params_->describe() << "; " << spec().values << " values, scale " << spec().result_scale
       << ", run of " << spec().run_replies << " replies; cut " << scales_.cut << "; phases times " << std::hexfloat
       << scales_.phases << ", factors times";
  for (const double f : scales_.factors) text << " " << f;
  text << "; frequencies" << std::dec;
  for (const std::uint32_t m : spec().frequencies) text << " " << m;
  for (const auto& function : spec().functions) {
    text << "; function";
    for (const ComplexNumber& c : function) text << " " << c.re << " " << c.im;
  }
  return text.str();
}

Coin LatticeSlotPlan::bound(const Coin& coin) const {
  Bytes all = digest_;
  all.insert(all.end(), coin.begin(), coin.end());
  const Bytes digest = digest_of(all);
  Coin result;
  std::copy_n(digest.begin(), result.size(), result.begin());
  return result;
}

}  // namespace blindfl::he::lattice
