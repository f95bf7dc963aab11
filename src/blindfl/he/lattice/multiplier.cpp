#include "blindfl/he/lattice/multiplier.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/sampler.h"
#include "blindfl/he/lattice/share_rounding.h"

namespace blindfl::he::lattice {

namespace {

/// At most this many are kept ready: 17 MB of the largest parameters.
constexpr std::size_t kLargestStock = 64;

/// Replies whose products are added up together: an encrypted matrix is read once for all of them, and one polynomial
/// of each fits into a core's cache. They are sent together, too, and the peer opens them while the next ones are made.
constexpr std::size_t kTogether = 2;
/// More where there are many: reading an encrypted matrix larger than the caches takes longer than multiplying by it.
constexpr std::size_t kMostTogether = 8;

std::size_t replies_together(const Tiling& t) {
  return std::clamp(t.row_tiles / 8, kTogether, kMostTogether);
}

constexpr LeftOperand::Run kNoTiles{0, 0, 0};

}  // namespace

LatticeMultiplier::LatticeMultiplier(std::shared_ptr<const Params> params, const Kernels& kernels, const Coin& coin,
                                     ByteView public_key)
    : params_(std::move(params)),
      kernels_(kernels),
      key_(*params_, kernels, coin, public_key),
      sparse_(params_->moduli().size(), [this](std::size_t l, std::size_t stride) {
        return SparseInverse(params_->moduli()[l], stride, params_->moduli()[l].to_montgomery(crt_[l]));
      }) {
  const auto& moduli = params_->moduli();
  for (std::size_t l = 0; l < moduli.size(); ++l) {
    const Modulus& m = moduli[l];
    crt_.push_back(params_->one_over_others(l));
    const std::vector<std::uint64_t>& last = m.last_stage_times_radix().value;
    kept_stage_.push_back(m.factors({m.multiply(last[0], crt_.back()), m.multiply(last[1], crt_.back())}));
    one_over_modulus_.push_back(Fraction::one_over(m.value()));
    one_over_radix_.emplace_back();
    for (std::size_t k = 0; k < l; ++k) {
      one_over_radix_[l].push_back(m.to_montgomery(m.inverse(moduli[k].value() % m.value())));
    }
  }
}

std::unique_ptr<const Operand> LatticeMultiplier::do_load(const Plan& plan, ByteSource& in, ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const Tiling& t = p.tiling();
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  KeyId id;
  in.read(id);
  require<ProtocolError>(id == key_.id, "an encrypted matrix is encrypted under a key that is not the peer's");
  Seed seed;
  in.read(seed);
  KeyStream seeds(seed);
  auto operand = std::make_unique<LatticeOperand>(*params_, p, operand_memory_);

  const std::size_t words = p.operand_tile_bytes() / 8;
  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  const std::size_t at_once = std::min(tiles_at_once(pool), tiles);
  auto scratch = scratch_.lease(at_once * words);
  const auto packed = scratch.take(at_once * words);
  std::vector<Seed> part_seeds(at_once * moduli);
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    in.read(std::as_writable_bytes(packed.first(count * words)));
    for (std::size_t i = 0; i < count * moduli; ++i) seeds.fill(part_seeds[i]);
    pool.parallel_for(count * moduli, 1, [&](std::size_t begin, std::size_t end) {
      auto lease = scratch_.lease(n);
      const auto random_words = lease.take(n);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t l = i % moduli;
        const std::size_t inner_tile = (first + i / moduli) % t.inner_tiles;
        const std::size_t col_tile = (first + i / moduli) / t.inner_tiles;
        std::uint64_t* c0 = operand->values.data() + operand->offset(l, 0, col_tile, 0) + inner_tile * kBlock;
        std::uint64_t* c1 = operand->values.data() + operand->offset(l, 0, col_tile, 1) + inner_tile * kBlock;
        unpack_residues(*params_, l, kernels_, packed.data() + i / moduli * words + p.operand_offset(l), c0,
                        operand->block_stride(), "an encrypted matrix");
        KeyStream stream(part_seeds[i]);
        sample_uniform(kernels_, stream, params_->moduli()[l], c1, operand->block_stride(), random_words);
      }
    });
  }
  return operand;
}

