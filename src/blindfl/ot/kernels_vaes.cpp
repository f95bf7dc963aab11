#include "blindfl/ot/kernels.h"

#if defined(__x86_64__) && defined(__VAES__) && defined(__GFNI__) && defined(__AVX512BW__)

#include <cpuid.h>

#include "blindfl/ot/aes_rounds.h"
#include "blindfl/ot/fold_loop.h"

namespace blindfl::ot {

namespace {

/// 64 bytes at a time.
struct VaesLanes {
  using Rounds = AesRounds<VaesLanes>;
  static constexpr std::size_t kKeyBytes = Rounds::kKeyBytes;
  static constexpr std::size_t kVectors = kRowBytes / 64;
  static constexpr std::size_t kBytes = kRowBytes;
  struct Piece {
    __m512i x[kVectors];
  };
  using Counters = Piece;

  static __m512i round_key(const std::byte* key, std::size_t round) {
    return _mm512_broadcast_i32x4(Rounds::round_key(key, round));
  }
  /// Four blocks {first, high}, {first + 1, high}, ...
  static __m512i numbered(std::uint64_t first, std::uint64_t high) {
    const auto n = static_cast<long long>(first);
    const auto h = static_cast<long long>(high);
    return _mm512_setr_epi64(n, h, n + 1, h, n + 2, h, n + 3, h);
  }

  static Piece zero() {
    Piece piece;
    for (auto& x : piece.x) x = _mm512_setzero_si512();
    return piece;
  }
  static void add(Piece& sum, const Piece& other) {
    for (std::size_t i = 0; i < kVectors; ++i) sum.x[i] = _mm512_xor_si512(sum.x[i], other.x[i]);
  }
  static void store(std::byte* out, const Piece& piece) {
    for (std::size_t i = 0; i < kVectors; ++i) _mm512_storeu_si512(out + 64 * i, piece.x[i]);
  }
  static Counters counters(const Block& counter, std::size_t /*piece*/) {
    Counters counters;
    for (std::size_t i = 0; i < kVectors; ++i) counters.x[i] = numbered(counter.low + 4 * i, counter.high);
    return counters;
  }
  static void streams(const std::byte* a, const std::byte* b, const Counters& counters, Piece& x, Piece& y) {
    for (std::size_t i = 0; i < kVectors; ++i) {
      x.x[i] = _mm512_xor_si512(counters.x[i], round_key(a, 0));
      y.x[i] = _mm512_xor_si512(counters.x[i], round_key(b, 0));
    }
    for (std::size_t round = 1; round < Rounds::kRounds; ++round) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        x.x[i] = _mm512_aesenc_epi128(x.x[i], round_key(a, round));
        y.x[i] = _mm512_aesenc_epi128(y.x[i], round_key(b, round));
      }
    }
    for (std::size_t i = 0; i < kVectors; ++i) {
      x.x[i] = _mm512_aesenclast_epi128(x.x[i], round_key(a, Rounds::kRounds));
      y.x[i] = _mm512_aesenclast_epi128(y.x[i], round_key(b, Rounds::kRounds));
    }
  }
};

constexpr std::size_t kTogether = 8;
constexpr std::size_t kBlocksTogether = 4 * kTogether;

void encrypt_together(const std::byte* key, __m512i (&x)[kTogether]) {
  using Rounds = VaesLanes::Rounds;
  for (auto& blocks : x) blocks = _mm512_xor_si512(blocks, VaesLanes::round_key(key, 0));
  for (std::size_t round = 1; round < Rounds::kRounds; ++round) {
    for (auto& blocks : x) blocks = _mm512_aesenc_epi128(blocks, VaesLanes::round_key(key, round));
  }
  for (auto& blocks : x) blocks = _mm512_aesenclast_epi128(blocks, VaesLanes::round_key(key, Rounds::kRounds));
}

/// Which of the 8 words from `at` on are among the first `words`.
__mmask8 words_left(std::size_t at, std::size_t words) {
  const std::size_t left = at < words ? words - at : 0;
  return static_cast<__mmask8>(left < 8 ? (1U << left) - 1 : 0xFF);
}

void hash(const std::byte* key, const Block* in, const Block& offset, Block* out, std::uint64_t first,
          std::size_t count, std::uint64_t domain) {
  const __m512i added = _mm512_broadcast_i32x4(VaesLanes::Rounds::load(&offset));
  for (std::size_t done = 0; done < count; done += kBlocksTogether) {
    __m512i once[kTogether];
    __m512i twice[kTogether];
    for (std::size_t i = 0; i < kTogether; ++i) {
      const std::size_t at = done + 4 * i;
      once[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi64(words_left(2 * at, 2 * count), in + at), added);
    }
    encrypt_together(key, once);
    for (std::size_t i = 0; i < kTogether; ++i) {
      twice[i] = _mm512_xor_si512(once[i], VaesLanes::numbered(first + done + 4 * i, domain));
    }
    encrypt_together(key, twice);
    for (std::size_t i = 0; i < kTogether; ++i) {
      const std::size_t at = done + 4 * i;
      _mm512_mask_storeu_epi64(out + at, words_left(2 * at, 2 * count), _mm512_xor_si512(once[i], twice[i]));
    }
  }
}

