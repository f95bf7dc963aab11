#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "blindfl/he/paillier/ring.h"

// Products of digits of 8 residues at once, in AVX-512's multiply-add of 52 bits. Only ring_ifma.cpp includes this.
//
// A product is first a row of columns, c[0] + c[1] 2^52 + c[2] 2^104 + ...: sums of halves of limb products, which may
// have more than 52 bits, or be negative. Carrying makes a digit of them, since the multiplier takes no more than the
// low 52 bits of what it is given.

#define BLINDFL_INLINE inline __attribute__((always_inline))

namespace blindfl::he::paillier::ifma {

/// One limb of 8 residues.
using Vector = __m512i;

constexpr int kLimbBits = 52;
constexpr Limb kLimbMask = (Limb{1} << kLimbBits) - 1;

BLINDFL_INLINE Vector broadcast(Limb x) {
  return _mm512_set1_epi64(static_cast<long long>(x));
}
BLINDFL_INLINE Vector zero() {
  return _mm512_setzero_si512();
}
BLINDFL_INLINE Vector add(Vector a, Vector b) {
  return _mm512_add_epi64(a, b);
}
BLINDFL_INLINE Vector minus(Vector a, Vector b) {
  return _mm512_sub_epi64(a, b);
}
BLINDFL_INLINE Vector low_product(Vector sum, Vector a, Vector b) {
  return _mm512_madd52lo_epu64(sum, a, b);
}
BLINDFL_INLINE Vector high_product(Vector sum, Vector a, Vector b) {
  return _mm512_madd52hi_epu64(sum, a, b);
}
BLINDFL_INLINE Vector low52(Vector x) {
  return _mm512_and_si512(x, broadcast(kLimbMask));
}
/// What a column carries to the next: rounded down, also where it is negative.
BLINDFL_INLINE Vector carry_of(Vector x) {
  return _mm512_srai_epi64(x, kLimbBits);
}

template <class Body, std::size_t... I>
BLINDFL_INLINE void call_with(const Body& body, std::index_sequence<I...> /*constants*/) {
  (body(std::integral_constant<std::size_t, I>{}), ...);
}
/// body(0), body(1), ... with constants, one after the other: in a loop, an array would go to memory, not to registers.
template <std::size_t N, class Body>
BLINDFL_INLINE void unrolled(const Body& body) {
  call_with(body, std::make_index_sequence<N>{});
}

/// Products of digits of `N` limbs, in tiles of `B` by `B` limbs whose columns stay in registers.
template <std::size_t N, std::size_t B>
struct Columns {
  static_assert(N % B == 0 && B >= 2);

  /// sum = a b or, with `Add`, sum += a b. The sum has 2N columns.
  template <bool Add>
  __attribute__((noinline)) static void multiply(Vector* __restrict sum, const Vector* a, const Vector* b) {
    for (std::size_t i = 0; i < N; i += B) {
      Vector left[B];
      unrolled<B>([&](auto t) { left[t] = a[i + t]; });
      Tile tile;
      tile.load_low(sum + i, Add || i > 0);
      for (std::size_t j = 0; j < N; j += B) {
        // Tiles before this row of them have not reached its last columns.
        tile.load_high(sum + i + j + B, Add || (i > 0 && j + B < N));
        tile.add_product(left, [&](auto s) { return b[j + s]; });
        tile.store_low(sum + i + j);
      }
      tile.store_low(sum + i + N);
    }
  }

  /// sum = a^2.
  __attribute__((noinline)) static void square(Vector* __restrict sum, const Vector* a) {
    // Products of different limbs, once each.
    for (std::size_t i = 0; i < N; i += B) {
      Vector left[B];
      unrolled<B>([&](auto t) { left[t] = a[i + t]; });
      Tile tile;
      tile.load_low(sum + 2 * i, i > 0);
      tile.load_high(sum + 2 * i + B, i > 0 && i + B < N);
      tile.add_triangle(left);
      tile.store_low(sum + 2 * i);
      for (std::size_t j = i + B; j < N; j += B) {
        tile.load_high(sum + i + j + B, i > 0 && j + B < N);
        tile.add_product(left, [&](auto s) { return a[j + s]; });
        tile.store_low(sum + i + j);
      }
      tile.store_low(sum + i + N);
    }
    // Doubled, and the squares of limbs.
    for (std::size_t i = 0; i < N; ++i) {
      sum[2 * i] = low_product(add(sum[2 * i], sum[2 * i]), a[i], a[i]);
      sum[2 * i + 1] = high_product(add(sum[2 * i + 1], sum[2 * i + 1]), a[i], a[i]);
    }
  }

