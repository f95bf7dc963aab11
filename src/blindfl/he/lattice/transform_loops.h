#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "blindfl/he/lattice/modulus.h"

// Short loops over registers must disappear, or the registers become memory. Clang sees that by itself; under
// sanitizers g++ does not take the hint, and says so.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BLINDFL_UNROLL
#else
#define BLINDFL_UNROLL _Pragma("GCC unroll 8")
#endif

namespace blindfl::he::lattice {

/// The transforms among the kernels' loops; kernel_loops.h says what `Lanes` is.
template <class Lanes>
class TransformLoops {
 public:
  static void forward(std::uint64_t* a, const Modulus& modulus) {
    const Passes passes(std::countr_zero(modulus.degree()) - kTail);
    forward_passes(a, modulus, modulus.degree(), passes, kTail == 0);
    if constexpr (kTail > 0) {
      if constexpr (Lanes::kGrows) {
        if (start_of(passes.count, modulus) == From::kGrown) return forward_tail<From::kGrown>(a, modulus);
      }
      forward_tail<From::kLazy>(a, modulus);
    }
  }

  // Side by side, 8 short polynomials go through the stages that one of 8 times the length begins with.
  static void forward_short(std::uint64_t* a, std::size_t count, const Modulus& modulus) {
    forward_passes(a, modulus, 8 * count, Passes(std::countr_zero(count)), true);
  }

  static void inverse(std::uint64_t* a, const Modulus& modulus, const Modulus::Factors& last_stage) {
    inverse_stages(a, modulus, modulus.degree(), modulus.inverse_lane_roots(), last_stage);
  }

  /// The inverse transform of `count` values, with the modulus' roots; `count` is at least kLanes * kLanes.
  static void inverse_stages(std::uint64_t* a, const Modulus& modulus, std::size_t count,
                             const Modulus::LaneFactors& lane_roots, const Modulus::Factors& last_stage) {
    if constexpr (kTail > 0) inverse_tail(a, modulus, count, Lanes::lane_factors(lane_roots));
    const Passes passes(std::countr_zero(count) - kTail);
    std::size_t groups = count / kLanes;
    std::size_t length = kLanes;
    [[maybe_unused]] int grown = kTail;  // stages since values were residues or settled
    for (std::size_t i = passes.count; i-- > 0;) {
      groups >>= passes.each[i];
      length <<= passes.each[i];
      From start = kTail == 0 && i + 1 == passes.count ? From::kResidues : From::kLazy;
      if constexpr (Lanes::kGrows) {
        if (grown + passes.each[i] > Lanes::inverse_stages(modulus)) {
          start = From::kGrown;
          grown = 0;
        }
        grown += passes.each[i];
      }
      const bool last = i == 0;
      if (passes.each[i] == 3) inverse_pass<3>(start, last, a, modulus, last_stage, groups, length);
      if (passes.each[i] == 2) inverse_pass<2>(start, last, a, modulus, last_stage, groups, length);
      if (passes.each[i] == 1) inverse_pass<1>(start, last, a, modulus, last_stage, groups, length);
    }
  }

 private:
  using Value = typename Lanes::Value;
  using Constants = typename Lanes::Constants;
  using Root = typename Lanes::Root;
  static constexpr std::size_t kLanes = Lanes::kLanes;
  static constexpr int kTail = std::countr_zero(kLanes);  // stages with butterflies shorter than a register

  /// How many stages each pass over memory does. Passes of two come first: there, memory is far.
  struct Passes {
    explicit Passes(int stages) {
      while (stages > 0) {
        const int now = stages % Lanes::kStages == 0 ? Lanes::kStages : (stages < 2 ? stages : 2);
        each[count++] = now;
        stages -= now;
      }
    }
    std::array<int, 16> each{};
    std::size_t count = 0;
  };

  /// What a pass takes: residues; lazy values; or lazy values that have grown so much that they are settled: forwards,
  /// those which are not multiplied by a root first.
  enum class From { kResidues, kLazy, kGrown };

  /// The roots of a group and of its halves, quarters and so on.
  template <int Stages>
  static void load_roots(Root* w, const Modulus::Factors& roots, std::size_t group) {
    for (int s = 0; s < Stages; ++s) {
      for (std::size_t h = 0; h < std::size_t{1} << s; ++h) *w++ = Lanes::root(roots, (group << s) + h);
    }
  }

  // The butterflies of a group stand here four times, forwards and backwards, in passes and within registers. Through a
  // function that takes them, g++ 12 keeps the registers in memory: with AVX2 six times slower.

