#pragma once

#include <cstring>

#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/sum_loops.h"
#include "blindfl/he/lattice/transform_loops.h"

// The kernels' loops, once for all processors. A set of kernels is `Loops<Lanes>::table("name")`, compiled in a file of
// its own with that processor's flags, where `Lanes`, in an unnamed namespace, says how to do arithmetic on a few
// values at once:
//
//   kLanes, kStages, kVectors             values in a register; stages of a transform, and vectors of an inner product,
//                                         that fit into the registers
//   kSumRoom                              a lazy inner product may be as large as q * 2^(52 + kSumRoom)
//   kLong                                 from so many terms on, sums are LongSums
//   Part                                  a vector of integers as the compilers know it: a loop would not reliably
//                                         become vector instructions
//   Value, Constants, Root                a register; a modulus; a factor with its quotient
//   Sum, LongSum                          lazy inner products: of a few terms, and of up to LongSum::kMostTerms, where
//                                         that is something else
//   left, right, added_to                 of a sum: what it takes as factors; a residue plus a sum of so many terms
//   load, store                           residues in [0, q)
//   load_shared                           one of them for all lanes
//   load_lazy, store_lazy                 what a transform keeps between its passes
//   forward_, inverse_, last_butterfly    one step of a transform, lazily reduced
//   kGrows, grows, inverse_stages         whether butterflies leave values that must be settled now and then: forward
//                                         ones of this modulus; backward ones after so many stages
//   settled, finished                     brings lazy values back: small enough for the next pass; into [0, q)
//   finished_last                         into [0, q) what last_butterfly leaves
//   multiply, subtract                    on residues in [0, q); a factor of multiply may be any number below 2^52
//   add                                   without reducing; up to 4q may be `finished`
//   transpose                             kLanes registers
//   eight_shares                          of round_shares, where vectors are faster
//
// Loops without Lanes are simple enough for the compiler to use the vector units by itself.

namespace blindfl::he::lattice {

template <class Lanes>
class Loops {
 public:
  static constexpr Kernels table(std::string_view name) {
    return {name,
            Transforms::forward,
            Transforms::forward_short,
            Transforms::inverse,
            inverse_sparse,
            multiply,
            multiply_subtract,
            Sums::accumulate,
            Sums::multiply_accumulate,
            divide,
            subtract_divide,
            multiply_add,
            lift,
            lift_wide,
            subtract,
            add_small,
            pack,
            unpack,
            centred_binomial,
            ternary,
            round_shares};
  }

 private:
  using Transforms = TransformLoops<Lanes>;
  using Sums = SumLoops<Lanes>;
  using Value = typename Lanes::Value;
  using Constants = typename Lanes::Constants;
  using Sum = typename Lanes::Sum;
  static constexpr std::size_t kLanes = Lanes::kLanes;
  /// How many values go through memory close by, between what the compiler vectorises and what it does not.
  static constexpr std::size_t kPiece = 64;

  // ---- products

  static void multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                       const Modulus& modulus) {
    const Constants c(modulus);
    for (std::size_t i = 0; i < n; i += kLanes) {
      Lanes::store(out + i, Lanes::multiply(Lanes::load(a + i), Lanes::load(b + i), c));
    }
  }