LatticeMultiplier::Randomizer LatticeMultiplier::make_randomizer(Random random) const {
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  auto lease = scratch_.lease(moduli * stride());
  const auto u = lease.take(moduli * stride());
  auto scratch = scratch_.lease(2 * n, 2);
  const auto small = scratch.take_signed(n);
  sample_ternary(kernels_, random, small, scratch.take(n));
  if (!fresh_encryption_) std::fill(small.begin(), small.end(), 0);
  for (std::size_t l = 0; l < moduli; ++l) {
    kernels_.lift(u.data() + l * stride(), small.data(), n, params_->moduli()[l]);
    kernels_.forward(u.data() + l * stride(), params_->moduli()[l]);
  }
  return {std::move(lease), u, std::move(random)};
}

void LatticeMultiplier::expect(const Plan& plan) const {
  const Tiling& t = LatticePlan::of(plan, *params_).tiling();
  const std::lock_guard lock(mutex_);
  stock_target_ = std::min(kLargestStock, stock_target_ + t.row_tiles * t.col_tiles);
}

bool LatticeMultiplier::prepare() const {
  std::unique_lock lock(mutex_);
  if (stock_.size() >= stock_target_) return false;
  Random random = stock_random_.fork();
  lock.unlock();
  Randomizer made = make_randomizer(std::move(random));
  lock.lock();
  stock_.push_back(std::move(made));
  return true;
}

std::vector<LatticeMultiplier::Randomizer> LatticeMultiplier::take_randomizers(std::size_t count, Random& random,
                                                                               ThreadPool& pool) const {
  std::vector<Randomizer> taken;
  {
    const std::lock_guard lock(mutex_);
    for (; !stock_.empty() && taken.size() < count; stock_.pop_back()) taken.push_back(std::move(stock_.back()));
  }
  std::vector<Random> randoms;
  for (std::size_t i = 0; i < count; ++i) randoms.push_back(random.fork());
  std::vector<std::optional<Randomizer>> made(count - taken.size());
  pool.parallel_for(made.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) made[i].emplace(make_randomizer(std::move(randoms[taken.size() + i])));
  });
  for (auto& randomizer : made) taken.push_back(std::move(*randomizer));
  return taken;
}

