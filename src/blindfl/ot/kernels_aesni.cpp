#include "blindfl/ot/kernels.h"

#if defined(__x86_64__) && defined(__AES__) && defined(__AVX2__)

#include <cstring>

#include "blindfl/ot/aes_rounds.h"
#include "blindfl/ot/fold_loop.h"
#include "blindfl/ot/row_loop.h"

namespace blindfl::ot {

namespace {

/// 16 bytes at a time, 8 of them together, to cover the instructions' latency.
struct AesniLanes {
  using Rounds = AesRounds<AesniLanes>;
  static constexpr std::size_t kKeyBytes = Rounds::kKeyBytes;
  static constexpr std::size_t kBlocks = 4;
  static constexpr std::size_t kBytes = 16 * kBlocks;
  struct Piece {
    __m128i x[kBlocks];
  };
  using Counters = Piece;

  static __m128i numbered(std::uint64_t low, std::uint64_t high) {
    return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
  }

  static Piece zero() { return {{_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()}}; }
  static void add(Piece& sum, const Piece& other) {
    for (std::size_t i = 0; i < kBlocks; ++i) sum.x[i] = _mm_xor_si128(sum.x[i], other.x[i]);
  }
  static void store(std::byte* out, const Piece& piece) {
    for (std::size_t i = 0; i < kBlocks; ++i) Rounds::store(out + 16 * i, piece.x[i]);
  }
  static Counters counters(const Block& counter, std::size_t piece) {
    Counters counters;
    const __m128i first = Rounds::load(&counter);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      counters.x[i] = _mm_add_epi64(first, numbered(piece * kBlocks + i, 0));
    }
    return counters;
  }
  static void streams(const std::byte* a, const std::byte* b, const Counters& counters, Piece& x, Piece& y) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      x.x[i] = _mm_xor_si128(counters.x[i], Rounds::round_key(a, 0));
      y.x[i] = _mm_xor_si128(counters.x[i], Rounds::round_key(b, 0));
    }
    for (std::size_t round = 1; round < Rounds::kRounds; ++round) {
      for (std::size_t i = 0; i < kBlocks; ++i) {
        x.x[i] = _mm_aesenc_si128(x.x[i], Rounds::round_key(a, round));
        y.x[i] = _mm_aesenc_si128(y.x[i], Rounds::round_key(b, round));
      }
    }
    for (std::size_t i = 0; i < kBlocks; ++i) {
      x.x[i] = _mm_aesenclast_si128(x.x[i], Rounds::round_key(a, Rounds::kRounds));
      y.x[i] = _mm_aesenclast_si128(y.x[i], Rounds::round_key(b, Rounds::kRounds));
    }
  }
};

constexpr std::size_t kTogether = 8;

void encrypt_together(const std::byte* key, __m128i (&x)[kTogether]) {
  using Rounds = AesniLanes::Rounds;
  for (auto& block : x) block = _mm_xor_si128(block, Rounds::round_key(key, 0));
  for (std::size_t round = 1; round < Rounds::kRounds; ++round) {
    for (auto& block : x) block = _mm_aesenc_si128(block, Rounds::round_key(key, round));
  }
  for (auto& block : x) block = _mm_aesenclast_si128(block, Rounds::round_key(key, Rounds::kRounds));
}

void hash_together(const std::byte* key, const Block* in, __m128i offset, Block* out, std::uint64_t first,
                   std::uint64_t domain) {
  using Rounds = AesniLanes::Rounds;
  __m128i once[kTogether];
  __m128i twice[kTogether];
  for (std::size_t i = 0; i < kTogether; ++i) once[i] = _mm_xor_si128(Rounds::load(in + i), offset);
  encrypt_together(key, once);
  for (std::size_t i = 0; i < kTogether; ++i) {
    twice[i] = _mm_xor_si128(once[i], AesniLanes::numbered(first + i, domain));
  }
  encrypt_together(key, twice);
  for (std::size_t i = 0; i < kTogether; ++i) Rounds::store(out + i, _mm_xor_si128(once[i], twice[i]));
}

