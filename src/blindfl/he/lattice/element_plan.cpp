#include "blindfl/he/lattice/element_plan.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/plan.h"

namespace blindfl::he::lattice {

namespace {

constexpr double kErrorVariance = 10.5;
constexpr std::size_t kMostPrimes = 4;
constexpr int kLeastPrimeBits = 24;
constexpr int kMostPrimeBits = 49;
/// A digit keeps at least this many bits.
constexpr int kLeastDigit = 8;

double product_of(const Params& params) {
  double product = 1;
  for (const Modulus& m : params.moduli()) product *= static_cast<double>(m.value());
  return product;
}

double product_of(const std::vector<std::uint64_t>& primes) {
  double product = 1;
  for (const std::uint64_t t : primes) product *= static_cast<double>(t);
  return product;
}

/// Primes of q and of plaintexts must differ.
bool may_be_used(const Params& params, int bits) {
  return std::ranges::none_of(params.moduli(), [&](const Modulus& m) { return m.bits() == bits; });
}

}  // namespace

LatticeElementPlan::LatticeElementPlan(std::shared_ptr<const Params> params, const ElementSpec& spec,
                                       std::vector<std::uint64_t> primes)
    : ElementPlan(spec), params_(std::move(params)), primes_(std::move(primes)) {
  // What is cut off may add a quarter to the errors.
  int bits = 0;
  for (std::size_t l = 0; l + 1 < params_->moduli().size(); ++l) {
    const int whole = params_->moduli()[l].bits();
    if (mean_cut(bits + whole) > mean_error() / 4) break;
    bits += whole;
    ++dropped_;
  }
  while (cut_ + kLeastDigit < params_->moduli()[dropped_].bits() && mean_cut(bits + cut_ + 1) <= mean_error() / 4) {
    ++cut_;
  }
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    operand_words_ += packed_words(params_->degree(), params_->moduli()[l].bits());
    reply_words_ += packed_words(params_->degree(), reply_bits(l));
  }
}

std::shared_ptr<const LatticeElementPlan> LatticeElementPlan::choose(
    const std::vector<std::shared_ptr<const Params>>& sets, const ElementSpec& spec) {
  const double allowed = std::ldexp(1.0, -kHidingOfRun);
  std::shared_ptr<const LatticeElementPlan> best;
  double least = 1;
  const auto bytes = [](const LatticeElementPlan& p) { return p.operand_bytes() + p.reply_bytes(); };
  for (const auto& params : sets) {
    for (std::size_t count = 1; count <= kMostPrimes; ++count) {
      // The shortest that hold the results: longer ones would only have larger errors.
      for (int bits = kLeastPrimeBits; bits <= kMostPrimeBits; ++bits) {
        if (static_cast<int>(count) * bits < 2 * spec.ring_bits || !may_be_used(*params, bits)) continue;
        auto plan =
            std::make_shared<const LatticeElementPlan>(params, spec, largest_primes(bits, count, params->degree()));
        if (plan->lift_failures() > allowed * 3 / 4) continue;
        least = std::min(least, plan->failures_of_run());
        if (plan->failures_of_run() <= allowed && (!best || bytes(*plan) < bytes(*best))) best = std::move(plan);
        break;
      }
    }
  }
  require<InvalidArgument>(best != nullptr, spec.describe(), ": in a run of ", spec.run_values,
                           " values one would be wrong with a chance of ", least, " at best, and 2^-", kHidingOfRun,
                           " is allowed. Plan a shorter run or take a smaller ring");
  return best;
}

const LatticeElementPlan& LatticeElementPlan::of(const ElementPlan& plan) {
  const auto* own = dynamic_cast<const LatticeElementPlan*>(&plan);
  require<InvalidArgument>(own != nullptr, "a plan of another scheme");
  return *own;
}

int LatticeElementPlan::reply_bits(std::size_t modulus) const {
  if (modulus < dropped_) return 0;
  return params_->moduli()[modulus].bits() - (modulus == dropped_ ? cut_ : 0);
}

