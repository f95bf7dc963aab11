#include "blindfl/he/lattice/lattice_plan.h"

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"

namespace blindfl::he::lattice {

namespace {

// Of tilings: picoseconds for each residue on one core with IFMA, measured roughly, the same everywhere by decree.
constexpr std::uint64_t kOperandCost = 4'300;
constexpr std::uint64_t kReplyCost = 8'400;
constexpr std::uint64_t kProductCost = 800;
constexpr std::uint64_t kLeftCost = 2'400;
constexpr std::uint64_t kByteCost = 800;  // 10 Gbit/s

/// 128 bits, because products of 2^40 values in tiles of one column have that many ciphertexts.
UInt128 cost_of(const LatticePlan& plan) {
  const Tiling& t = plan.tiling();
  const UInt128 residues = UInt128{plan.params().degree()} * plan.params().moduli().size();
  const UInt128 replies = UInt128{t.row_tiles} * t.col_tiles;
  return (UInt128{plan.operand_bytes()} + plan.reply_bytes()) * kByteCost +
         residues * (UInt128{t.inner_tiles} * t.col_tiles * kOperandCost +
                     replies * (kReplyCost + UInt128{t.inner_tiles} * kProductCost) +
                     UInt128{t.row_tiles} * t.inner_tiles * kLeftCost / t.repeats());
}

}  // namespace

LatticePlan::LatticePlan(std::shared_ptr<const Params> params, const ProductSpec& spec, const Tiling& tiling,
                         const NoiseBudget& budget)
    : Plan(spec), params_(std::move(params)), tiling_(tiling), budget_(budget) {
  // An operand is encrypted modulo q, but encoded for the ring.
  layout_ =
      "lattice " + params_->name() + " modulo 2^" + std::to_string(spec.ring_bits) + ", " + tiling_.operand_layout();
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    operand_offsets_.push_back(operand_tile_ / 8);
    operand_tile_ += packed_bytes(params_->degree(), params_->moduli()[l].bits());
    reply_offsets_.push_back(reply_tile_ / 8);
    reply_tile_ += packed_bytes(params_->degree(), reply_bits(l));
  }
}

std::shared_ptr<const LatticePlan> LatticePlan::choose(const std::vector<std::shared_ptr<const Params>>& sets,
                                                       const ProductSpec& spec) {
  std::shared_ptr<const LatticePlan> best;
  UInt128 least = 0;
  for (const auto& params : sets) {
    for (const Tiling& tiling : tilings(params->degree(), spec)) {
      NoiseBudget budget;
      if (!find_budget(*params, tiling, spec, budget)) continue;
      auto plan = std::make_shared<const LatticePlan>(params, spec, tiling, budget);
      const UInt128 cost = cost_of(*plan);
      if (best && cost >= least) continue;
      least = cost;
      best = std::move(plan);
    }
  }
  require<InvalidArgument>(best != nullptr, "product of ", spec.describe(),
                           ": no parameters of the lattice scheme hide a run with so many values to 2^-", kHidingOfRun,
                           ". Lower the range of the left values or of the results, or allow more noise");
  return best;
}

const LatticePlan& LatticePlan::of(const Plan& plan, const Params& params) {
  const auto* own = dynamic_cast<const LatticePlan*>(&plan);
  require<InvalidArgument>(own != nullptr, "a plan of another scheme");
  require<InvalidArgument>(own->params().name() == params.name(), "a plan for keys of the set ", own->params().name(),
                           ", and these are of ", params.name());
  return *own;
}

std::vector<LatticePlan::Area> LatticePlan::reply_order() const {
  std::vector<Area> order;
  for (std::size_t first = 0; first < tiling_.row_tiles; first += kRowGroup) {
    for (std::size_t col_tile = 0; col_tile < tiling_.col_tiles; ++col_tile) {
      for (std::size_t r = first; r < std::min(first + kRowGroup, tiling_.row_tiles); ++r) {
        order.push_back(area(r, col_tile));
      }
    }
  }
  return order;
}

Exposure LatticePlan::exposure_of_value() const {
  const double nu = nu_deviation(*params_, tiling_, spec());
  const double cut = cut_deviation(*params_, spec(), budget_.cut);
  return {0, divergence(std::hypot(nu, cut), budget_.noise_word), spec().lift_failure()};
}

double LatticePlan::largest_error() const {
  return lattice::largest_error(*params_, tiling_, spec(), budget_);
}

namespace {

// Seconds for each residue on one core with IFMA, from bench_plan; docs/appendix/planner.md has how far they carry.
constexpr double kEncryptResidue = 3.8e-9;
constexpr double kLoadResidue = 1.6e-9;
constexpr double kReplyResidue = 6.3e-9;
constexpr double kReplyResult = 0.015e-6;
constexpr double kProductResidue = 0.45e-9;
constexpr double kRunResidue = 6.0e-9;  // tiles between empty ones, where most are: memory is read in small pieces
constexpr double kLeftResidue = 2.4e-9;
constexpr double kColumn = 1e-9;  // for each group of replies
constexpr double kOpenResidue = 3.6e-9;
constexpr double kOpenResult = 0.015e-6;

}  // namespace

ProductTimes LatticePlan::times(double nonzeros) const {
  const Tiling& t = tiling_;
  const auto residues = static_cast<double>(params_->degree() * params_->moduli().size());
  const auto operands = static_cast<double>(t.inner_tiles * t.col_tiles);
  const auto replies = static_cast<double>(t.row_tiles * t.col_tiles);
  const double results = static_cast<double>(spec().rows) * static_cast<double>(spec().cols);
  // A tile of X is skipped only if all of it is 0; those left stand alone the more, the fewer they are.
  const auto left_tiles = static_cast<double>(t.row_tiles * t.inner_tiles);
  const double all = static_cast<double>(spec().rows) * static_cast<double>(spec().inner);
  const double filled = nonzeros >= all ? 1.0 : -std::expm1(-nonzeros / left_tiles);
  const double alone = std::pow(1.0 - filled, 4);
  const double tile = static_cast<double>(t.col_tiles) * (kProductResidue + alone * kRunResidue) +
                      kLeftResidue / static_cast<double>(t.repeats());
  const double groups = std::ceil(static_cast<double>(t.row_tiles) / static_cast<double>(kRowGroup));
  return {.encrypt = operands * residues * kEncryptResidue,
          .load = operands * residues * kLoadResidue,
          .multiply = replies * residues * kReplyResidue + results * kReplyResult +
                      left_tiles * filled * residues * tile + groups * static_cast<double>(spec().inner) * kColumn,
          .open = replies * residues * kOpenResidue + results * kOpenResult};
}

std::uint64_t LatticePlan::operand_memory() const {
  return static_cast<std::uint64_t>(tiling_.inner_tiles) * tiling_.col_tiles * 2 * params_->moduli().size() *
         params_->degree() * sizeof(std::uint64_t);
}

}  // namespace blindfl::he::lattice
