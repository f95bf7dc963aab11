#pragma once

#include <immintrin.h>

#include "blindfl/ot/block.h"

// AES-128 by the processor's instructions, 16 bytes at a time: FIPS 197. `Unit`, of an unnamed namespace, keeps what
// each kernel's file makes of this, with its own flags, to that file.

namespace blindfl::ot {

template <class Unit>
struct AesRounds {
  static constexpr std::size_t kRounds = 10;
  static constexpr std::size_t kKeyBytes = 16 * (kRounds + 1);

  static __m128i load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void store(void* p, __m128i x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
  static __m128i round_key(const std::byte* key, std::size_t round) { return load(key + 16 * round); }

  static void expand(const Block* keys, std::size_t count, std::byte* expanded) {
    for (std::size_t i = 0; i < count; ++i) expand_one(load(keys + i), expanded + i * kKeyBytes);
  }

  static void encrypt(const std::byte* key, const Block* in, Block* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      __m128i x = _mm_xor_si128(load(in + i), round_key(key, 0));
      for (std::size_t round = 1; round < kRounds; ++round) x = _mm_aesenc_si128(x, round_key(key, round));
      store(out + i, _mm_aesenclast_si128(x, round_key(key, kRounds)));
    }
  }

 private:
  /// 5.2: each word is the sum of all words up to it, and of one that the last word of the key before made.
  template <int Constant>
  static __m128i next(__m128i key) {
    const __m128i made = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, Constant), 0xFF);
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, made);
  }

  static void expand_one(__m128i key, std::byte* out) {
    store(out, key);
    store(out + 16, key = next<0x01>(key));
    store(out + 32, key = next<0x02>(key));
    store(out + 48, key = next<0x04>(key));
    store(out + 64, key = next<0x08>(key));
    store(out + 80, key = next<0x10>(key));
    store(out + 96, key = next<0x20>(key));
    store(out + 112, key = next<0x40>(key));
    store(out + 128, key = next<0x80>(key));
    store(out + 144, key = next<0x1B>(key));
    store(out + 160, next<0x36>(key));
  }
};

}  // namespace blindfl::ot
