#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "blindfl/he/lattice/key_owner.h"
#include "blindfl/he/lattice/multiplier.h"

// What tests of noise and of circuit privacy see that nobody else does.

namespace blindfl::he::lattice {

struct KeyOwnerProbe {
  static const SecretKey& key(const LatticeKeyOwner& owner) { return owner.key_; }
};

/// A tile of a reply: the second component modulo each prime, and the results as fractions of q.
struct ExactTile {
  LatticePlan::Area area;
  std::vector<Residues> c1;
  std::vector<Fraction> results;
};

struct MultiplierProbe {
  static void switch_hiding(LatticeMultiplier& m, bool fresh_encryption, bool flooding) {
    m.fresh_encryption_ = fresh_encryption;
    m.flooding_ = flooding;
  }

  /// What `multiply_and_mask` does, up to the point where it rounds: Noise.IsThatOfTheBytesThatTravel holds it to that.
  static std::vector<ExactTile> exact_reply(const LatticeMultiplier& m, const LatticePlan& plan, const IntMatrix& x,
                                            const Operand& operand, Random& random, Random& masks, ThreadPool& pool,
                                            ShareMatrix& share) {
    const Tiling& t = plan.tiling();
    const LeftOperand left(*m.params_, m.kernels_, t, x, 0, t.row_tiles, pool, m.scratch_);
    std::vector<ExactTile> tiles;
    for (std::size_t col_tile = 0; col_tile < t.col_tiles; ++col_tile) {
      const auto replies = m.products(left, dynamic_cast<const LatticeOperand&>(operand), col_tile,
                                      m.take_randomizers(t.row_tiles, random, pool), pool);
      for (std::size_t r = 0; r < t.row_tiles; ++r) {
        const auto reply = m.reply(replies, r);
        ExactTile tile{plan.area(r, col_tile), {}, {}};
        LatticeMultiplier::TileRandom drawn{random.fork(), masks.fork()};
        m.add_error(reply, drawn.noise);
        tile.results.resize(tile.area.size());
        m.mask_results(reply, t, tile.area, drawn, share, tile.results);
        for (std::size_t l = 0; l < m.params_->moduli().size(); ++l) {
          const std::uint64_t* c1 = m.component(reply, 1, l);
          tile.c1.emplace_back(c1, c1 + m.params_->degree());
        }
        tiles.push_back(std::move(tile));
      }
    }
    return tiles;
  }

