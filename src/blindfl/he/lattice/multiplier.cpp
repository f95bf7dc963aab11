#include "blindfl/he/lattice/multiplier.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

/// At most this many are kept ready: 21 MB at the shipped parameters.
constexpr std::size_t kLargestStock = 64;

/// Replies whose products are added up together: an encrypted matrix is read once for all of them, and one polynomial
/// of each fits into a core's cache.
constexpr std::size_t kTogether = 8;

constexpr LeftOperand::Run kNoTiles{0, 0, 0};

}  // namespace

LatticeMultiplier::LatticeMultiplier(std::shared_ptr<const Params> params, const Kernels& kernels, ByteView public_key)
    : params_(std::move(params)), kernels_(kernels), key_(*params_, kernels, public_key) {
  const auto& moduli = params_->moduli();
  for (std::size_t l = 0; l < moduli.size(); ++l) {
    const Modulus& m = moduli[l];
    crt_.push_back(params_->one_over_others(l, moduli.size()));
    crt_quotient_.push_back(static_cast<std::uint64_t>((static_cast<UInt128>(crt_.back()) << 64) / m.value()));
    one_over_modulus_.push_back(Fraction::one_over(m.value()));
    one_over_dropped_.emplace_back();
    for (std::size_t d = std::max(l + 1, params_->kept()); d < moduli.size(); ++d) {
      one_over_dropped_[l].push_back(m.to_montgomery(m.inverse(moduli[d].value() % m.value())));
    }
  }
}

std::unique_ptr<const Operand> LatticeMultiplier::do_load(const Plan& plan, ByteSource& in, ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan);
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
        unpack_residues(*params_, l, kernels_, packed.data() + i / moduli * words + p.word_offset(l), c0,
                        operand->block_stride(), "an encrypted matrix");
        KeyStream stream(part_seeds[i]);
        sample_uniform(kernels_, stream, params_->moduli()[l], c1, operand->block_stride(), random_words);
      }
    });
  }
  return operand;
}

LatticeMultiplier::Randomizer LatticeMultiplier::make_randomizer(Random& random) const {
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
  return {std::move(lease), u};
}

void LatticeMultiplier::expect(const Plan& plan) const {
  const Tiling& t = LatticePlan::of(plan).tiling();
  const std::lock_guard lock(mutex_);
  stock_target_ = std::min(kLargestStock, stock_target_ + t.row_tiles * t.col_tiles);
}

bool LatticeMultiplier::prepare() const {
  std::unique_lock lock(mutex_);
  if (stock_.size() >= stock_target_) return false;
  Random random = stock_random_.fork();
  lock.unlock();
  Randomizer made = make_randomizer(random);
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
  std::vector<std::optional<Randomizer>> made(count - taken.size());
  for (std::size_t i = 0; i < made.size(); ++i) randoms.push_back(random.fork());
  pool.parallel_for(made.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) made[i].emplace(make_randomizer(randoms[i]));
  });
  for (auto& randomizer : made) taken.push_back(std::move(*randomizer));
  return taken;
}

// For each row tile, a fresh encryption of zero, (b u, a u), plus the sum of its tiles' products, as coefficients.
// Fresh for every reply: without it, the key's owner would solve for the private matrix.
LatticeMultiplier::Replies LatticeMultiplier::products(const LeftOperand& left, const LatticeOperand& right,
                                                       std::size_t col_tile, const std::vector<Randomizer>& randomizers,
                                                       ThreadPool& pool) const {
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  Replies replies{scratch_.lease(randomizers.size() * 2 * moduli * stride()), {}, randomizers.size()};
  replies.values = replies.lease.take(randomizers.size() * 2 * moduli * stride());
  // One modulus and component of a few replies at a time: their polynomials stay in the cache for the transform.
  const std::size_t together = std::min(kTogether, (replies.count * 2 * moduli + pool.size() - 1) / pool.size());
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
          const std::uint64_t* x = left.values(l, block, r);
          const auto terms = [&](const LeftOperand::Run& run) {
            return Terms{x + run.first_slot * left.stride(), left.stride(), kBlock / left.stride(),
                         tiles + run.first_tile * kBlock,    kBlock,        run.count};
          };
          const std::vector<LeftOperand::Run>& runs = left.runs(r);
          kernels_.multiply_accumulate(out, u, key + block * kBlock, terms(runs.empty() ? kNoTiles : runs.front()),
                                       kBlock, m);
          for (std::size_t i = 1; i < runs.size(); ++i) kernels_.accumulate(out, terms(runs[i]), kBlock, m);
        }
      }
      for (std::size_t r = first; r < last; ++r) {
        kernels_.inverse(component(reply(replies, r), c, l), m, m.last_stage_times_radix());
      }
    }
  });
  return replies;
}

// The error of the fresh encryption's second component. That of the first is the flooding.
void LatticeMultiplier::add_error(Reply reply, Random& random) const {
  const std::size_t n = params_->degree();
  auto scratch = scratch_.lease(2 * n, 2);
  const auto error = scratch.take_signed(n);
  sample_error(kernels_, random, error, scratch.take(n));
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    kernels_.add_small(component(reply, 1, l), error.data(), n, params_->moduli()[l]);
  }
}

