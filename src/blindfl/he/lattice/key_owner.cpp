#include "blindfl/he/lattice/key_owner.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/sampler.h"
#include "blindfl/he/lattice/share_rounding.h"

namespace blindfl::he::lattice {

namespace {

/// At most so many tiles are encrypted ahead: 21 MB of the largest parameters.
constexpr std::size_t kMostZeros = 64;

/// A tile's coefficients beyond these are zero.
std::size_t used_values(const Tiling& t) {
  return (t.inner * t.cols + 63) / 64 * 64;
}

}  // namespace

PlaintextEncoder::PlaintextEncoder(const Params& params, int ring_bits)
    : ring_bits_(ring_bits), planes_((static_cast<std::size_t>(ring_bits) + kPlaneBits - 1) / kPlaneBits) {
  for (const Modulus& m : params.moduli()) q_low_ *= m.value();
  for (const Modulus& m : params.moduli()) {
    const std::uint64_t minus = m.value() - m.inverse(m.power(2, static_cast<std::uint64_t>(ring_bits)));
    for (std::size_t k = 0; k < planes_; ++k) {
      factors_.push_back(m.to_montgomery(m.multiply(minus, m.power(2, kPlaneBits * k))));
    }
  }
}

LatticeKeyOwner::LatticeKeyOwner(std::shared_ptr<const Params> params, const Kernels& kernels, const Coin& coin,
                                 Random& random)
    : params_(std::move(params)),
      kernels_(kernels),
      key_(*params_, kernels, coin, random),
      sparse_(params_->moduli().size(), [this](std::size_t l, std::size_t stride) {
        // The secret is in Montgomery form.
        const Modulus& m = params_->moduli()[l];
        const std::size_t n = params_->degree();
        return SparseInverse(m, stride, m.one_over_radix().value[0], std::span(key_.s_reply).subspan(l * n, n));
      }) {
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    const Modulus& m = params_->moduli()[l];
    one_over_modulus_.push_back(Fraction::one_over(m.value()));
    radix_.emplace_back();
    for (std::size_t k = 0; k < l; ++k) radix_[l].push_back(m.to_montgomery(params_->moduli()[k].value() % m.value()));
  }
}

void LatticeKeyOwner::expect(const Plan& plan) const {
  const Tiling& t = LatticePlan::of(plan, *params_).tiling();
  const std::lock_guard lock(mutex_);
  std::size_t room = kMostZeros;
  for (const Expected& operand : expected_) room -= operand.tiles;
  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  if (tiles <= room) expected_.push_back({tiles, std::nullopt});
}

// Under the lock: tiles are made in the order of the seed's stream.
bool LatticeKeyOwner::prepare() const {
  const std::lock_guard lock(mutex_);
  const auto incomplete = [](const Expected& operand) {
    return !operand.zeros || operand.zeros->tiles.size() < operand.tiles;
  };
  const auto next = std::ranges::find_if(expected_, incomplete);
  if (next == expected_.end()) return false;
  if (!next->zeros) {
    Seed seed;
    zeros_random_.fill(seed);
    next->zeros.emplace(EncryptedZeros{seed, KeyStream(seed), {}});
  }
  next->zeros->tiles.push_back(encrypt_zero(next->zeros->seeds, zeros_random_));
  return true;
}

LatticeKeyOwner::EncryptedZero LatticeKeyOwner::encrypt_zero(KeyStream& seeds, Random& random) const {
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  auto scratch = scratch_.lease(n);
  const auto words = scratch.take(n);
  auto lease = scratch_.lease((moduli + 1) * n, 2);
  const auto mask = lease.take(moduli * n);
  const auto error = lease.take_signed(n);
  sample_error(kernels_, random, error, words);
  for (std::size_t l = 0; l < moduli; ++l) {
    const Modulus& m = params_->moduli()[l];
    std::uint64_t* a = mask.data() + l * n;
    Seed seed;
    seeds.fill(seed);
    KeyStream stream(seed);
    sample_uniform(kernels_, stream, m, a, 64, words);
    kernels_.multiply(a, a, key_.s.data() + l * n, n, m);
  }
  return {std::move(lease), mask, error};
}

std::optional<LatticeKeyOwner::EncryptedZeros> LatticeKeyOwner::take_zeros(std::size_t tiles) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      expected_, [&](const Expected& operand) { return operand.tiles == tiles && operand.zeros.has_value(); });
  if (found == expected_.end()) return std::nullopt;
  return std::exchange(found->zeros, std::nullopt);
}

