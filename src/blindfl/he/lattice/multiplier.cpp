#include "blindfl/he/lattice/multiplier.h"

#include <algorithm>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/left_operand.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

namespace {

/// The encrypted matrix, block-major: for each modulus, block of 64 positions, column tile and component, the tiles' 64
/// values one after the other, so that an inner product reads memory in order.
struct LatticeOperand final : Operand {
  LatticeOperand(const Params& params, const Tiling& t)
      : layout(t.operand_layout()),
        inner_tiles(t.inner_tiles),
        col_tiles(t.col_tiles),
        blocks(params.degree() / kBlock),
        values(params.moduli().size() * blocks * t.col_tiles * 2 * t.inner_tiles * kBlock) {}

  [[nodiscard]] std::size_t offset(std::size_t modulus, std::size_t block, std::size_t col_tile,
                                   std::size_t component) const {
    return (((modulus * blocks + block) * col_tiles + col_tile) * 2 + component) * inner_tiles * kBlock;
  }
  void put(std::size_t modulus, std::size_t col_tile, std::size_t component, std::size_t inner_tile,
           std::span<const std::uint64_t> polynomial) {
    for (std::size_t block = 0; block < blocks; ++block) {
      std::copy_n(polynomial.begin() + static_cast<std::ptrdiff_t>(block * kBlock), kBlock,
                  values.begin() +
                      static_cast<std::ptrdiff_t>(offset(modulus, block, col_tile, component) + inner_tile * kBlock));
    }
  }

  std::string layout;
  std::size_t inner_tiles;
  std::size_t col_tiles;
  std::size_t blocks;
  Residues values;
};

/// Constants for turning residues into fractions and for dropping primes.
struct Conversions {
  explicit Conversions(const Params& params) {
    const auto& moduli = params.moduli();
    for (const Modulus& m : moduli) {
      std::uint64_t others = 1;
      for (const Modulus& k : moduli) {
        if (&k != &m) others = m.multiply(others, k.value() % m.value());
      }
      const std::uint64_t factor = m.inverse(others);
      crt.push_back(factor);
      crt_quotient.push_back(static_cast<std::uint64_t>((static_cast<UInt128>(factor) << 64) / m.value()));
      over.push_back(Fraction::one_over(m.value()));
    }
  }
  std::vector<std::uint64_t> crt;
  std::vector<std::uint64_t> crt_quotient;
  std::vector<Fraction> over;
};

class LatticeMultiplier final : public Multiplier {
 public:
  LatticeMultiplier(std::shared_ptr<const Params> params, const Kernels& kernels, ByteView public_key)
      : params_(std::move(params)), kernels_(kernels), key_(*params_, public_key), conversions_(*params_) {}

 private:
  [[nodiscard]] std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                       ThreadPool& pool) const override;
  [[nodiscard]] ShareMatrix do_multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                 Random& random, ThreadPool& pool, ByteSink& reply) const override;

  /// One reply's polynomials, component after component, modulus after modulus.
  using Reply = Residues;
  [[nodiscard]] std::uint64_t* component(Reply& r, std::size_t which, std::size_t modulus) const {
    return r.data() + (which * params_->moduli().size() + modulus) * params_->degree();
  }
  [[nodiscard]] Reply encryption_of_zero(Random& random) const;
  void add_products(const LeftOperand& left, const LatticeOperand& right, std::size_t col_tile,
                    std::size_t first_row_tile, std::vector<Reply>& replies, ThreadPool& pool) const;
  [[nodiscard]] Bytes finish(Reply& r, const Tiling& t, std::size_t rows, std::size_t cols, Random& random,
                             std::span<UInt128> masks) const;
  void drop_primes(Reply& r) const;

  std::shared_ptr<const Params> params_;
  const Kernels& kernels_;
  PublicKey key_;
  Conversions conversions_;
};

