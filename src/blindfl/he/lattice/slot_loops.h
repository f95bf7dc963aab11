#pragma once

#include <cstring>

#include "blindfl/he/lattice/slot_kernels.h"
#include "blindfl/he/phase_series.h"

// The loops of slot_kernels.h, once for all processors. `Lanes`, in an unnamed namespace, says
//
//   kLanes                        doubles in a register: 2, 4 or 8
//   Real, Whole                   a vector of so many doubles, and of as many words of 64 bits
//   Short, ShortSigned            and of 32 bits
//   product_error                 see double_pair.h

namespace blindfl::he::lattice {

template <class Lanes>
class SlotLoops {
 public:
  static constexpr SlotKernels table(std::string_view name) { return {name, phases, encode, decode}; }

 private:
  using Real = typename Lanes::Real;
  using Whole = typename Lanes::Whole;
  using Short = typename Lanes::Short;
  using Pair = DoublePair<Real>;
  static constexpr std::size_t kLanes = Lanes::kLanes;
  /// The last three stages of a transform work on blocks of 8 values, 8 blocks at a time.
  static constexpr std::size_t kTile = 8;

  struct Complex {
    Real re;
    Real im;
  };
  struct WideComplex {
    Pair re;
    Pair im;
  };

  static Real load(const double* p) {
    Real x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  static void store(double* p, Real x) { std::memcpy(p, &x, sizeof x); }
  static Real all(double x) { return Real{} + x; }

  // ---- phases

  /// Taylor's series, up to pi / 4.
  static Complex unit(Real t) {
    const Real s = t * t;
    Real sine = all(kSineSeries[6]);
    for (int k = 5; k >= 0; --k) sine = sine * s + kSineSeries[k];
    Real cosine = all(kCosineSeries[7]);
    for (int k = 6; k >= 0; --k) cosine = cosine * s + kCosineSeries[k];
    return {cosine * s + 1.0, sine * s * t + t};
  }

  static Real chosen(Whole mask, Real a, Real b) {
    return reinterpret_cast<Real>((reinterpret_cast<Whole>(a) & mask) | (reinterpret_cast<Whole>(b) & ~mask));
  }

  static void phases(double* real, double* imag, const std::uint32_t* angles, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLanes) {
      Short x;
      std::memcpy(&x, angles + i, sizeof x);
      const Short quarter = (x + 0x20000000U) >> 30;
      // What is left of the nearest quarter turn, signed.
      const Short rest = x - (quarter << 30);
      const Real t = __builtin_convertvector(reinterpret_cast<typename Lanes::ShortSigned>(rest), Real) * kPhaseUnit;
      const Complex u = unit(t);
      const Whole turns = __builtin_convertvector(quarter, Whole);
      const Whole odd = Whole{} - (turns & 1U);
      const Real re = chosen(odd, u.im, u.re);
      const Real im = chosen(odd, u.re, u.im);
      store(real + i, reinterpret_cast<Real>(reinterpret_cast<Whole>(re) ^ (((turns + 1U) & 2U) << 62)));
      store(imag + i, reinterpret_cast<Real>(reinterpret_cast<Whole>(im) ^ ((turns & 2U) << 62)));
    }
  }

  // ---- slots to coefficients

  /// One step of the inverse transform: (u, v) becomes (u + v w*, u - v w*).
  static void join(double* re, double* im, std::size_t u, std::size_t v, Complex w) {
    const Complex a{load(re + u), load(im + u)};
    const Complex b{load(re + v), load(im + v)};
    const Real x = b.re * w.re + b.im * w.im;
    const Real y = b.im * w.re - b.re * w.im;
    store(re + u, a.re + x);
    store(im + u, a.im + y);
    store(re + v, a.re - x);
    store(im + v, a.im - y);
  }

  static void turn_tile(double* to, const double* from) {
    for (std::size_t r = 0; r < kTile; ++r) {
      for (std::size_t c = 0; c < kTile; ++c) to[r * kTile + c] = from[c * kTile + r];
    }
  }

  static void join_tile(const SlotTables& tables, double* re, double* im) {
    for (std::size_t span = 1; span < kTile; span *= 2) {
      for (std::size_t r = 0; r < kTile; ++r) {
        if ((r & span) != 0) continue;
        const std::size_t root = span + r % span;
        const Complex w{all(tables.roots().real[root]), all(tables.roots().imag[root])};
        for (std::size_t c = 0; c < kTile; c += kLanes) join(re, im, r * kTile + c, (r + span) * kTile + c, w);
      }
    }
  }

  /// The nearest integers to numbers below 2^51 in magnitude.
  static Whole rounded(Real x) {
    constexpr double kMagic = 6755399441055744;  // 1.5 * 2^52: the lowest bits of a sum with it count units
    return reinterpret_cast<Whole>(x + kMagic) - reinterpret_cast<Whole>(all(kMagic));
  }