  /// Adds quotient * m to the sum, so that its lower half becomes 0 and the upper half is sum / R modulo m. The lower
  /// half is not written.
  __attribute__((noinline)) static void reduce(Vector* __restrict sum, Vector* __restrict quotient,
                                               const Limb* __restrict m, Limb negated_inverse) {
    for (std::size_t i = 0; i < N; i += B) {
      Tile tile;
      tile.load_low(sum + i, true);
      tile.load_high(sum + i + B, true);
      Vector q[B];
      tile.cancel_low(q, m, broadcast(negated_inverse));
      unrolled<B>([&](auto t) { quotient[i + t] = q[t]; });
      for (std::size_t j = B; j < N; j += B) {
        tile.load_high(sum + i + j + B, true);
        tile.add_product(q, [&](auto s) { return broadcast(m[j + s]); });
        tile.store_low(sum + i + j);
      }
      tile.store_low(sum + i + N);
    }
  }

  /// A digit from its columns.
  static void carry(Vector* digit, const Vector* columns) {
    Vector carried = zero();
    for (std::size_t i = 0; i < N; ++i) {
      const Vector x = add(columns[i], carried);
      digit[i] = low52(x);
      carried = carry_of(x);
    }
  }

 private:
  /// 2B columns. They move on by B with `store_low`, which makes the upper ones the lower.
  struct Tile {
    Vector columns[2 * B];

    BLINDFL_INLINE void load_low(const Vector* p, bool written) { load<0>(p, written); }
    BLINDFL_INLINE void load_high(const Vector* p, bool written) { load<B>(p, written); }
    BLINDFL_INLINE void store_low(Vector* p) {
      unrolled<B>([&](auto t) {
        p[t] = columns[t];
        columns[t] = columns[B + t];
      });
    }

    template <class Right>
    BLINDFL_INLINE void add_product(const Vector (&left)[B], const Right& right) {
      unrolled<B>([&](auto s) {
        const Vector y = right(s);
        unrolled<B>([&](auto t) { columns[s + t] = low_product(columns[s + t], left[t], y); });
        unrolled<B>([&](auto t) { columns[s + t + 1] = high_product(columns[s + t + 1], left[t], y); });
      });
    }

    /// The products of each limb with those below it.
    BLINDFL_INLINE void add_triangle(const Vector (&x)[B]) {
      unrolled<B>([&](auto s) {
        unrolled<s()>([&](auto t) { columns[s + t] = low_product(columns[s + t], x[t], x[s]); });
        unrolled<s()>([&](auto t) { columns[s + t + 1] = high_product(columns[s + t + 1], x[t], x[s]); });
      });
    }

    /// Adds the multiple of m that makes the lower columns 0, as far as m's first B limbs go, and moves on.
    BLINDFL_INLINE void cancel_low(Vector (&q)[B], const Limb* m, Vector negated_inverse) {
      unrolled<B>([&](auto t) {
        q[t] = low_product(zero(), columns[t], negated_inverse);
        // With the low half of q m[0], the column becomes a multiple of 2^52: the next one above it.
        const Vector carried = carry_of(add(columns[t], broadcast(kLimbMask)));
        columns[t + 1] = add(columns[t + 1], carried);
        // In two sums, since the next q waits for them.
        const Vector high = high_product(zero(), q[t], broadcast(m[0]));
        columns[t + 1] = add(low_product(columns[t + 1], q[t], broadcast(m[1])), high);
        unrolled<B - 1>([&](auto s) {
          const Vector y = broadcast(m[s + 1]);
          if constexpr (s() > 0) columns[t + s + 1] = low_product(columns[t + s + 1], q[t], y);
          columns[t + s + 2] = high_product(columns[t + s + 2], q[t], y);
        });
      });
      unrolled<B>([&](auto t) { columns[t] = columns[B + t]; });
    }

   private:
    template <std::size_t From>
    BLINDFL_INLINE void load(const Vector* p, bool written) {
      if (written) {
        unrolled<B>([&](auto t) { columns[From + t] = p[t]; });
      } else {
        unrolled<B>([&](auto t) { columns[From + t] = zero(); });
      }
    }
  };
};

/// Rows of limbs into limbs of rows, and back: its own inverse.
BLINDFL_INLINE void transpose(Vector (&v)[8]) {
  Vector pairs[8];
  unrolled<4>([&](auto i) {
    pairs[2 * i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
    pairs[2 * i + 1] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
  });
  // Two steps on the four parts of 128 bits.
  Vector quads[8];
  unrolled<2>([&](auto h) {
    unrolled<2>([&](auto k) {
      quads[4 * h + k] = _mm512_shuffle_i64x2(pairs[4 * h + k], pairs[4 * h + k + 2], 0x88);
      quads[4 * h + k + 2] = _mm512_shuffle_i64x2(pairs[4 * h + k], pairs[4 * h + k + 2], 0xDD);
    });
  });
  unrolled<4>([&](auto k) {
    v[k] = _mm512_shuffle_i64x2(quads[k], quads[k + 4], 0x88);
    v[k + 4] = _mm512_shuffle_i64x2(quads[k], quads[k + 4], 0xDD);
  });
}

}  // namespace blindfl::he::paillier::ifma