  static void multiply_subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                                const Modulus& modulus) {
    const Constants c(modulus);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const Value product = Lanes::multiply(Lanes::load(a + i), Lanes::load(b + i), c);
      Lanes::store(out + i, Lanes::subtract(Lanes::load(out + i), product, c));
    }
  }

  static void divide(std::uint64_t* out, const std::uint64_t* dropped, const Modulus& by, std::uint64_t one_over_by,
                     std::size_t n, const Modulus& modulus) {
    const Constants c(modulus);
    const std::uint64_t q = modulus.value();
    const std::uint64_t divisor = by.value();
    const std::uint64_t half = divisor / 2;
    const std::uint64_t offset = half % q + 2 * q;
    const Value inverse = Lanes::broadcast(one_over_by);
    alignas(64) std::uint64_t piece[kPiece];
    for (std::size_t begin = 0; begin < n; begin += kPiece) {
      const std::size_t count = n - begin < kPiece ? n - begin : kPiece;
      for (std::size_t i = 0; i < count; ++i) {
        // d + half is not negative and below 2q: the sum stays between 0 and 4q, below 2^52.
        piece[i] = out[begin + i] + offset - reduced_once(dropped[begin + i] + half, divisor);
      }
      for (std::size_t i = 0; i < count; i += kLanes) {
        Lanes::store(out + begin + i, Lanes::multiply(Lanes::load(piece + i), inverse, c));
      }
    }
  }

  static void subtract_divide(std::uint64_t* out, const std::uint64_t* digit, std::uint64_t one_over_by, std::size_t n,
                              const Modulus& modulus) {
    const Constants c(modulus);
    // A multiple of q from 2^50 on: what is left of it, below 2^50 + 2q, is not negative and below 2^52.
    const std::uint64_t offset = ((std::uint64_t{1} << 50) / modulus.value() + 1) * modulus.value();
    const Value inverse = Lanes::broadcast(one_over_by);
    alignas(64) std::uint64_t piece[kPiece];
    for (std::size_t begin = 0; begin < n; begin += kPiece) {
      const std::size_t count = n - begin < kPiece ? n - begin : kPiece;
      for (std::size_t i = 0; i < count; ++i) piece[i] = out[begin + i] + offset - digit[begin + i];
      for (std::size_t i = 0; i < count; i += kLanes) {
        Lanes::store(out + begin + i, Lanes::multiply(Lanes::load(piece + i), inverse, c));
      }
    }
  }

  static void multiply_add(std::uint64_t* out, std::uint64_t by, const std::uint64_t* digit, std::size_t n,
                           const Modulus& modulus) {
    const Constants c(modulus);
    const Value factor = Lanes::broadcast(by);
    const Value radix = Lanes::broadcast(modulus.to_montgomery(1));
    for (std::size_t i = 0; i < n; i += kLanes) {
      Sum sum;  // of at most 2^51 * q
      sum.add(factor, Lanes::load(out + i), c);
      sum.add(radix, Lanes::load(digit + i), c);
      Lanes::store(out + i, sum.added_to(Lanes::broadcast(0), 2, c));
    }
  }

  static void lift_wide(std::uint64_t* out, const std::int64_t* wide, std::size_t n, const Modulus& modulus) {
    const Constants c(modulus);
    const std::uint64_t q = modulus.value();
    // x + 2^63 is not negative: two halves of 32 bits.
    const Value by_high = Lanes::broadcast(modulus.to_montgomery(std::uint64_t{1} << 32));
    const Value by_low = Lanes::broadcast(modulus.to_montgomery(1));
    const Value offset = Lanes::broadcast(q - (std::uint64_t{1} << 63) % q);  // in [1, q): q is odd
    alignas(64) std::uint64_t high[kPiece];
    alignas(64) std::uint64_t low[kPiece];
    for (std::size_t begin = 0; begin < n; begin += kPiece) {
      const std::size_t count = n - begin < kPiece ? n - begin : kPiece;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t x = static_cast<std::uint64_t>(wide[begin + i]) ^ (std::uint64_t{1} << 63);
        high[i] = x >> 32;
        low[i] = x & 0xFFFFFFFF;
      }
      for (std::size_t i = 0; i < count; i += kLanes) {
        Sum sum;
        sum.add(by_high, Lanes::load(high + i), c);
        sum.add(by_low, Lanes::load(low + i), c);
        Lanes::store(out + begin + i, sum.added_to(offset, 2, c));
      }
    }
  }

  // ---- the sparse inverse transform

  /// The inner products of blocks of `stride` values with their weights, kLanes blocks at a time.
  static void block_sums(std::uint64_t* out, const std::uint64_t* a, const SparseInverse& table,
                         const Modulus& modulus) {
    const Constants c(modulus);
    const std::size_t stride = table.stride();
    const std::size_t step = Sums::most_terms(modulus.bits()) * kLanes;
    const std::uint64_t* w = table.weights().data();
    for (std::size_t g = 0; g < table.count(); g += kLanes, a += kLanes * stride, w += kLanes * stride) {
      Value v[kLanes];
      BLINDFL_UNROLL
      for (std::size_t b = 0; b < kLanes; ++b) v[b] = Lanes::broadcast(0);
      for (std::size_t begin = 0; begin < stride; begin += step) {
        const std::size_t end = stride - begin < step ? stride : begin + step;
        Sum sums[kLanes];
        for (std::size_t i = begin; i < end; i += kLanes) {
          BLINDFL_UNROLL
          for (std::size_t b = 0; b < kLanes; ++b) {
            sums[b].add(Lanes::load(a + b * stride + i), Lanes::load(w + b * stride + i), c);
          }
        }
        BLINDFL_UNROLL
        for (std::size_t b = 0; b < kLanes; ++b) v[b] = sums[b].added_to(v[b], (end - begin) / kLanes, c);
      }
      if constexpr (kLanes > 1) Lanes::transpose(v);
      Value sum = v[0];
      BLINDFL_UNROLL
      for (std::size_t b = 1; b < kLanes; ++b) {
        sum = Lanes::add(sum, v[b]);
        if (b % 3 == 0) sum = Lanes::finished(sum, c);  // four residues
      }
      Lanes::store(out + g, Lanes::finished(sum, c));
    }
  }

  static void inverse_sparse(std::uint64_t* out, const std::uint64_t* a, const SparseInverse& table,
                             const Modulus& modulus) {
    const std::size_t count = table.count();
    if (count >= kLanes * kLanes) {
      block_sums(out, a, table, modulus);
      Transforms::inverse_stages(out, modulus, count, table.inverse_lane_roots(), table.last_stage());
      return;
    }
    // Too few for the stages within registers.
    alignas(64) std::uint64_t sums[kLanes * kLanes];
    block_sums(sums, a, table, modulus);
    std::memset(out, 0, count * sizeof *out);
    Sums::accumulate(out, {sums, 1, count, table.matrix().data(), count, count, 0}, count, modulus);
  }

  // ---- loops that the compiler vectorises

  /// x modulo c for x < 2c, without a branch: `x - c` wraps around to something large where x < c.
  static std::uint64_t reduced_once(std::uint64_t x, std::uint64_t c) {
    const std::uint64_t y = x - c;
    return y < x ? y : x;
  }

  static std::uint64_t lifted(std::int64_t x, std::uint64_t q) {
    return static_cast<std::uint64_t>(x) + (static_cast<std::uint64_t>(x >> 63) & q);
  }

  static void lift(std::uint64_t* __restrict out, const std::int64_t* __restrict small, std::size_t n,
                   const Modulus& modulus) {
    const std::uint64_t q = modulus.value();
    for (std::size_t i = 0; i < n; ++i) out[i] = lifted(small[i], q);
  }

  static void subtract(std::uint64_t* __restrict out, const std::uint64_t* __restrict a, std::size_t n,
                       const Modulus& modulus) {
    const std::uint64_t q = modulus.value();
    for (std::size_t i = 0; i < n; ++i) out[i] = reduced_once(out[i] + q - a[i], q);
  }

  static void add_small(std::uint64_t* __restrict out, const std::int64_t* __restrict small, std::size_t n,
                        const Modulus& modulus) {
    const std::uint64_t q = modulus.value();
    for (std::size_t i = 0; i < n; ++i) out[i] = reduced_once(out[i] + lifted(small[i], q), q);
  }

  // A row of packed values is a few parts, in registers.
  using Part = typename Lanes::Part;
  static constexpr std::size_t kParts = kPackedLanes * 8 / sizeof(Part);

  static void load_row(Part (&row)[kParts], const std::uint64_t* p) {
    BLINDFL_UNROLL
    for (std::size_t k = 0; k < kParts; ++k) std::memcpy(&row[k], p + k * (sizeof(Part) / 8), sizeof(Part));
  }
  static void store_row(std::uint64_t* p, const Part (&row)[kParts]) {
    BLINDFL_UNROLL
    for (std::size_t k = 0; k < kParts; ++k) std::memcpy(p + k * (sizeof(Part) / 8), &row[k], sizeof(Part));
  }

  static void pack(std::uint64_t* words, const std::uint64_t* values, std::size_t n, int bits) {
    Part word[kParts] = {};
    int filled = 0;
    for (std::size_t i = 0; i < n; i += kPackedLanes) {
      Part row[kParts];
      load_row(row, values + i);
      BLINDFL_UNROLL
      for (std::size_t k = 0; k < kParts; ++k) word[k] |= row[k] << filled;
      filled += bits;
      if (filled < 64) continue;
      filled -= 64;
      store_row(words, word);
      words += kPackedLanes;
      BLINDFL_UNROLL
      for (std::size_t k = 0; k < kParts; ++k) word[k] = row[k] >> (bits - filled);  // what did not fit
    }
  }

  static bool unpack(std::uint64_t* values, std::size_t stride, const std::uint64_t* words, std::size_t n, int bits,
                     std::uint64_t bound) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    // `bound - 1 - value` is negative exactly where a value is too large: all are far below 2^63.
    Part beyond[kParts] = {};
    Part word[kParts];
    load_row(word, words);
    int used = 0;
    for (std::size_t group = 0; group < n / 64; ++group, values += stride) {
      for (std::size_t i = 0; i < 64; i += kPackedLanes) {
        Part row[kParts];
        BLINDFL_UNROLL
        for (std::size_t k = 0; k < kParts; ++k) row[k] = word[k] >> used;
        used += bits;
        if (used >= 64) {
          used -= 64;
          words += kPackedLanes;
          // A block ends with its word, and the last one with the memory.
          if (used > 0 || group + 1 < n / 64 || i + kPackedLanes < 64) load_row(word, words);
          if (used > 0) {
            BLINDFL_UNROLL
            for (std::size_t k = 0; k < kParts; ++k) row[k] |= word[k] << (bits - used);
          }
        }
        BLINDFL_UNROLL
        for (std::size_t k = 0; k < kParts; ++k) {
          row[k] &= mask;
          beyond[k] |= bound - 1 - row[k];
        }
        store_row(values + i, row);
      }
    }
    std::uint64_t any = 0;
    std::uint64_t each[kPackedLanes];
    store_row(each, beyond);
    for (const std::uint64_t b : each) any |= b;
    return any >> 63 == 0;
  }

  static void centred_binomial(std::uint64_t* words, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      // Ones are counted in pairs, fours and bytes; then the bytes are added up.
      std::uint64_t x = words[i] & 0x3FFFFFFFFFF;
      x -= x >> 1 & 0x5555555555555555;
      x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
      x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
      x += x >> 8;
      x += x >> 16;
      x += x >> 32;
      words[i] = (x & 0x3F) - 21;
    }
  }

  static void ternary(std::int64_t* __restrict out, const std::uint64_t* __restrict words, std::size_t n) {
    std::int64_t* rest = out + n / 2;
    for (std::size_t i = 0; i < n / 2; ++i) {
      out[i] = static_cast<std::int64_t>((words[i] & 0xFFFFFFFF) * 3 >> 32) - 1;
      rest[i] = static_cast<std::int64_t>((words[i] >> 32) * 3 >> 32) - 1;
    }
  }

  // ---- shares of results

  static UInt128 rounded_share(const ShareSum& sum, std::size_t at) {
    // Half a unit and the noise end within the upper 128 places.
    UInt128 high = UInt128{1} << (127 - sum.ring_bits);
    if (sum.noise != nullptr) {
      const Int128 noise = ShareSum::noise_of(sum.noise + ShareSum::kNoiseWords * at);
      high += static_cast<UInt128>(noise) << (128 - sum.noise_places);
    }
    std::uint64_t low = 0;
    for (std::size_t l = 0; l < sum.primes; ++l) {
      const UInt128 numerator = sum.numerators[l][at];
      const UInt128 product = numerator * sum.tops[l].low + low;
      low = low64(product);
      high += numerator * sum.tops[l].middle + high64(product) + ((numerator * sum.tops[l].high) << 64);
    }
    return high >> (128 - sum.ring_bits);
  }

  static void round_shares(UInt128* out, const ShareSum& sum, std::size_t count) {
    std::size_t done = 0;
    if constexpr (requires { &Lanes::eight_shares; }) {
      for (; done + 8 <= count; done += 8) Lanes::eight_shares(out + done, sum, done);
    }
    for (; done < count; ++done) out[done] = rounded_share(sum, done);
  }
};

}  // namespace blindfl::he::lattice