std::unique_ptr<const Operand> LatticeMultiplier::do_load(const Plan& plan, ByteSource& in, ThreadPool& pool) const {
  const Tiling& t = LatticePlan::of(plan).tiling();
  const std::size_t n = params_->degree();
  KeyId id;
  in.read(id);
  require<ProtocolError>(id == key_.id, "an encrypted matrix is encrypted under a key that is not the peer's");
  Seed seed;
  in.read(seed);
  KeyStream seeds(seed);
  auto operand = std::make_unique<LatticeOperand>(*params_, t);

  const std::size_t words = LatticePlan::of(plan).operand_tile_bytes() / 8;
  const std::size_t tiles = t.inner_tiles * t.col_tiles;
  const std::size_t at_once = 4 * pool.size();
  std::vector<std::vector<std::uint64_t>> packed(std::min(at_once, tiles), std::vector<std::uint64_t>(words));
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t count = std::min(at_once, tiles - first);
    std::vector<Seed> tile_seeds(count);
    for (std::size_t i = 0; i < count; ++i) {
      in.read(std::as_writable_bytes(std::span(packed[i])));
      seeds.fill(tile_seeds[i]);
    }
    pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      Residues polynomial(n);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t inner_tile = (first + i) % t.inner_tiles;
        const std::size_t col_tile = (first + i) / t.inner_tiles;
        KeyStream stream(tile_seeds[i]);
        std::span<const std::uint64_t> rest(packed[i]);
        for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
          const Modulus& m = params_->moduli()[l];
          unpack(rest.first(packed_bytes(n, m.bits()) / 8), m.bits(), polynomial);
          rest = rest.subspan(packed_bytes(n, m.bits()) / 8);
          check_residues(m, polynomial, "an encrypted matrix");
          operand->put(l, col_tile, 0, inner_tile, polynomial);
          sample_uniform(stream, m, polynomial);
          operand->put(l, col_tile, 1, inner_tile, polynomial);
        }
      }
    });
  }
  return operand;
}

// Fresh for every reply: without it, the key's owner would solve for the private matrix.
LatticeMultiplier::Reply LatticeMultiplier::encryption_of_zero(Random& random) const {
  const std::size_t n = params_->degree();
  Reply reply(2 * params_->moduli().size() * n);
  AlignedSecret<std::int64_t> small(n);
  sample_ternary(random, small);
  SecretResidues u(n);
  for (std::size_t l = 0; l < params_->moduli().size(); ++l) {
    const Modulus& m = params_->moduli()[l];
    lift(small, m, u);
    kernels_.forward(u.data(), m);
    kernels_.multiply(component(reply, 0, l), u.data(), key_.b.data() + l * n, n, m);
    kernels_.multiply(component(reply, 1, l), u.data(), key_.a.data() + l * n, n, m);
  }
  return reply;
}

void LatticeMultiplier::add_products(const LeftOperand& left, const LatticeOperand& right, std::size_t col_tile,
                                     std::size_t first_row_tile, std::vector<Reply>& replies, ThreadPool& pool) const {
  const std::size_t blocks = right.blocks;
  pool.parallel_for(params_->moduli().size() * blocks, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t l = i / blocks;
      const std::size_t block = i % blocks;
      for (std::size_t c = 0; c < 2; ++c) {
        const std::uint64_t* tiles = right.values.data() + right.offset(l, block, col_tile, c);
        for (std::size_t r = 0; r < replies.size(); ++r) {
          const std::uint64_t* x = left.values(l, block, first_row_tile + r);
          for (const LeftOperand::Run& run : left.runs(first_row_tile + r)) {
            const Terms terms{x + run.begin * left.stride(), left.stride(), kBlock / left.stride(),
                              tiles + run.begin * kBlock,    kBlock,        run.end - run.begin};
            kernels_.accumulate(component(replies[r], c, l) + block * kBlock, terms, kBlock, params_->moduli()[l]);
          }
        }
      }
    }
  });
}

// Divides the second component by the dropped primes, rounding: c' = (c - [c]) / q_d, where [c] is c modulo q_d,
// centred.
void LatticeMultiplier::drop_primes(Reply& r) const {
  const std::size_t n = params_->degree();
  const auto& moduli = params_->moduli();
  for (std::size_t d = moduli.size() - 1; d >= params_->kept(); --d) {
    const std::uint64_t q_d = moduli[d].value();
    const std::uint64_t half = q_d / 2;
    std::uint64_t* dropped = component(r, 1, d);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = dropped[i] + half;
      dropped[i] = std::min(x, x - q_d);
    }
    for (std::size_t l = 0; l < d; ++l) {
      const Modulus& m = moduli[l];
      const std::uint64_t q = m.value();
      const std::uint64_t inverse = m.to_montgomery(m.inverse(q_d % q));
      std::uint64_t* c = component(r, 1, l);
      Residues difference(n);
      const std::uint64_t offset = half % q;
      for (std::size_t i = 0; i < n; ++i) {
        // Both primes have the same size, or the dropped one is smaller: one subtraction reduces it.
        const std::uint64_t y = std::min(dropped[i], dropped[i] - q);
        const std::uint64_t x = c[i] + offset + q - y;
        const std::uint64_t once = std::min(x, x - q);
        difference[i] = std::min(once, once - q);
      }
      std::fill_n(c, n, 0);
      kernels_.accumulate(c, {&inverse, 1, n, difference.data(), n, 1}, n, m);
    }
  }
}