/// Round keys in every lane, where each of many rounds finds them in a register or in the nearest cache.
struct LaneKeys {
  explicit LaneKeys(const std::byte* key) {
    for (std::size_t round = 0; round <= VaesLanes::Rounds::kRounds; ++round)
      x[round] = VaesLanes::round_key(key, round);
  }
  /// Everything behind the first key, which what is encrypted has in it already.
  template <std::size_t N>
  void encrypt(__m512i (&blocks)[N]) const {
    for (std::size_t round = 1; round < VaesLanes::Rounds::kRounds; ++round) {
      for (auto& block : blocks) block = _mm512_aesenc_epi128(block, x[round]);
    }
    for (auto& block : blocks) block = _mm512_aesenclast_epi128(block, x[VaesLanes::Rounds::kRounds]);
  }
  __m512i x[VaesLanes::Rounds::kRounds + 1];
};

/// As `Kernels::grow`: four trees in a vector, so a node of all is two.
void grow(const std::byte* key, const Block* parents, std::size_t count, std::uint64_t first, Block* children,
          Block* sums) {
  const LaneKeys keys(key);
  __m512i tweaks[4];
  __m512i totals[4];
  for (std::size_t c = 0; c < 4; ++c) {
    const long long side = c < 2 ? 0 : 1;
    const std::uint64_t number = first + 4 * (c % 2);
    const auto tree = static_cast<long long>(number);
    tweaks[c] =
        _mm512_xor_si512(_mm512_setr_epi64(side, tree, side, tree + 1, side, tree + 2, side, tree + 3), keys.x[0]);
    totals[c] = _mm512_setzero_si512();
  }
  const auto nodes = [&]<std::size_t N>(std::size_t at) {
    __m512i x[4 * N];
    for (std::size_t i = 0; i < 4 * N; ++i) {
      x[i] = _mm512_xor_si512(_mm512_loadu_si512(parents + 8 * (at + i / 4) + 4 * (i % 2)), tweaks[i % 4]);
    }
    keys.encrypt(x);
    for (std::size_t i = 0; i < 4 * N; ++i) {
      x[i] = _mm512_xor_si512(x[i], _mm512_loadu_si512(parents + 8 * (at + i / 4) + 4 * (i % 2)));
      totals[i % 4] = _mm512_xor_si512(totals[i % 4], x[i]);
      _mm512_storeu_si512(children + 16 * at + 4 * i, x[i]);
    }
  };
  std::size_t at = 0;
  for (; at + 2 <= count; at += 2) nodes.template operator()<2>(at);
  if (at < count) nodes.template operator()<1>(at);
  for (std::size_t c = 0; c < 4; ++c) _mm512_storeu_si512(sums + 4 * c, totals[c]);
}

/// Numbers of 64 or of 128 bits. Of a number of 128 the lower half's carry goes into the upper, the next one.
template <bool Wide>
__m512i sum_of(__m512i a, __m512i b) {
  const __m512i sum = _mm512_add_epi64(a, b);
  if constexpr (!Wide) return sum;
  const __mmask8 carries = _kshiftli_mask8(_mm512_mask_cmplt_epu64_mask(0x55, sum, b), 1);
  return _mm512_mask_sub_epi64(sum, carries, sum, _mm512_set1_epi64(-1));
}

/// Four blocks of rows, from block `begin` on, of all leaves. `Spread`: every leaf has a column of its own.
template <bool Wide, bool Spread>
void add_piece(const LaneKeys& keys, const LeafRows& rows, std::size_t begin) {
  constexpr std::size_t kTrees = 8;
  const __mmask8 mask = words_left(2 * begin, 2 * rows.blocks);
  __m512i tweaks[kTrees];
  __m512i totals[kTrees];
  for (std::size_t q = 0; q < kTrees; ++q) {
    tweaks[q] = _mm512_xor_si512(VaesLanes::numbered(begin, rows.first + q), keys.x[0]);
    totals[q] = _mm512_setzero_si512();
  }
  std::byte* const columns = rows.columns + sizeof(Block) * begin;
  const auto column_at = [&](std::size_t column) { return columns + sizeof(Block) * rows.blocks * column; };
  for (std::size_t v = 0; v < rows.count; ++v) {
    const Block* const leaves = rows.leaves + kTrees * v;
    __m512i x[kTrees];
    for (std::size_t q = 0; q < kTrees; ++q) {
      x[q] = _mm512_xor_si512(_mm512_broadcast_i32x4(VaesLanes::Rounds::load(leaves + q)), tweaks[q]);
    }
    keys.encrypt(x);
    for (std::size_t q = 0; q < kTrees; ++q) {
      x[q] = _mm512_xor_si512(x[q], _mm512_broadcast_i32x4(VaesLanes::Rounds::load(leaves + q)));
      totals[q] = sum_of<Wide>(totals[q], x[q]);
    }
    if constexpr (Spread) {
      for (std::size_t q = 0; q < rows.trees; ++q) {
        std::byte* const at = column_at(rows.to[kTrees * v + q]);
        _mm512_mask_storeu_epi64(at, mask, sum_of<Wide>(_mm512_maskz_loadu_epi64(mask, at), x[q]));
      }
    } else {
      std::byte* const at = column_at(v);
      __m512i sum = _mm512_maskz_loadu_epi64(mask, at);
      if (rows.trees == kTrees) {
        for (const __m512i& row : x) sum = sum_of<Wide>(sum, row);
      } else {
        for (std::size_t q = 0; q < rows.trees; ++q) sum = sum_of<Wide>(sum, x[q]);
      }
      _mm512_mask_storeu_epi64(at, mask, sum);
    }
  }
  for (std::size_t q = 0; q < rows.trees; ++q) {
    std::byte* const at = rows.sums + sizeof(Block) * (rows.blocks * q + begin);
    _mm512_mask_storeu_epi64(at, mask, sum_of<Wide>(_mm512_maskz_loadu_epi64(mask, at), totals[q]));
  }
}

