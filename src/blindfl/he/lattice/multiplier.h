#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/left_operand.h"
#include "blindfl/he/lattice/scratch.h"
#include "blindfl/he/lattice/sparse_tables.h"

namespace blindfl::he::lattice {

/// The encrypted matrix, block-major: for each modulus, column tile and component, and each block of 64 positions, the
/// tiles' 64 values one after the other, so that inner products read memory in order.
struct LatticeOperand final : Operand {
  LatticeOperand(const Params& params, const LatticePlan& plan, std::shared_ptr<ScratchPool> memory)
      : layout(plan.operand_layout()),
        inner_tiles(plan.tiling().inner_tiles),
        col_tiles(plan.tiling().col_tiles),
        blocks(params.degree() / kBlock),
        pool(std::move(memory)),
        lease(pool->lease(offset(params.moduli().size(), 0, 0, 0))),
        values(lease.take(offset(params.moduli().size(), 0, 0, 0))) {}

  [[nodiscard]] std::size_t offset(std::size_t modulus, std::size_t block, std::size_t col_tile,
                                   std::size_t component) const {
    return (((modulus * col_tiles + col_tile) * 2 + component) * blocks + block) * block_stride();
  }
  [[nodiscard]] std::size_t block_stride() const { return inner_tiles * kBlock; }

  std::string layout;
  std::size_t inner_tiles;
  std::size_t col_tiles;
  std::size_t blocks;
  std::shared_ptr<ScratchPool> pool;
  ScratchPool::Lease lease;
  std::span<std::uint64_t> values;
};

class LatticeMultiplier final : public Multiplier {
 public:
  /// Throws ProtocolError if the bytes are not a public key of these parameters.
  LatticeMultiplier(std::shared_ptr<const Params> params, const Kernels& kernels, const Coin& coin,
                    ByteView public_key);

  void expect(const Plan& plan) const override;
  bool prepare() const override;

 private:
  friend struct MultiplierProbe;  // tests of noise and of circuit privacy define it

  /// A fresh ternary polynomial, transformed: what re-randomises one reply, and no second one.
  struct Randomizer {
    ScratchPool::Lease lease;
    std::span<std::uint64_t> values;  ///< modulus after modulus
    Random rest;                      ///< for the same reply's error and noise, so that all three are fresh, or none
  };
  struct Replies {
    ScratchPool::Lease lease;
    std::span<std::uint64_t> values;
    std::size_t count;
  };
  using Reply = std::span<std::uint64_t>;  ///< component after component, modulus after modulus

  [[nodiscard]] std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                       ThreadPool& pool) const override;
  [[nodiscard]] std::unique_ptr<const LeftMatrix> do_prepare_left(const Plan& plan, const IntMatrix& x,
                                                                  ThreadPool& pool) const override;
  [[nodiscard]] ShareMatrix do_multiply_prepared(const Plan& plan, const LeftMatrix& left, const Operand& operand,
                                                 Random& random, ThreadPool& pool, ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                        Random& masks, ThreadPool& pool, ByteSink& out) const override;

  // Polynomials stand a little further apart than their size: see ScratchPool::kGap.
  [[nodiscard]] std::size_t stride() const { return params_->degree() + ScratchPool::kGap; }
  [[nodiscard]] Reply reply(const Replies& replies, std::size_t index) const {
    const std::size_t size = 2 * params_->moduli().size() * stride();
    return replies.values.subspan(index * size, size);
  }
  [[nodiscard]] std::uint64_t* component(Reply reply, std::size_t which, std::size_t modulus) const {
    return reply.data() + (which * params_->moduli().size() + modulus) * stride();
  }
  [[nodiscard]] Randomizer make_randomizer(Random random) const;
  /// What was made ahead comes first. Reply i's own stream is fork i of `random` in any case: if `random` repeats, no
  /// stream serves another reply than before.
  [[nodiscard]] std::vector<Randomizer> take_randomizers(std::size_t count, Random& random, ThreadPool& pool) const;
  /// All of a product. `left(first, count)` gives so many row tiles, or all of them, `whole`.
  template <class Left>
  [[nodiscard]] ShareMatrix multiply_rows(const LatticePlan& plan, const Left& left, bool whole, const Operand& operand,
                                          Random& random, ThreadPool& pool, ByteSink& out) const;
  /// Of the rows from `first_row` of `left` on, one for each randomizer.
  [[nodiscard]] Replies products(const LeftOperand& left, const LatticeOperand& right, std::size_t first_row,
                                 std::size_t col_tile, const std::vector<Randomizer>& randomizers, const Tiling& tiling,
                                 ThreadPool& pool) const;
  void add_error(Reply reply, Random& random) const;
  /// This party's share of a tile's results: the first component, which never leaves it.
  void keep_results(Reply reply, const LatticePlan& plan, const LatticePlan::Area& area, Random& random,
                    ShareMatrix& share) const;
  /// The second component as digits, the lowest cut.
  void write_tile(Reply reply, const LatticePlan& plan, std::uint64_t* out) const;

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  PublicKey key_;
  /// For turning residues into fractions: the inverse of q / q_l modulo q_l, which the inverse transform of what is
  /// kept multiplies by in its last stage, and 1 / q_l.
  std::vector<std::uint64_t> crt_;
  std::vector<Modulus::Factors> kept_stage_;
  std::vector<Fraction> one_over_modulus_;
  /// 2^52 / q_k modulo q_l, for k < l.
  std::vector<std::vector<std::uint64_t>> one_over_radix_;
  // Only tests switch them off, to see that something is missed.
  bool fresh_encryption_ = true;
  bool noise_ = true;

  mutable SparseTables sparse_;
  mutable ScratchPool scratch_;
  std::shared_ptr<ScratchPool> operand_memory_ = std::make_shared<ScratchPool>();
  mutable std::mutex mutex_;  // of what follows
  mutable Random stock_random_;
  mutable std::size_t stock_target_ = 0;
  mutable std::vector<Randomizer> stock_;
};

}  // namespace blindfl::he::lattice