void LatticeKeyOwner::encode_tile(const Tiling& t, const PlaintextEncoder& encoder, const ShareMatrix& m,
                                  std::size_t tile, const EncodedTile& encoded) const {
  const std::size_t n = params_->degree();
  const std::size_t first_row = tile % t.inner_tiles * t.inner;
  const std::size_t rows = std::min(t.inner, m.rows() - first_row);
  const std::size_t first_col = tile / t.inner_tiles * t.cols;
  const std::size_t cols = std::min(t.cols, m.cols() - first_col);
  const std::size_t used = used_values(t);
  if (rows * cols < used) {
    for (std::size_t k = 0; k < encoder.planes(); ++k) {
      std::fill_n(encoded.planes.begin() + static_cast<std::ptrdiff_t>(k * n), used, 0);
    }
  }
  for (std::size_t j = 0; j < rows; ++j) {
    const auto row = m.row(first_row + j).subspan(first_col, cols);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t position = c + t.cols * j;
      encoder.encode(row[c], encoded.planes.data() + position, n, encoded.error[position]);
    }
  }
}

void LatticeKeyOwner::transform_plaintext(const Tiling& t, const PlaintextEncoder& encoder, std::size_t modulus,
                                          const EncodedTile& encoded, std::uint64_t* c0) const {
  const std::size_t n = params_->degree();
  const Modulus& m = params_->moduli()[modulus];
  kernels_.lift(c0, encoded.error.data(), n, m);
  kernels_.accumulate(
      c0, {encoder.factors(modulus), 1, n, encoded.planes.data(), n, encoder.planes(), PlaintextEncoder::kPlaneBits},
      used_values(t), m);
  kernels_.forward(c0, m);
}

void LatticeKeyOwner::encrypt_tile(const Tiling& t, const PlaintextEncoder& encoder, std::size_t modulus,
                                   const EncodedTile& encoded, const Seed& seed, std::uint64_t* packed) const {
  const std::size_t n = params_->degree();
  const Modulus& m = params_->moduli()[modulus];
  auto scratch = scratch_.lease(3 * n, 3);
  const auto c0 = scratch.take(n);
  const auto a = scratch.take(n);
  KeyStream stream(seed);
  sample_uniform(kernels_, stream, m, a.data(), 64, scratch.take(n));
  transform_plaintext(t, encoder, modulus, encoded, c0.data());
  kernels_.multiply_subtract(c0.data(), a.data(), key_.s.data() + modulus * n, n, m);
  kernels_.pack(packed, c0.data(), n, m.bits());
}

void LatticeKeyOwner::encrypt_under(const std::uint64_t* mask, const Tiling& t, const PlaintextEncoder& encoder,
                                    std::size_t modulus, const EncodedTile& encoded, std::uint64_t* packed) const {
  const std::size_t n = params_->degree();
  const Modulus& m = params_->moduli()[modulus];
  auto scratch = scratch_.lease(n);
  const auto c0 = scratch.take(n);
  transform_plaintext(t, encoder, modulus, encoded, c0.data());
  kernels_.subtract(c0.data(), mask + modulus * n, n, m);
  kernels_.pack(packed, c0.data(), n, m.bits());
}

void LatticeKeyOwner::do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                                 ByteSink& out) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const Tiling& t = p.tiling();
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  const PlaintextEncoder encoder(*params_, p.spec().ring_bits);
  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  const std::optional<EncryptedZeros> zeros = take_zeros(tiles);
  Seed seed;
  if (zeros) {
    seed = zeros->seed;
  } else {
    random.fill(seed);
  }
  const std::size_t ready = zeros ? zeros->tiles.size() : 0;
  out.write(key_.id);
  out.write(seed);
  KeyStream seeds(seed);

  const std::size_t words = p.operand_tile_bytes() / 8;
  const std::size_t at_once = std::min(tiles_at_once(pool), tiles);
  auto scratch = scratch_.lease(at_once * (words + (encoder.planes() + 1) * n), 3);
  const auto packed = scratch.take(at_once * words);
  const auto planes = scratch.take(at_once * encoder.planes() * n);
  const auto errors = scratch.take_signed(at_once * n);
  const auto encoded = [&](std::size_t i) {
    return EncodedTile{planes.subspan(i * encoder.planes() * n, encoder.planes() * n), errors.subspan(i * n, n)};
  };
  std::vector<Seed> part_seeds(at_once * moduli);
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    std::vector<Random> randoms;
    for (std::size_t i = 0; i < count; ++i) randoms.push_back(random.fork());
    for (std::size_t i = 0; i < count * moduli; ++i) seeds.fill(part_seeds[i]);
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      auto lease = scratch_.lease(n);
      const auto random_words = lease.take(n);
      for (std::size_t i = begin; i < end; ++i) {
        const EncodedTile tile = encoded(i);
        if (first + i < ready) {
          std::ranges::copy(zeros->tiles[first + i].error, tile.error.begin());
        } else {
          sample_error(kernels_, randoms[i], tile.error, random_words);
        }
        encode_tile(t, encoder, m, first + i, tile);
      }
    });
    pool.parallel_for(count * moduli, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t tile = i / moduli;
        std::uint64_t* to = packed.data() + tile * words + p.operand_offset(i % moduli);
        if (first + tile < ready) {
          encrypt_under(zeros->tiles[first + tile].mask.data(), t, encoder, i % moduli, encoded(tile), to);
        } else {
          encrypt_tile(t, encoder, i % moduli, encoded(tile), part_seeds[i], to);
        }
      }
    });
    out.write(std::as_bytes(packed.first(count * words)));
  }
}