  static void encode(const SlotTables& tables, double* real, double* imag, double scale, std::int64_t* out) {
    const std::size_t n = tables.slots();
    alignas(64) double tile[2][kTile * kTile];
    for (std::size_t block = 0; block < n; block += kTile * kTile) {
      std::memcpy(tile[0], real + block, sizeof tile[0]);
      std::memcpy(tile[1], imag + block, sizeof tile[1]);
      join_tile(tables, tile[0], tile[1]);
      turn_tile(real + block, tile[0]);
      turn_tile(imag + block, tile[1]);
    }
    const double* w_re = tables.roots().real.data();
    const double* w_im = tables.roots().imag.data();
    for (std::size_t span = kTile; span < n; span *= 2) {
      for (std::size_t group = 0; group < n; group += 2 * span) {
        for (std::size_t j = 0; j < span; j += kLanes) {
          join(real, imag, group + j, group + j + span, {load(w_re + span + j), load(w_im + span + j)});
        }
      }
    }
    const double factor = scale / static_cast<double>(n);
    for (std::size_t j = 0; j < n; j += kLanes) {
      const Complex w{load(tables.twist().real.data() + j), load(tables.twist().imag.data() + j)};
      const Complex a{load(real + j), load(imag + j)};
      const Whole low = rounded((a.re * w.re + a.im * w.im) * factor);
      const Whole high = rounded((a.im * w.re - a.re * w.im) * factor);
      std::memcpy(out + j, &low, sizeof low);
      std::memcpy(out + n + j, &high, sizeof high);
    }
  }

  // ---- coefficients to slots

  static Pair load(const double* high, const double* low) { return {load(high), load(low)}; }
  static WideComplex load(const SlotValues& v, std::size_t i) {
    return {load(v.real + i, v.real_low + i), load(v.imag + i, v.imag_low + i)};
  }
  static void store(const SlotValues& v, std::size_t i, const WideComplex& x) {
    store(v.real + i, x.re.high);
    store(v.real_low + i, x.re.low);
    store(v.imag + i, x.im.high);
    store(v.imag_low + i, x.im.low);
  }
  static WideComplex load(const ComplexPairs& t, std::size_t i) {
    return {load(t.real.data() + i, t.real_low.data() + i), load(t.imag.data() + i, t.imag_low.data() + i)};
  }
  static WideComplex broadcast(const ComplexPairs& t, std::size_t i) {
    return {{all(t.real[i]), all(t.real_low[i])}, {all(t.imag[i]), all(t.imag_low[i])}};
  }
  static WideComplex product(const WideComplex& a, const WideComplex& b) {
    return {minus(times<Lanes>(a.re, b.re), times<Lanes>(a.im, b.im)),
            plus(times<Lanes>(a.re, b.im), times<Lanes>(a.im, b.re))};
  }

  /// One step of the transform: (u, v) becomes (u + v, (u - v) w).
  static void part(const SlotValues& values, std::size_t u, std::size_t v, const WideComplex& w) {
    const WideComplex a = load(values, u);
    const WideComplex b = load(values, v);
    store(values, u, {plus(a.re, b.re), plus(a.im, b.im)});
    store(values, v, product({minus(a.re, b.re), minus(a.im, b.im)}, w));
  }

  /// Digits below 2^52, as doubles.
  static Real to_real(const std::uint64_t* p) {
    Whole x;
    std::memcpy(&x, p, sizeof x);
    const Real magic = all(4503599627370496.0);  // 2^52: its lowest bits count units
    return reinterpret_cast<Real>(x | reinterpret_cast<Whole>(magic)) - magic;
  }

  static Pair fraction_at(const DigitFraction& f, std::size_t i) {
    Pair sum{Real{}, Real{}};
    for (std::size_t l = 0; l < f.digits; ++l) {
      const Pair digit{to_real(f.values[l] + i), Real{}};
      sum = plus(sum, times<Lanes>(digit, Pair{all(f.weights[l].high), all(f.weights[l].low)}));
    }
    const auto upper_half = reinterpret_cast<Whole>(sum.high > 0.5);
    return plus(sum, Pair{chosen(upper_half, all(-1.0), Real{}), Real{}});
  }

  static void part_tile(const SlotTables& tables, const SlotValues& tile) {
    for (std::size_t span = kTile / 2; span > 0; span /= 2) {
      for (std::size_t r = 0; r < kTile; ++r) {
        if ((r & span) != 0) continue;
        const WideComplex w = broadcast(tables.roots(), span + r % span);
        for (std::size_t c = 0; c < kTile; c += kLanes) part(tile, r * kTile + c, (r + span) * kTile + c, w);
      }
    }
  }

  static void decode(const SlotTables& tables, const DigitFraction& fraction, const SlotValues& out) {
    const std::size_t n = tables.slots();
    for (std::size_t j = 0; j < n; j += kLanes) {
      const WideComplex m{fraction_at(fraction, j), fraction_at(fraction, n + j)};
      store(out, j, product(m, load(tables.twist(), j)));
    }
    for (std::size_t span = n / 2; span >= kTile; span /= 2) {
      for (std::size_t group = 0; group < n; group += 2 * span) {
        for (std::size_t j = 0; j < span; j += kLanes) {
          part(out, group + j, group + j + span, load(tables.roots(), span + j));
        }
      }
    }
    alignas(64) double tile[4][kTile * kTile];
    double* const parts[4] = {out.real, out.real_low, out.imag, out.imag_low};
    for (std::size_t block = 0; block < n; block += kTile * kTile) {
      for (std::size_t p = 0; p < 4; ++p) turn_tile(tile[p], parts[p] + block);
      part_tile(tables, {tile[0], tile[1], tile[2], tile[3]});
      for (std::size_t p = 0; p < 4; ++p) std::memcpy(parts[p] + block, tile[p], sizeof tile[p]);
    }
  }
};

}  // namespace blindfl::he::lattice
