#include "blindfl/he/lattice/key_owner.h"

#include <algorithm>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

/// How a plaintext m becomes round(q m / 2^128) modulo each prime, without big numbers: with r = q m modulo 2^128, it
/// is (q m - r) / 2^128 + (r >> 127), and modulo a prime of q that is -r / 2^128 + (r >> 127).
class PlaintextEncoder {
 public:
  static constexpr int kPlaneBits = 43;  // three planes make 128 bits, and each is small enough for a lazy product
  static constexpr std::size_t kPlanes = 3;

  explicit PlaintextEncoder(const Params& params) {
    for (const Modulus& m : params.moduli()) q_low_ *= m.value();
    for (const Modulus& m : params.moduli()) {
      const std::uint64_t minus = m.value() - m.inverse(m.power(2, 128));
      for (std::size_t k = 0; k < kPlanes; ++k) {
        factors_.push_back(m.to_montgomery(m.multiply(minus, m.power(2, kPlaneBits * k))));
      }
    }
  }

  /// r in planes, and its top bit.
  void planes(UInt128 plaintext, std::uint64_t* plane, std::size_t stride, std::int64_t& rounding) const {
    const UInt128 r = plaintext * q_low_;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPlaneBits) - 1;
    for (std::size_t k = 0; k < kPlanes; ++k) plane[k * stride] = low64(r >> (kPlaneBits * k)) & kMask;
    rounding += static_cast<std::int64_t>(r >> 127);
  }
  [[nodiscard]] const std::uint64_t* factors(std::size_t modulus) const { return factors_.data() + kPlanes * modulus; }

 private:
  UInt128 q_low_ = 1;
  std::vector<std::uint64_t> factors_;
};

class LatticeKeyOwner final : public KeyOwner {
 public:
  LatticeKeyOwner(std::shared_ptr<const Params> params, const Kernels& kernels, Random& random)
      : params_(std::move(params)), kernels_(kernels), key_(*params_, kernels, random), encoder_(*params_) {}

  [[nodiscard]] Bytes public_key() const override { return key_.public_key; }

 private:
  void do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                  ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const override;

  [[nodiscard]] std::vector<std::uint64_t> encrypt_tile(const Tiling& t, const ShareMatrix& m, std::size_t inner_tile,
                                                        std::size_t col_tile, const Seed& seed, Random& random) const;
  void open_tile(const LatticePlan& plan, std::size_t row_tile, std::size_t col_tile,
                 std::span<const std::uint64_t> packed, std::span<const std::byte> results, ShareMatrix& opened) const;

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  SecretKey key_;
  PlaintextEncoder encoder_;
};

std::vector<std::uint64_t> LatticeKeyOwner::encrypt_tile(const Tiling& t, const ShareMatrix& m, std::size_t inner_tile,
                                                         std::size_t col_tile, const Seed& seed, Random& random) const {
  const std::size_t n = params_->degree();
  constexpr std::size_t kPlanes = PlaintextEncoder::kPlanes;
  AlignedSecret<std::uint64_t> planes(kPlanes * n);
  AlignedSecret<std::int64_t> error(n);
  sample_error(random, error);
  std::size_t used = 0;
  for (std::size_t j = 0; j < t.inner; ++j) {
    const std::size_t row = inner_tile * t.inner + j;
    if (row >= m.rows() * t.limbs) break;
    const int shift = t.limb_bits * static_cast<int>(row % t.limbs);
    for (std::size_t c = 0; c < t.cols && col_tile * t.cols + c < m.cols(); ++c) {
      const UInt128 value = shift < 128 ? m.row(row / t.limbs)[col_tile * t.cols + c] << shift : 0;
      const std::size_t position = c + t.cols * j;
      encoder_.planes(value, planes.data() + position, n, error[position]);
      used = std::max(used, position + 1);
    }
  }
  used = (used + 63) / 64 * 64;

  KeyStream stream(seed);
  std::vector<std::uint64_t> packed;
  SecretResidues c0(n);
  Residues a(n);
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    const Modulus& modulus = params_->moduli()[l];
    lift(error, modulus, c0);
    kernels_.accumulate(c0.data(), {encoder_.factors(l), 1, n, planes.data(), n, kPlanes}, used, modulus);
    kernels_.forward(c0.data(), modulus);
    sample_uniform(stream, modulus, a);
    kernels_.multiply_subtract(c0.data(), a.data(), key_.s.data() + l * n, n, modulus);
    const std::size_t words = packed_bytes(n, modulus.bits()) / 8;
    packed.resize(packed.size() + words);
    pack(c0, modulus.bits(), std::span(packed).last(words));
  }
  return packed;
}