  template <int Stages, From Start, bool Last>
  static void forward_pass(std::uint64_t* a, const Modulus& modulus, std::size_t groups, std::size_t length) {
    constexpr std::size_t kRows = std::size_t{1} << Stages;
    const std::size_t stride = length / kRows;
    const Constants c(modulus);
    for (std::size_t g = 0; g < groups; ++g) {
      Root w[kRows - 1];
      load_roots<Stages>(w, modulus.roots(), groups + g);
      for (std::size_t j = 0; j < stride; j += kLanes) {
        std::uint64_t* p = a + g * length + j;
        Value v[kRows];
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < kRows; ++r) {
          v[r] = Start == From::kResidues ? Lanes::load(p + r * stride) : Lanes::load_lazy(p + r * stride);
          if (Start == From::kGrown && r < kRows / 2) v[r] = Lanes::settled(v[r], c);
        }
        BLINDFL_UNROLL
        for (int s = 0; s < Stages; ++s) {
          const std::size_t half = kRows >> (s + 1);
          BLINDFL_UNROLL
          for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
            BLINDFL_UNROLL
            for (std::size_t r = 0; r < half; ++r) {
              Lanes::forward_butterfly(v[2 * h * half + r], v[2 * h * half + r + half],
                                       w[(std::size_t{1} << s) - 1 + h], c);
            }
          }
        }
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < kRows; ++r) {
          if constexpr (Last) {
            Lanes::store(p + r * stride, Lanes::finished(v[r], c));
          } else {
            Lanes::store_lazy(p + r * stride, v[r]);
          }
        }
      }
    }
  }

  template <int Stages, From Start, bool Last>
  static void inverse_pass(std::uint64_t* a, const Modulus& modulus, const Modulus::Factors& last_stage,
                           std::size_t groups, std::size_t length) {
    constexpr std::size_t kRows = std::size_t{1} << Stages;
    const std::size_t stride = length / kRows;
    const Constants c(modulus);
    const Root by_n = Lanes::root(last_stage, 0);
    const Root by_n_and_root = Lanes::root(last_stage, 1);
    for (std::size_t g = 0; g < groups; ++g) {
      Root w[kRows - 1];
      load_roots<Stages>(w, modulus.inverse_roots(), groups + g);
      for (std::size_t j = 0; j < stride; j += kLanes) {
        std::uint64_t* p = a + g * length + j;
        Value v[kRows];
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < kRows; ++r) {
          v[r] = Start == From::kResidues ? Lanes::load(p + r * stride) : Lanes::load_lazy(p + r * stride);
          if (Start == From::kGrown) v[r] = Lanes::settled(v[r], c);
        }
        BLINDFL_UNROLL
        for (int s = Stages - 1; s >= (Last ? 1 : 0); --s) {
          const std::size_t half = kRows >> (s + 1);
          BLINDFL_UNROLL
          for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
            BLINDFL_UNROLL
            for (std::size_t r = 0; r < half; ++r) {
              Lanes::inverse_butterfly(v[2 * h * half + r], v[2 * h * half + r + half],
                                       w[(std::size_t{1} << s) - 1 + h], c);
            }
          }
        }
        if constexpr (Last) {  // the very last stage also divides by N
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < kRows / 2; ++r) {
            Lanes::last_butterfly(v[r], v[r + kRows / 2], by_n, by_n_and_root, c);
          }
        }
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < kRows; ++r) {
          if constexpr (Last) {
            Lanes::store(p + r * stride, Lanes::finished_last(v[r], c));
          } else {
            Lanes::store_lazy(p + r * stride, v[r]);
          }
        }
      }
    }
  }

  template <int Stages>
  static void forward_pass(From start, bool last, std::uint64_t* a, const Modulus& modulus, std::size_t groups,
                           std::size_t length) {
    if constexpr (Lanes::kGrows) {
      if (start == From::kGrown && last) return forward_pass<Stages, From::kGrown, true>(a, modulus, groups, length);
      if (start == From::kGrown) return forward_pass<Stages, From::kGrown, false>(a, modulus, groups, length);
    }
    const bool first = start == From::kResidues;
    if (first && last) return forward_pass<Stages, From::kResidues, true>(a, modulus, groups, length);
    if (first) return forward_pass<Stages, From::kResidues, false>(a, modulus, groups, length);
    if (last) return forward_pass<Stages, From::kLazy, true>(a, modulus, groups, length);
    forward_pass<Stages, From::kLazy, false>(a, modulus, groups, length);
  }

  template <int Stages>
  static void inverse_pass(From start, bool last, std::uint64_t* a, const Modulus& modulus,
                           const Modulus::Factors& last_stage, std::size_t groups, std::size_t length) {
    if (last) return inverse_pass<Stages, true>(start, a, modulus, last_stage, groups, length);
    inverse_pass<Stages, false>(start, a, modulus, last_stage, groups, length);
  }
  template <int Stages, bool Last>
  static void inverse_pass(From start, std::uint64_t* a, const Modulus& modulus, const Modulus::Factors& last_stage,
                           std::size_t groups, std::size_t length) {
    if constexpr (kTail == 0) {
      if (start == From::kResidues) {
        return inverse_pass<Stages, From::kResidues, Last>(a, modulus, last_stage, groups, length);
      }
    }
    if constexpr (Lanes::kGrows) {
      if (start == From::kGrown) {
        return inverse_pass<Stages, From::kGrown, Last>(a, modulus, last_stage, groups, length);
      }
    }
    inverse_pass<Stages, From::kLazy, Last>(a, modulus, last_stage, groups, length);
  }

  /// What pass number `pass` of the forward transform takes.
  static From start_of(std::size_t pass, const Modulus& modulus) {
    if (pass == 0) return From::kResidues;
    // Settled before every second pass, values grow through at most four stages.
    return pass % 2 == 0 && Lanes::grows(modulus) ? From::kGrown : From::kLazy;
  }

  /// The first stages, on `length` values.
  static void forward_passes(std::uint64_t* a, const Modulus& modulus, std::size_t length, const Passes& passes,
                             bool finish) {
    std::size_t groups = 1;
    for (std::size_t i = 0; i < passes.count; ++i) {
      const From start = start_of(i, modulus);
      const bool last = finish && i + 1 == passes.count;
      if (passes.each[i] == 3) forward_pass<3>(start, last, a, modulus, groups, length);
      if (passes.each[i] == 2) forward_pass<2>(start, last, a, modulus, groups, length);
      if (passes.each[i] == 1) forward_pass<1>(start, last, a, modulus, groups, length);
      groups <<= passes.each[i];
      length >>= passes.each[i];
    }
  }

  /// The stages within a register: kLanes groups of kLanes values are turned so that a group is a lane.
  template <From Start>
  static void forward_tail(std::uint64_t* a, const Modulus& modulus) {
    const Constants c(modulus);
    const auto* factors = Lanes::lane_factors(modulus.lane_roots());
    for (std::size_t block = 0; block < modulus.degree(); block += kLanes * kLanes) {
      std::uint64_t* p = a + block;
      Value v[kLanes];
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kLanes; ++r) v[r] = Lanes::load_lazy(p + kLanes * r);
      Lanes::transpose(v);
      if constexpr (Start == From::kGrown) {
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < kLanes / 2; ++r) v[r] = Lanes::settled(v[r], c);
      }
      BLINDFL_UNROLL
      for (int s = 0; s < kTail; ++s) {
        const std::size_t half = kLanes >> (s + 1);
        BLINDFL_UNROLL
        for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
          const Root w = Lanes::lane_root(factors + ((std::size_t{1} << s) - 1 + h) * 2 * kLanes);
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < half; ++r) {
            Lanes::forward_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, c);
          }
        }
      }
      factors += (kLanes - 1) * 2 * kLanes;
      Lanes::transpose(v);
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kLanes; ++r) Lanes::store(p + kLanes * r, Lanes::finished(v[r], c));
    }
  }

  template <class T>
  static void inverse_tail(std::uint64_t* a, const Modulus& modulus, std::size_t count, const T* factors) {
    const Constants c(modulus);
    for (std::size_t block = 0; block < count; block += kLanes * kLanes) {
      std::uint64_t* p = a + block;
      Value v[kLanes];
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kLanes; ++r) v[r] = Lanes::load(p + kLanes * r);
      Lanes::transpose(v);
      BLINDFL_UNROLL
      for (int s = kTail - 1; s >= 0; --s) {
        const std::size_t half = kLanes >> (s + 1);
        BLINDFL_UNROLL
        for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
          const Root w = Lanes::lane_root(factors + ((std::size_t{1} << s) - 1 + h) * 2 * kLanes);
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < half; ++r) {
            Lanes::inverse_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, c);
          }
        }
      }
      factors += (kLanes - 1) * 2 * kLanes;
      Lanes::transpose(v);
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kLanes; ++r) Lanes::store_lazy(p + kLanes * r, v[r]);
    }
  }
};

}  // namespace blindfl::he::lattice