void add_rows(const std::byte* key, const LeafRows& rows) {
  const LaneKeys keys(key);
  const auto piece = rows.wide ? (rows.to == nullptr ? add_piece<true, false> : add_piece<true, true>)
                               : (rows.to == nullptr ? add_piece<false, false> : add_piece<false, true>);
  for (std::size_t begin = 0; begin < rows.blocks; begin += 4) piece(keys, rows, begin);
}

/// Takes the number of a byte among N registers, in each lane of 16 bytes: register, then position. Rotates the bits of
/// that number left by one.
template <std::size_t N>
void rotate_numbers(__m512i (&x)[N]) {
  __m512i y[N];
  for (std::size_t i = 0; i < N / 2; ++i) {
    y[2 * i] = _mm512_unpacklo_epi8(x[i], x[i + N / 2]);
    y[2 * i + 1] = _mm512_unpackhi_epi8(x[i], x[i + N / 2]);
  }
  for (std::size_t i = 0; i < N; ++i) x[i] = y[i];
}

/// 8 rows of 64 bytes: register m, lane l, then holds columns 16 l + 2 m and + 1 of bytes, each as 8 columns of bits.
void transpose_group(const std::byte* rows, __m512i (&x)[8]) {
  // The instruction below counts the rows of its matrix from the last.
  for (std::size_t i = 0; i < 8; ++i) x[i] = _mm512_loadu_si512(rows + (7 - i) * kRowBytes);
  for (int step = 0; step < 3; ++step) rotate_numbers(x);
  const __m512i identity = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
  for (auto& words : x) words = _mm512_gf2p8affine_epi64_epi8(identity, words, 0);
}

void transpose(const std::byte* rows, Block* out) {
  constexpr std::size_t kGroups = 16;
  for (std::size_t strip = 0; strip < kRowBytes / 64; ++strip) {
    __m512i columns[8][kGroups];
    for (std::size_t g = 0; g < kGroups; ++g) {
      __m512i x[8];
      transpose_group(rows + 8 * g * kRowBytes + 64 * strip, x);
      for (std::size_t m = 0; m < 8; ++m) columns[m][g] = x[m];
    }
    for (std::size_t m = 0; m < 8; ++m) {
      __m512i(&x)[kGroups] = columns[m];
      for (int step = 0; step < 4; ++step) rotate_numbers(x);
      Block* to = out + 512 * strip + 16 * m;
      for (std::size_t i = 0; i < kGroups; ++i) {
        VaesLanes::Rounds::store(to + i, _mm512_castsi512_si128(x[i]));
        VaesLanes::Rounds::store(to + 128 + i, _mm512_extracti32x4_epi32(x[i], 1));
        VaesLanes::Rounds::store(to + 256 + i, _mm512_extracti32x4_epi32(x[i], 2));
        VaesLanes::Rounds::store(to + 384 + i, _mm512_extracti32x4_epi32(x[i], 3));
      }
    }
  }
}

// Clang 14 knows no __builtin_cpu_supports("vaes").
bool has_vaes_and_gfni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 9 & 1) != 0 && (c >> 8 & 1) != 0;
}

}  // namespace

const Kernels* vaes_kernels() {
  static constexpr Kernels kKernels = {.name = "vaes",
                                       .key_bytes = VaesLanes::kKeyBytes,
                                       .expand = VaesLanes::Rounds::expand,
                                       .release = nullptr,
                                       .encrypt = VaesLanes::Rounds::encrypt,
                                       .fold = FoldLoop<VaesLanes>::fold,
                                       .transpose = transpose,
                                       .hash = hash,
                                       .grow = grow,
                                       .add_rows = add_rows};
  static const bool supported = __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("avx512f") != 0 &&
                                __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                                __builtin_cpu_supports("avx512dq") != 0 && has_vaes_and_gfni();
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl::ot

#else

namespace blindfl::ot {

const Kernels* vaes_kernels() {
  return nullptr;
}

}  // namespace blindfl::ot

#endif
