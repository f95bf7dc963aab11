#include "blindfl/he/lattice/key_owner.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

/// A tile's coefficients beyond these are zero.
std::size_t used_values(const Tiling& t) {
  return (t.inner * t.cols + 63) / 64 * 64;
}

}  // namespace

PlaintextEncoder::PlaintextEncoder(const Params& params) {
  for (const Modulus& m : params.moduli()) q_low_ *= m.value();
  for (const Modulus& m : params.moduli()) {
    const std::uint64_t minus = m.value() - m.inverse(m.power(2, 128));
    for (std::size_t k = 0; k < kPlanes; ++k) {
      factors_.push_back(m.to_montgomery(m.multiply(minus, m.power(2, kPlaneBits * k))));
    }
  }
}

LatticeKeyOwner::LatticeKeyOwner(std::shared_ptr<const Params> params, const Kernels& kernels, Random& random)
    : params_(std::move(params)), kernels_(kernels), key_(*params_, kernels, random), encoder_(*params_) {
  for (const Modulus& m : params_->moduli()) one_over_modulus_.push_back(Fraction::one_over(m.value()));
}

void LatticeKeyOwner::encode_tile(const Tiling& t, const ShareMatrix& m, std::size_t tile, Random& random,
                                  std::span<std::uint64_t> planes, std::span<std::int64_t> error) const {
  const std::size_t n = params_->degree();
  auto scratch = scratch_.lease(n);
  sample_error(kernels_, random, error, scratch.take(n));
  const std::size_t first_row = tile % t.inner_tiles * t.inner;
  const std::size_t rows = std::min(t.inner, m.rows() * t.limbs - first_row);
  const std::size_t first_col = tile / t.inner_tiles * t.cols;
  const std::size_t cols = std::min(t.cols, m.cols() - first_col);
  const std::size_t used = used_values(t);
  if (rows * cols < used) {
    for (std::size_t k = 0; k < PlaintextEncoder::kPlanes; ++k) {
      std::fill_n(planes.begin() + static_cast<std::ptrdiff_t>(k * n), used, 0);
    }
  }
  for (std::size_t j = 0; j < rows; ++j) {
    const int shift = t.limb_bits * static_cast<int>((first_row + j) % t.limbs);
    const auto row = m.row((first_row + j) / t.limbs).subspan(first_col, cols);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t position = c + t.cols * j;
      encoder_.planes(shift < 128 ? row[c] << shift : 0, planes.data() + position, n, error[position]);
    }
  }
}

void LatticeKeyOwner::encrypt_tile(const Tiling& t, std::size_t modulus, std::span<const std::uint64_t> planes,
                                   std::span<const std::int64_t> error, const Seed& seed, std::uint64_t* packed) const {
  const std::size_t n = params_->degree();
  const Modulus& m = params_->moduli()[modulus];
  auto scratch = scratch_.lease(3 * n, 3);
  const auto c0 = scratch.take(n);
  const auto a = scratch.take(n);
  KeyStream stream(seed);
  sample_uniform(kernels_, stream, m, a.data(), 64, scratch.take(n));
  kernels_.lift(c0.data(), error.data(), n, m);
  kernels_.accumulate(c0.data(), {encoder_.factors(modulus), 1, n, planes.data(), n, PlaintextEncoder::kPlanes},
                      used_values(t), m);
  kernels_.forward(c0.data(), m);
  kernels_.multiply_subtract(c0.data(), a.data(), key_.s.data() + modulus * n, n, m);
  kernels_.pack(packed, c0.data(), n, m.bits());
}