std::uint64_t LatticeElementPlan::operand_bytes() const {
  return PublicKey::bytes(*params_) + sizeof(Seed) + 8 * operand_words_ * terms() * primes_.size() * chunks();
}

std::uint64_t LatticeElementPlan::reply_bytes() const {
  return sizeof(KeyId) + 8 * reply_words_ * primes_.size() * chunks();
}

namespace {

// Seconds for each residue, and for each value, on one core with IFMA, from bench_slots; docs/appendix/planner.md has
// how far they carry.
constexpr double kElementKey = 10e-9;
constexpr double kElementOperand = 5.4e-9;
constexpr double kElementProduct = 4e-9;
constexpr double kElementReply = 15e-9;
constexpr double kElementOpen = 11.7e-9;
constexpr double kElementValue = 10e-9;

}  // namespace

ProductTimes LatticeElementPlan::times() const {
  const auto residues = static_cast<double>(params_->degree() * params_->moduli().size());
  const auto replies = static_cast<double>(primes_.size() * chunks());
  const auto operands = static_cast<double>(terms()) * replies;
  const auto values = static_cast<double>(spec().values());
  return {.encrypt = residues * (kElementKey + operands * kElementOperand),
          .load = 0,
          .multiply =
              residues * (kElementKey + operands * kElementProduct + replies * kElementReply) + values * kElementValue,
          .open = residues * replies * kElementOpen + values * kElementValue};
}

double LatticeElementPlan::run_values() const {
  return static_cast<double>(std::max<std::uint64_t>(spec().run_values, spec().values()));
}

double LatticeElementPlan::mean_error() const {
  const auto n = static_cast<double>(params_->degree());
  const auto t = static_cast<double>(primes_.front());
  const double fresh = std::sqrt(2 * n * kErrorVariance * n * 2 / 3);
  const auto products = static_cast<double>(terms());
  return t / 2 * std::sqrt(products * n * kErrorVariance) + products * n * t / 4 + fresh;
}

double LatticeElementPlan::mean_cut(int bits) const {
  return bits == 0 ? 0 : std::ldexp(std::sqrt(static_cast<double>(params_->degree()) / 18), bits);
}

double LatticeElementPlan::rounding_failures() const {
  int bits = cut_;
  for (std::size_t l = 0; l < dropped_; ++l) bits += params_->moduli()[l].bits();
  const auto n = static_cast<double>(params_->degree());
  const double one = (mean_error() + mean_cut(bits)) * static_cast<double>(primes_.front()) / product_of(*params_);
  // A chunk that is not full costs as much as one that is.
  const double chunks = run_values() / static_cast<double>(spec().values()) * static_cast<double>(this->chunks());
  return one * n * chunks * static_cast<double>(primes_.size());
}

double LatticeElementPlan::lift_failures() const {
  return run_values() * std::ldexp(1.0, 2 * spec().ring_bits - 1) / product_of(primes_);
}

std::string LatticeElementPlan::modulus_name() const {
  std::string name = params_->name();
  for (const std::uint64_t t : primes_) {
    name += ' ';
    name += std::to_string(t);
  }
  return name;
}

std::string LatticeElementPlan::describe() const {
  return "elements 1, " + params_->describe() + "; plaintexts modulo " + modulus_name() + "; " +
         std::to_string(spec().rows) + "x" + std::to_string(spec().cols) + " values modulo 2^" +
         std::to_string(spec().ring_bits) + "; dropped " + std::to_string(dropped_) + ", cut " + std::to_string(cut_);
}

Coin LatticeElementPlan::bound(const Coin& coin) const {
  Bytes all = digest_of(describe());
  all.insert(all.end(), coin.begin(), coin.end());
  const Bytes digest = digest_of(all);
  Coin result;
  std::copy_n(digest.begin(), result.size(), result.begin());
  return result;
}

}  // namespace blindfl::he::lattice