  /// What will re-randomise the next reply, transformed, modulo each prime. It must have been prepared.
  static std::vector<Residues> next_randomizer(const LatticeMultiplier& m) {
    std::vector<Residues> u;
    for (std::size_t l = 0; l < m.params_->moduli().size(); ++l) {
      const std::uint64_t* from = m.stock_.back().values.data() + l * m.stride();
      u.emplace_back(from, from + m.params_->degree());
    }
    return u;
  }
};

/// A reply as it travels, tile by tile: the second component modulo the primes that are kept.
/// The format is that of lattice_plan.h, read without the product's code.
inline std::vector<ExactTile> read_reply(const Params& params, const LatticePlan& plan, ByteView bytes) {
  BufferSource in(bytes.subspan(sizeof(KeyId)));
  std::vector<ExactTile> tiles;
  for (const LatticePlan::Area& area : plan.reply_order()) {
    ExactTile tile{area, {}, {}};
    for (std::size_t l = 0; l < params.kept(); ++l) {
      const Modulus& m = params.moduli()[l];
      Residues words(packed_words(params.degree(), m.bits()));
      in.read(std::as_writable_bytes(std::span(words)));
      Residues residues(params.degree());
      EXPECT_TRUE(portable_kernels().unpack(residues.data(), 64, words.data(), residues.size(), m.bits(), m.value()));
      tile.c1.push_back(std::move(residues));
    }
    for (std::size_t i = 0; i < area.size(); ++i) {
      const std::uint8_t lowest = in.read_u8();
      UInt128 high = 0;
      in.read_u128(std::span(&high, 1));
      tile.results.push_back(Fraction::of(high, static_cast<UInt128>(lowest) << 120));
    }
    tiles.push_back(std::move(tile));
  }
  EXPECT_EQ(in.remaining(), 0U);
  return tiles;
}

/// What is left of a tile's results under a secret key without the values that are expected: noise, in units of 2^-128
/// of the product of the primes that `c1` is given modulo, exact but for what a double holds.
inline std::vector<double> noise_of(const Params& params, const Kernels& kernels, const SecretKey& key,
                                    const Tiling& tiling, const ExactTile& tile, const ShareMatrix& expected) {
  const std::size_t n = params.degree();
  std::vector<Residues> products = tile.c1;
  std::vector<std::uint64_t> crt;
  for (std::size_t l = 0; l < products.size(); ++l) {
    const Modulus& m = params.moduli()[l];
    kernels.forward(products[l].data(), m);
    kernels.multiply(products[l].data(), products[l].data(), key.s.data() + l * n, n, m);
    kernels.inverse(products[l].data(), m, m.last_stage());
    std::uint64_t others = 1;
    for (std::size_t k = 0; k < products.size(); ++k) {
      if (k != l) others = m.multiply(others, params.moduli()[k].value() % m.value());
    }
    crt.push_back(m.inverse(others));
  }
  std::vector<double> noise;
  for (std::size_t i = 0; i < tile.results.size(); ++i) {
    const std::size_t r = i / tile.area.cols;
    const std::size_t c = i % tile.area.cols;
    Fraction f = tile.results[i];
    for (std::size_t l = 0; l < products.size(); ++l) {
      const Modulus& m = params.moduli()[l];
      f.add_multiple(m.multiply(products[l][tiling.result_position(r, c)], crt[l]), Fraction::one_over(m.value()));
    }
    f += Fraction::of(0 - expected.row(tile.area.first_row + r)[tile.area.first_col + c], 0);
    noise.push_back(static_cast<double>(static_cast<Int128>(f.high())) + static_cast<double>(f.low()) * 0x1p-128);
  }
  return noise;
}

/// log2 of the product of all primes.
inline double log2_of_modulus(const Params& params) {
  double log_q = 0;
  for (const Modulus& m : params.moduli()) log_q += std::log2(static_cast<double>(m.value()));
  return log_q;
}

/// log2 of the largest noise that a plan's product can have, in units of 1 / q: every left value of a row of tiles, as
/// large as it may be, meets an error of at most 21 and a rounding, and a fresh encryption adds 2 N errors. Worked out
/// from the private matrix' bound and not from what the plan says of its noise.
inline double worst_noise_bits(const Params& params, const LatticePlan& plan) {
  const Tiling& t = plan.tiling();
  const double most = t.limbs == 1 ? static_cast<double>(plan.spec().left_bound) : std::exp2(t.limb_bits - 1) + 1;
  const double values = static_cast<double>(t.rows) * static_cast<double>(plan.spec().inner * t.limbs);
  return std::log2(values * most * (21 + 1) + 2.0 * static_cast<double>(params.degree()) * 21);
}

/// Kolmogorov and Smirnov's distance between two samples, in units of what chance gives.
template <class T>
double distance(std::vector<T> a, std::vector<T> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double most = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const T x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most * std::sqrt(static_cast<double>(a.size() * b.size()) / static_cast<double>(a.size() + b.size()));
}

/// The same between a sample and all numbers from `least` to `most`, each as likely.
inline double distance_from_uniform(std::vector<double> values, double least, double most) {
  std::ranges::sort(values);
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = std::clamp((values[i] - least) / (most - least), 0.0, 1.0);
    const auto n = static_cast<double>(values.size());
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / n),
                        std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(static_cast<double>(values.size()));
}

}  // namespace blindfl::he::lattice