void LatticeKeyOwner::do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                                 ByteSink& out) const {
  const LatticePlan& p = LatticePlan::of(plan);
  const Tiling& t = p.tiling();
  const std::size_t n = params_->degree();
  const std::size_t moduli = params_->moduli().size();
  Seed seed;
  random.fill(seed);
  out.write(key_.id);
  out.write(seed);
  KeyStream seeds(seed);

  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  const std::size_t words = p.operand_tile_bytes() / 8;
  const std::size_t at_once = std::min(tiles_at_once(pool), tiles);
  auto scratch = scratch_.lease(at_once * (words + (PlaintextEncoder::kPlanes + 1) * n), 3);
  const auto packed = scratch.take(at_once * words);
  const auto planes = scratch.take(at_once * PlaintextEncoder::kPlanes * n);
  const auto errors = scratch.take_signed(at_once * n);
  const auto planes_of = [&](std::size_t i) {
    return planes.subspan(i * PlaintextEncoder::kPlanes * n, PlaintextEncoder::kPlanes * n);
  };
  std::vector<Seed> part_seeds(at_once * moduli);
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    std::vector<Random> randoms;
    for (std::size_t i = 0; i < count; ++i) randoms.push_back(random.fork());
    for (std::size_t i = 0; i < count * moduli; ++i) seeds.fill(part_seeds[i]);
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        encode_tile(t, m, first + i, randoms[i], planes_of(i), errors.subspan(i * n, n));
      }
    });
    pool.parallel_for(count * moduli, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t tile = i / moduli;
        encrypt_tile(t, i % moduli, planes_of(tile), errors.subspan(tile * n, n), part_seeds[i],
                     packed.data() + tile * words + p.word_offset(i % moduli));
      }
    });
    out.write(std::as_bytes(packed.first(count * words)));
  }
}

void LatticeKeyOwner::decrypt_part(std::size_t modulus, std::uint64_t* residues) const {
  const Modulus& m = params_->moduli()[modulus];
  kernels_.forward(residues, m);
  kernels_.multiply(residues, residues, key_.s_reply.data() + modulus * params_->degree(), params_->degree(), m);
  kernels_.inverse(residues, m, m.last_stage());
}

void LatticeKeyOwner::open_results(const Tiling& t, const LatticePlan::Area& area, std::span<const std::uint64_t> c1,
                                   std::span<const std::byte> results, ShareMatrix& opened) const {
  const std::size_t n = params_->degree();
  BufferSource in(results);
  for (std::size_t r = 0; r < area.rows; ++r) {
    const auto row = opened.row(area.first_row + r).subspan(area.first_col, area.cols);
    for (std::size_t c = 0; c < area.cols; ++c) {
      const std::uint8_t lowest = in.read_u8();
      UInt128 high = 0;
      in.read_u128(std::span(&high, 1));
      Fraction f = Fraction::of(high, static_cast<UInt128>(lowest) << 120);
      const std::size_t position = t.result_position(r, c);
      for (std::size_t l = 0; l < params_->kept(); ++l) f.add_multiple(c1[l * n + position], one_over_modulus_[l]);
      f += Fraction::of(0, static_cast<UInt128>(1) << 127);  // to the nearest
      row[c] = f.high();
    }
  }
}

ShareMatrix LatticeKeyOwner::do_open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan);
  const std::size_t n = params_->degree();
  const std::size_t kept = params_->kept();
  KeyId id;
  reply.read(id);
  require<ProtocolError>(id == key_.id, "a masked product is encrypted under a key that is not this party's");

  ShareMatrix opened(p.spec().rows, p.spec().cols, p.spec().result_scale());
  const std::vector<LatticePlan::Area> order = p.reply_order();
  const std::size_t words = p.reply_tile_bytes() / 8;
  const std::size_t at_once = std::min(tiles_at_once(pool), order.size());
  auto scratch = scratch_.lease(at_once * (words + kept * n), 2);
  const auto packed = scratch.take(at_once * words);
  const auto c1 = scratch.take(at_once * kept * n);
  std::vector<Bytes> results(at_once);
  for (std::size_t first = 0; first < order.size(); first += at_once) {
    const std::size_t count = std::min(at_once, order.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      reply.read(std::as_writable_bytes(packed.subspan(i * words, words)));
      results[i].resize(LatticePlan::kResultBytes * order[first + i].size());
      reply.read(results[i]);
    }
    pool.parallel_for(count * kept, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t* from = packed.data() + i / kept * words + p.word_offset(i % kept);
        unpack_residues(*params_, i % kept, kernels_, from, c1.data() + i * n, 64, "a masked product");
        decrypt_part(i % kept, c1.data() + i * n);
      }
    });
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        open_results(p.tiling(), order[first + i], c1.subspan(i * kept * n, kept * n), results[i], opened);
      }
    });
  }
  return opened;
}

}  // namespace blindfl::he::lattice