// The first component where results stand, as fractions of q, with masks and flooding added exactly: what is rounded
// off later depends on nothing but their sum.
void LatticeMultiplier::mask_results(Reply reply, const Tiling& t, const LatticePlan::Area& area, TileRandom& random,
                                     ShareMatrix& share, std::span<Fraction> results) const {
  const auto& moduli = params_->moduli();
  SecretVector<UInt128> masks(area.size());
  random.masks.fill_integers(std::span(masks));
  SecretVector<UInt128> floods(area.size());
  random.noise.fill_integers(std::span(floods));
  if (!flooding_) std::fill(floods.begin(), floods.end(), 0);
  for (std::size_t r = 0; r < area.rows; ++r) {
    const auto kept = share.row(area.first_row + r).subspan(area.first_col, area.cols);
    for (std::size_t c = 0; c < area.cols; ++c) {
      const std::size_t i = r * area.cols + c;
      const std::size_t position = t.result_position(r, c);
      Fraction f;
      for (std::size_t l = 0; l < moduli.size(); ++l) {
        const std::uint64_t q = moduli[l].value();
        const std::uint64_t c0 = component(reply, 0, l)[position];
        const std::uint64_t y = c0 * crt_[l] - high64(static_cast<UInt128>(c0) * crt_quotient_[l]) * q;
        f.add_multiple(std::min(y, y - q), one_over_modulus_[l]);
      }
      // Uniform in [-2^-130, 2^-130).
      const auto flood = static_cast<Int128>(floods[i]) >> (Params::kFloodExponent - 129);
      f += Fraction::of(masks[i] + static_cast<UInt128>(flood >> 127), static_cast<UInt128>(flood));
      results[i] = f;
      kept[c] = 0 - masks[i];
    }
  }
}

// Divides the second component by the dropped primes, rounding, and the results to 136 bits.
void LatticeMultiplier::write_tile(Reply reply, std::span<const Fraction> results, const LatticePlan& plan,
                                   std::span<std::uint64_t> out) const {
  const std::size_t n = params_->degree();
  const auto& moduli = params_->moduli();
  for (std::size_t d = moduli.size() - 1; d >= params_->kept(); --d) {
    for (std::size_t l = 0; l < d; ++l) {
      const std::uint64_t one_over = one_over_dropped_[l][d - std::max(l + 1, params_->kept())];
      kernels_.divide(component(reply, 1, l), component(reply, 1, d), moduli[d], one_over, n, moduli[l]);
    }
  }
  for (std::size_t l = 0; l < params_->kept(); ++l) {
    kernels_.pack(out.data() + plan.word_offset(l), component(reply, 1, l), n, moduli[l].bits());
  }
  std::byte* to = std::as_writable_bytes(out).data() + plan.reply_tile_bytes();
  for (const Fraction& exact : results) {
    Fraction f = exact;
    f += Fraction::of(0, static_cast<UInt128>(1) << 119);
    const UInt128 high = f.high();
    *to = static_cast<std::byte>(f.low() >> 120);
    std::memcpy(to + 1, &high, sizeof high);
    to += LatticePlan::kResultBytes;
  }
}

ShareMatrix LatticeMultiplier::do_multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                    Random& random, Random& masks, ThreadPool& pool,
                                                    ByteSink& out) const {
  const LatticePlan& p = LatticePlan::of(plan);
  const Tiling& t = p.tiling();
  const auto* right = dynamic_cast<const LatticeOperand*>(&operand);
  require<InvalidArgument>(right != nullptr && right->layout == p.operand_layout(), "product of ", p.spec().describe(),
                           ": the operand was loaded for another layout");
  out.write(key_.id);
  ShareMatrix share(p.spec().rows, p.spec().cols, p.spec().result_scale());
  const std::size_t tile_words = (p.reply_tile_bytes() + LatticePlan::kResultBytes * t.rows * t.cols + 63) / 64 * 8;
  auto scratch = scratch_.lease(tile_words * std::min(LatticePlan::kRowGroup, t.row_tiles));
  const auto finished = scratch.take(tile_words * std::min(LatticePlan::kRowGroup, t.row_tiles));

  for (std::size_t first = 0; first < t.row_tiles; first += LatticePlan::kRowGroup) {
    const std::size_t count = std::min(LatticePlan::kRowGroup, t.row_tiles - first);
    const LeftOperand left(*params_, kernels_, t, x, first, count, pool, scratch_);
    for (std::size_t col_tile = 0; col_tile < t.col_tiles; ++col_tile) {
      const auto replies = products(left, *right, col_tile, take_randomizers(count, random, pool), pool);
      std::vector<TileRandom> randoms;
      for (std::size_t r = 0; r < count; ++r) randoms.push_back({random.fork(), masks.fork()});
      pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
          const LatticePlan::Area area = p.area(first + r, col_tile);
          SecretVector<Fraction> results(area.size());
          add_error(reply(replies, r), randoms[r].noise);
          mask_results(reply(replies, r), t, area, randoms[r], share, results);
          write_tile(reply(replies, r), results, p, finished.subspan(r * tile_words, tile_words));
        }
      });
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t bytes = p.reply_tile_bytes() + LatticePlan::kResultBytes * p.area(first + r, col_tile).size();
        out.write(std::as_bytes(finished.subspan(r * tile_words, tile_words)).first(bytes));
      }
    }
  }
  return share;
}

}  // namespace blindfl::he::lattice