Bytes LatticeMultiplier::finish(Reply& r, const Tiling& t, std::size_t rows, std::size_t cols, Random& random,
                                std::span<UInt128> masks) const {
  const std::size_t n = params_->degree();
  const auto& moduli = params_->moduli();
  AlignedSecret<std::int64_t> error(n);
  sample_error(random, error);
  SecretResidues lifted(n);
  for (std::size_t l = 0; l < moduli.size(); ++l) {
    kernels_.inverse(component(r, 0, l), moduli[l]);
    std::uint64_t* c1 = component(r, 1, l);
    kernels_.inverse(c1, moduli[l]);
    lift(error, moduli[l], lifted);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = c1[i] + lifted[i];
      c1[i] = std::min(x, x - moduli[l].value());
    }
  }
  drop_primes(r);

  BufferSink out;
  std::vector<std::uint64_t> packed;
  for (std::size_t l = 0; l < params_->kept(); ++l) {
    packed.assign(packed_bytes(n, moduli[l].bits()) / 8, 0);
    pack({component(r, 1, l), n}, moduli[l].bits(), packed);
    out.write(std::as_bytes(std::span(packed)));
  }
  AlignedSecret<UInt128> floods(rows * cols);
  random.fill_integers(masks);
  random.fill_integers(std::span(floods));
  for (std::size_t i = 0; i < rows * cols; ++i) {
    const std::size_t position = t.result_position(i / cols, i % cols);
    Fraction f;
    for (std::size_t l = 0; l < moduli.size(); ++l) {
      const std::uint64_t c0 = component(r, 0, l)[position];
      const std::uint64_t q = moduli[l].value();
      const std::uint64_t y =
          c0 * conversions_.crt[l] - high64(static_cast<UInt128>(c0) * conversions_.crt_quotient[l]) * q;
      f.add_multiple(std::min(y, y - q), conversions_.over[l]);
    }
    // The mask, and a flood that hides the noise: uniform in [-2^-130, 2^-130). Both added exactly, then rounded.
    const auto flood = static_cast<Int128>(floods[i]) >> (Params::kFloodExponent - 129);
    f += Fraction::of(masks[i] + static_cast<UInt128>(flood >> 127), static_cast<UInt128>(flood));
    f += Fraction::of(0, static_cast<UInt128>(1) << 119);
    out.write_u8(static_cast<std::uint8_t>(f.low() >> 120));
    const UInt128 high = f.high();
    out.write_u128(std::span(&high, 1));
  }
  return out.take();
}

ShareMatrix LatticeMultiplier::do_multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                    Random& random, ThreadPool& pool, ByteSink& reply) const {
  const LatticePlan& p = LatticePlan::of(plan);
  const Tiling& t = p.tiling();
  const auto* right = dynamic_cast<const LatticeOperand*>(&operand);
  require<InvalidArgument>(right != nullptr && right->layout == t.operand_layout(), "product of ", p.spec().describe(),
                           ": the operand was loaded for another layout");
  const LeftOperand left(*params_, kernels_, t, x, pool);
  reply.write(key_.id);
  ShareMatrix share(p.spec().rows, p.spec().cols, p.spec().result_scale());
  constexpr std::size_t kAtOnce = 16;  // replies in memory; the encrypted matrix is read once for all of them
  for (std::size_t col_tile = 0; col_tile < t.col_tiles; ++col_tile) {
    const std::size_t cols = std::min(t.cols, p.spec().cols - col_tile * t.cols);
    for (std::size_t first = 0; first < t.row_tiles; first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, t.row_tiles - first);
      std::vector<Random> randoms;
      for (std::size_t r = 0; r < count; ++r) randoms.push_back(random.fork());
      std::vector<Reply> replies(count);
      pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) replies[r] = encryption_of_zero(randoms[r]);
      });
      add_products(left, *right, col_tile, first, replies, pool);
      std::vector<Bytes> finished(count);
      pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
          const std::size_t first_row = (first + r) * t.rows;
          const std::size_t rows = std::min(t.rows, p.spec().rows - first_row);
          AlignedSecret<UInt128> masks(rows * cols);
          finished[r] = finish(replies[r], t, rows, cols, randoms[r], masks);
          for (std::size_t i = 0; i < masks.size(); ++i) {
            share.row(first_row + i / cols)[col_tile * t.cols + i % cols] = 0 - masks[i];
          }
        }
      });
      for (const Bytes& bytes : finished) reply.write(bytes);
    }
  }
  return share;
}

}  // namespace

std::unique_ptr<Multiplier> make_multiplier(std::shared_ptr<const Params> params, const Kernels& kernels,
                                            ByteView public_key) {
  return std::make_unique<LatticeMultiplier>(std::move(params), kernels, public_key);
}

}  // namespace blindfl::he::lattice