// For each row tile, a fresh encryption of zero, (b u, a u), plus the sum of its tiles' products, as coefficients;
// those of the first component times the inverse of q / q_l, as numerators over q_l. Fresh for every reply: without it,
// the key's owner would solve for the private matrix.
LatticeMultiplier::Replies LatticeMultiplier::products(const LeftOperand& left, const LatticeOperand& right,
                                                       std::size_t first_row, std::size_t col_tile,
                                                       const std::vector<Randomizer>& randomizers, const Tiling& tiling,
                                                       ThreadPool& pool) const {
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  Replies replies{scratch_.lease(randomizers.size() * 2 * moduli * stride()), {}, randomizers.size()};
  replies.values = replies.lease.take(randomizers.size() * 2 * moduli * stride());
  const SparseTables::Table* table = tiling.sparse_results(n) ? &sparse_.of(tiling.inner) : nullptr;
  // One modulus and component of a few replies at a time: their polynomials stay in the cache for the transform.
  // And several such pieces for each thread.
  const std::size_t shares = 3 * pool.size();
  const std::size_t together = std::min(replies_together(tiling), (replies.count * 2 * moduli + shares - 1) / shares);
  const std::size_t pieces = (replies.count + together - 1) / together;
  pool.parallel_for(pieces * 2 * moduli, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t l = i / 2 / pieces;
      const std::size_t c = i / pieces % 2;
      const std::size_t first = i % pieces * together;
      const std::size_t last = std::min(first + together, replies.count);
      const Modulus& m = params_->moduli()[l];
      const std::uint64_t* key = (c == 0 ? key_.b : key_.a).data() + l * n;
      for (std::size_t block = 0; block < right.blocks; ++block) {
        const std::uint64_t* tiles = right.values.data() + right.offset(l, block, col_tile, c);
        for (std::size_t r = first; r < last; ++r) {
          std::uint64_t* out = component(reply(replies, r), c, l) + block * kBlock;
          const std::uint64_t* u = randomizers[r].values.data() + l * stride() + block * kBlock;
          const std::uint64_t* x = left.values(l, block, first_row + r);
          const auto terms = [&](const LeftOperand::Run& run) {
            return Terms{x + run.first_slot * left.stride(),
                         left.stride(),
                         kBlock / left.stride(),
                         tiles + run.first_tile * kBlock,
                         kBlock,
                         run.count,
                         0};
          };
          const std::vector<LeftOperand::Run>& runs = left.runs(first_row + r);
          kernels_.multiply_accumulate(out, u, key + block * kBlock, terms(runs.empty() ? kNoTiles : runs.front()),
                                       kBlock, m);
          for (std::size_t i = 1; i < runs.size(); ++i) kernels_.accumulate(out, terms(runs[i]), kBlock, m);
        }
      }
      for (std::size_t r = first; r < last; ++r) {
        std::uint64_t* polynomial = component(reply(replies, r), c, l);
        if (c == 0 && table != nullptr) {
          auto scratch = scratch_.lease(n);
          const auto copy = scratch.take(n);
          std::copy_n(polynomial, n, copy.begin());
          kernels_.inverse_sparse(polynomial, copy.data(), (*table)[l], m);
        } else {
          kernels_.inverse(polynomial, m, c == 0 ? kept_stage_[l] : m.last_stage_times_radix());
        }
      }
    }
  });
  return replies;
}

// The error of the fresh encryption's second component. The first has none: it does not leave this party.
void LatticeMultiplier::add_error(Reply reply, Random& random) const {
  const std::size_t n = params_->degree();
  auto scratch = scratch_.lease(2 * n, 2);
  const auto error = scratch.take_signed(n);
  sample_error(kernels_, random, error, scratch.take(n));
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    kernels_.add_small(component(reply, 1, l), error.data(), n, params_->moduli()[l]);
  }
}

// c0 / q where results stand, with noise, in units of 2^-t.
void LatticeMultiplier::keep_results(Reply reply, const LatticePlan& plan, const LatticePlan::Area& area,
                                     Random& random, ShareMatrix& share) const {
  const TileParts kept{component(reply, 0, 0), stride()};
  round_results(kernels_, one_over_modulus_, plan, area, kept, noise_, random, scratch_, share);
}

void LatticeMultiplier::write_tile(Reply reply, const LatticePlan& plan, std::uint64_t* out) const {
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  for (std::size_t l = 1; l < moduli; ++l) {
    for (std::size_t k = 0; k < l; ++k) {
      kernels_.subtract_divide(component(reply, 1, l), component(reply, 1, k), one_over_radix_[l][k], n,
                               params_->moduli()[l]);
    }
  }
  for (std::size_t l = 0; l < moduli; ++l) {
    const int bits = plan.reply_bits(l);
    if (bits == 0) continue;
    // What is cut off is cut, not rounded, so that a digit keeps its width; the receiver adds half of it.
    std::uint64_t* digit = component(reply, 1, l);
    if (const int cut = plan.cut_of(l); cut > 0) {
      for (std::size_t i = 0; i < n; ++i) digit[i] >>= cut;
    }
    kernels_.pack(out + plan.reply_offset(l), digit, n, bits);
  }
}

namespace {

struct PreparedLeft final : LeftMatrix {
  PreparedLeft(const LatticePlan& plan, const Kernels& kernels, const IntMatrix& x, ThreadPool& pool,
               ScratchPool& scratch)
      : tiling(plan.tiling()), tiles(plan.params(), kernels, tiling, x, 0, tiling.row_tiles, pool, scratch) {}
  Tiling tiling;
  LeftOperand tiles;
};

/// The most that is prepared, as numbers: 16 MB. A larger matrix is made group by group, when it is its turn.
constexpr std::size_t kMostPrepared = std::size_t{1} << 21;

}  // namespace