void hash(const std::byte* key, const Block* in, const Block& offset, Block* out, std::uint64_t first,
          std::size_t count, std::uint64_t domain) {
  const __m128i added = AesniLanes::Rounds::load(&offset);
  std::size_t done = 0;
  for (; done + kTogether <= count; done += kTogether) {
    hash_together(key, in + done, added, out + done, first + done, domain);
  }
  if (done == count) return;
  Block rest[kTogether] = {};
  std::memcpy(rest, in + done, (count - done) * sizeof(Block));
  hash_together(key, rest, added, rest, first + done, domain);
  std::memcpy(out + done, rest, (count - done) * sizeof(Block));
  explicit_bzero(rest, sizeof rest);
}

struct AesniCipher {
  static void encrypt(const std::byte* key, Block* blocks, std::size_t count) {
    for (std::size_t done = 0; done < count; done += kTogether) {
      __m128i x[kTogether];
      for (std::size_t i = 0; i < kTogether; ++i) x[i] = AesniLanes::Rounds::load(blocks + done + i);
      encrypt_together(key, x);
      for (std::size_t i = 0; i < kTogether; ++i) AesniLanes::Rounds::store(blocks + done + i, x[i]);
    }
  }
};

constexpr std::size_t kSquare = 16;

/// 16 columns of bytes of 32 rows: register c, then, has column c, with row r in byte r.
void load_columns(const std::byte* rows, __m256i (&x)[kSquare]) {
  for (std::size_t i = 0; i < kSquare; ++i) {
    x[i] = _mm256_set_m128i(AesniLanes::Rounds::load(rows + (i + kSquare) * kRowBytes),
                            AesniLanes::Rounds::load(rows + i * kRowBytes));
  }
  // Each step rotates the 8 bits of a byte's number in its lane, register and position, by one: four exchange them.
  for (int step = 0; step < 4; ++step) {
    __m256i y[kSquare];
    for (std::size_t i = 0; i < kSquare / 2; ++i) {
      y[2 * i] = _mm256_unpacklo_epi8(x[i], x[i + kSquare / 2]);
      y[2 * i + 1] = _mm256_unpackhi_epi8(x[i], x[i + kSquare / 2]);
    }
    for (std::size_t i = 0; i < kSquare; ++i) x[i] = y[i];
  }
}

void transpose(const std::byte* rows, Block* out) {
  constexpr std::size_t kRows = 2 * kSquare;
  auto* const bytes = reinterpret_cast<std::byte*>(out);
  for (std::size_t column = 0; column < kRowBytes; column += kSquare) {
    for (std::size_t row = 0; row < kBaseOts; row += kRows) {
      __m256i x[kSquare];
      load_columns(rows + row * kRowBytes + column, x);
      for (std::size_t c = 0; c < kSquare; ++c) {
        std::byte* const to = bytes + 8 * (column + c) * sizeof(Block) + row / 8;
        for (std::size_t bit = 8; bit-- > 0;) {
          const int top_bits = _mm256_movemask_epi8(x[c]);
          std::memcpy(to + bit * sizeof(Block), &top_bits, sizeof top_bits);
          x[c] = _mm256_add_epi8(x[c], x[c]);
        }
      }
    }
  }
}

}  // namespace

const Kernels* aesni_kernels() {
  static constexpr Kernels kKernels = {.name = "aesni",
                                       .key_bytes = AesniLanes::kKeyBytes,
                                       .expand = AesniLanes::Rounds::expand,
                                       .release = nullptr,
                                       .encrypt = AesniLanes::Rounds::encrypt,
                                       .fold = FoldLoop<AesniLanes>::fold,
                                       .transpose = transpose,
                                       .hash = hash,
                                       .grow = RowLoop<AesniCipher>::grow,
                                       .add_rows = RowLoop<AesniCipher>::add_rows};
  static const bool supported = __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("avx2") != 0;
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl::ot

#else

namespace blindfl::ot {

const Kernels* aesni_kernels() {
  return nullptr;
}

}  // namespace blindfl::ot

#endif