void LatticeKeyOwner::read_digits(const LatticePlan& plan, const std::uint64_t* packed, std::uint64_t* digits) const {
  const std::size_t n = params_->degree();
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    const int bits = plan.reply_bits(l);
    std::uint64_t* digit = digits + l * n;
    if (bits == 0) {
      // It counts as 0, and the middle of what is cut off the next makes up for both.
      std::fill_n(digit, n, 0);
      continue;
    }
    const int cut = plan.cut_of(l);
    const std::uint64_t largest = params_->moduli()[l].value() - 1;
    const bool below = kernels_.unpack(digit, 64, packed + plan.reply_offset(l), n, bits, (largest >> cut) + 1);
    require<ProtocolError>(below, "a reply has a digit that is not below its modulus");
    if (cut == 0) continue;
    // The middle of what was cut off, and still a residue.
    const std::uint64_t half = std::uint64_t{1} << (cut - 1);
    for (std::size_t i = 0; i < n; ++i) digit[i] = std::min((digit[i] << cut) + half, largest);
  }
}

void LatticeKeyOwner::decrypt_part(const LatticePlan& plan, std::size_t modulus, const std::uint64_t* digits,
                                   std::uint64_t* residues) const {
  const std::size_t n = params_->degree();
  const Modulus& m = params_->moduli()[modulus];
  if (plan.reply_bits(modulus) == 0) {
    // The other digits stand for multiples of this prime.
    std::fill_n(residues, n, 0);
    return;
  }
  const bool sparse = plan.tiling().sparse_results(n);
  auto scratch = scratch_.lease(n);
  std::uint64_t* c1 = sparse ? scratch.take(n).data() : residues;
  // Horner's rule. Digits above this prime's own are multiples of it.
  std::copy_n(digits + modulus * n, n, c1);
  for (std::size_t k = modulus; k-- > 0;) kernels_.multiply_add(c1, radix_[modulus][k], digits + k * n, n, m);
  kernels_.forward(c1, m);
  if (sparse) {
    kernels_.inverse_sparse(residues, c1, sparse_.of(plan.tiling().inner)[modulus], m);
    return;
  }
  kernels_.multiply(c1, c1, key_.s_reply.data() + modulus * n, n, m);
  kernels_.inverse(c1, m, m.last_stage());
}

// c1 s / q, with noise, in units of 2^-t. What this party encrypts again under the same key hence has nothing of the
// key in it: it is X M minus the other's share, plus this noise.
void LatticeKeyOwner::open_results(const LatticePlan& plan, const LatticePlan::Area& area,
                                   std::span<const std::uint64_t> parts, Random& random, ShareMatrix& share) const {
  const TileParts opened{parts.data(), params_->degree()};
  round_results(kernels_, one_over_modulus_, plan, area, opened, noise_, random, scratch_, share);
}

ShareMatrix LatticeKeyOwner::do_open(const Plan& plan, ByteSource& reply, Random& random, ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan, *params_);
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  KeyId id;
  reply.read(id);
  require<ProtocolError>(id == key_.id, "a masked product is encrypted under a key that is not this party's");

  ShareMatrix share(p.spec().rows, p.spec().cols, p.spec().result_scale(), p.spec().ring_bits);
  const std::vector<LatticePlan::Area> order = p.reply_order();
  const std::size_t words = p.reply_tile_bytes() / 8;
  const std::size_t at_once = std::min(tiles_at_once(pool), order.size());
  auto scratch = scratch_.lease(at_once * (words + 2 * moduli * n), 3);
  const auto packed = scratch.take(at_once * words);
  const auto digits = scratch.take(at_once * moduli * n);
  const auto parts = scratch.take(at_once * moduli * n);
  for (std::size_t first = 0; first < order.size(); first += at_once) {
    const std::size_t count = std::min(at_once, order.size() - first);
    reply.read(std::as_writable_bytes(packed.first(count * words)));
    std::vector<Random> randoms;
    for (std::size_t i = 0; i < count; ++i) randoms.push_back(random.fork());
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        read_digits(p, packed.data() + i * words, digits.data() + i * moduli * n);
      }
    });
    pool.parallel_for(count * moduli, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        decrypt_part(p, i % moduli, digits.data() + i / moduli * moduli * n, parts.data() + i * n);
      }
    });
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        open_results(p, order[first + i], parts.subspan(i * moduli * n, moduli * n), randoms[i], share);
      }
    });
  }
  return share;
}

}  // namespace blindfl::he::lattice