void LatticeKeyOwner::do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                                 ByteSink& out) const {
  const Tiling& t = LatticePlan::of(plan).tiling();
  Seed seed;
  random.fill(seed);
  out.write(key_.id);
  out.write(seed);
  KeyStream seeds(seed);  // one seed for each tile, so that tiles can be made in any order
  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  const std::size_t at_once = 4 * pool.size();
  std::vector<std::vector<std::uint64_t>> made(at_once);
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    std::vector<Seed> tile_seeds(count);
    std::vector<Random> randoms;
    for (Seed& s : tile_seeds) {
      seeds.fill(s);
      randoms.push_back(random.fork());
    }
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t tile = first + i;
        made[i] = encrypt_tile(t, m, tile % t.inner_tiles, tile / t.inner_tiles, tile_seeds[i], randoms[i]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) out.write(std::as_bytes(std::span(made[i])));
  }
}

void LatticeKeyOwner::open_tile(const LatticePlan& plan, std::size_t row_tile, std::size_t col_tile,
                                std::span<const std::uint64_t> packed, std::span<const std::byte> results,
                                ShareMatrix& opened) const {
  const Tiling& t = plan.tiling();
  const std::size_t n = params_->degree();
  SecretResidues c1(params_->kept() * n);
  for (std::size_t l = 0; l < params_->kept(); ++l) {
    const Modulus& modulus = params_->moduli()[l];
    const auto residues = std::span(c1).subspan(l * n, n);
    const std::size_t words = packed_bytes(n, modulus.bits()) / 8;
    unpack(packed.first(words), modulus.bits(), residues);
    packed = packed.subspan(words);
    check_residues(modulus, residues, "a masked product");
    kernels_.forward(residues.data(), modulus);
    kernels_.multiply(residues.data(), residues.data(), key_.s_reply.data() + l * n, n, modulus);
    kernels_.inverse(residues.data(), modulus);
  }
  std::vector<Fraction> over;
  for (std::size_t l = 0; l < params_->kept(); ++l) over.push_back(Fraction::one_over(params_->moduli()[l].value()));

  const std::size_t rows = std::min(t.rows, opened.rows() - row_tile * t.rows);
  const std::size_t cols = std::min(t.cols, opened.cols() - col_tile * t.cols);
  BufferSource in(results);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      const std::uint8_t lowest = in.read_u8();
      UInt128 high = 0;
      in.read_u128(std::span(&high, 1));
      Fraction f = Fraction::of(high, static_cast<UInt128>(lowest) << 120);
      const std::size_t position = t.result_position(r, c);
      for (std::size_t l = 0; l < params_->kept(); ++l) f.add_multiple(c1[l * n + position], over[l]);
      f += Fraction::of(0, static_cast<UInt128>(1) << 127);  // to the nearest
      opened.row(row_tile * t.rows + r)[col_tile * t.cols + c] = f.high();
    }
  }
}

ShareMatrix LatticeKeyOwner::do_open(const Plan& plan, ByteSource& reply, ThreadPool& pool) const {
  const LatticePlan& p = LatticePlan::of(plan);
  const Tiling& t = p.tiling();
  KeyId id;
  reply.read(id);
  require<ProtocolError>(id == key_.id, "a masked product is encrypted under a key that is not this party's");

  ShareMatrix opened(p.spec().rows, p.spec().cols, p.spec().result_scale());
  const std::size_t words = p.reply_tile_bytes() / 8;
  const std::size_t tiles = t.row_tiles * t.col_tiles;
  const std::size_t at_once = 4 * pool.size();
  std::vector<std::vector<std::uint64_t>> packed(at_once, std::vector<std::uint64_t>(words));
  std::vector<Bytes> results(at_once);
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row_tile = (first + i) % t.row_tiles;
      const std::size_t col_tile = (first + i) / t.row_tiles;
      reply.read(std::as_writable_bytes(std::span(packed[i])));
      results[i].resize(LatticePlan::kResultBytes * std::min(t.rows, opened.rows() - row_tile * t.rows) *
                        std::min(t.cols, opened.cols() - col_tile * t.cols));
      reply.read(results[i]);
    }
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        open_tile(p, (first + i) % t.row_tiles, (first + i) / t.row_tiles, packed[i], results[i], opened);
      }
    });
  }
  return opened;
}

}  // namespace

std::unique_ptr<KeyOwner> make_key_owner(std::shared_ptr<const Params> params, const Kernels& kernels, Random& random) {
  return std::make_unique<LatticeKeyOwner>(std::move(params), kernels, random);
}

}  // namespace blindfl::he::lattice