std::unique_ptr<const LeftMatrix> LatticeMultiplier::do_prepare_left(const Plan& plan, const IntMatrix& x,
                                                                     ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const Tiling& t = p.tiling();
  const std::size_t numbers = params_->degree() / t.repeats() * params_->moduli().size();
  if (t.row_tiles > kMostPrepared / numbers / t.inner_tiles) return nullptr;
  return std::make_unique<PreparedLeft>(p, kernels_, x, pool, scratch_);
}

ShareMatrix LatticeMultiplier::do_multiply_prepared(const Plan& plan, const LeftMatrix& left, const Operand& operand,
                                                    Random& random, ThreadPool& pool, ByteSink& out) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const auto* prepared = dynamic_cast<const PreparedLeft*>(&left);
  require<InvalidArgument>(prepared != nullptr && prepared->tiling == p.tiling(), "product of ", p.spec().describe(),
                           ": the left matrix was prepared for another plan");
  const auto all = [&](std::size_t /*first*/, std::size_t /*count*/) -> const LeftOperand& { return prepared->tiles; };
  return multiply_rows(p, all, /*whole=*/true, operand, random, pool, out);
}

ShareMatrix LatticeMultiplier::do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                           Random& /*masks*/, ThreadPool& pool, ByteSink& out) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const auto rows = [&](std::size_t first, std::size_t count) {
    return LeftOperand(*params_, kernels_, p.tiling(), x, first, count, pool, scratch_);
  };
  return multiply_rows(p, rows, /*whole=*/false, operand, random, pool, out);
}

template <class Left>
ShareMatrix LatticeMultiplier::multiply_rows(const LatticePlan& plan, const Left& left, bool whole,
                                             const Operand& operand, Random& random, ThreadPool& pool,
                                             ByteSink& out) const {
  const Tiling& t = plan.tiling();
  const auto* right = dynamic_cast<const LatticeOperand*>(&operand);
  require<InvalidArgument>(right != nullptr && right->layout == plan.operand_layout(), "product of ",
                           plan.spec().describe(), ": the operand was loaded for another layout");
  out.write(key_.id);
  ShareMatrix share(plan.spec().rows, plan.spec().cols, plan.spec().result_scale(), plan.spec().ring_bits);
  const std::size_t words = plan.reply_tile_bytes() / 8;
  const std::size_t at_once =
      std::min({std::max(replies_together(t), pool.size()), LatticePlan::kRowGroup, t.row_tiles});
  auto scratch = scratch_.lease(words * at_once);
  const auto finished = scratch.take(words * at_once);

  for (std::size_t first = 0; first < t.row_tiles; first += LatticePlan::kRowGroup) {
    const std::size_t count = std::min(LatticePlan::kRowGroup, t.row_tiles - first);
    const LeftOperand& tiles = left(first, count);
    for (std::size_t col_tile = 0; col_tile < t.col_tiles; ++col_tile) {
      for (std::size_t done = 0; done < count; done += at_once) {
        const std::size_t now = std::min(at_once, count - done);
        auto randomizers = take_randomizers(now, random, pool);
        const auto replies = products(tiles, *right, (whole ? first : 0) + done, col_tile, randomizers, t, pool);
        pool.parallel_for(now, 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t r = begin; r < end; ++r) {
            Random& rest = randomizers[r].rest;
            add_error(reply(replies, r), rest);
            keep_results(reply(replies, r), plan, plan.area(first + done + r, col_tile), rest, share);
            write_tile(reply(replies, r), plan, finished.data() + r * words);
          }
        });
        out.write(std::as_bytes(finished.first(now * words)));
      }
    }
  }
  return share;
}

}  // namespace blindfl::he::lattice
