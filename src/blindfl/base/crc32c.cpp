#include "blindfl/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace blindfl {

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b] is the effect of byte b followed by k zero bytes: eight bytes are folded in at once.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

std::uint64_t load64(const std::byte* p) {
  std::uint64_t x = 0;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// The instruction takes three cycles and can start anew in each: three runs of bytes go side by side.
constexpr std::size_t kRun = 1024;

// zeros[k][b] is what byte k of a state with value b becomes after a run of zero bytes. States are added up after that:
// the checksum is linear.
using ZeroTables = std::array<std::array<std::uint32_t, 256>, 4>;
constexpr ZeroTables make_zero_tables() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t state = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kRun; ++i) state = (state >> 8) ^ kTables[0][state & 0xFF];
    of_bit[bit] = state;
  }
  ZeroTables zeros{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      for (std::size_t bit = 0; bit < 8; ++bit) zeros[k][b] ^= (b >> bit & 1) != 0 ? of_bit[8 * k + bit] : 0;
    }
  }
  return zeros;
}
constexpr ZeroTables kZeros = make_zero_tables();

std::uint64_t after_zeros(std::uint64_t state) {
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum ^= kZeros[k][(state >> (8 * k)) & 0xFF];
  return sum;
}

std::uint32_t crc32c_portable(ByteView bytes, std::uint32_t crc) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint32_t state = ~crc;
  for (; n >= 8; p += 8, n -= 8) {
    const std::uint64_t x = load64(p) ^ state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(x >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) state = (state >> 8) ^ kTables[0][(state ^ static_cast<std::uint32_t>(*p)) & 0xFF];
  return ~state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t finish_sse42(std::uint64_t state, ByteView bytes) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) state = _mm_crc32_u64(state, load64(p));
  auto small = static_cast<std::uint32_t>(state);
  for (; n > 0; ++p, --n) small = _mm_crc32_u8(small, static_cast<unsigned char>(*p));
  return ~small;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(ByteView bytes, std::uint32_t crc) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t state = ~crc;
  for (; n >= 3 * kRun; p += 3 * kRun, n -= 3 * kRun) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kRun; i += 8) {
      state = _mm_crc32_u64(state, load64(p + i));
      second = _mm_crc32_u64(second, load64(p + kRun + i));
      third = _mm_crc32_u64(third, load64(p + 2 * kRun + i));
    }
    state = after_zeros(after_zeros(state) ^ second) ^ third;
  }
  return finish_sse42(state, {p, n});
}

/// x^bits modulo the polynomial, reflected, and one place up: what a product without carries needs in reflected order.
constexpr std::uint64_t power(std::size_t bits) {
  std::uint32_t state = 0x80000000;
  for (std::size_t i = 0; i < bits; ++i) state = (state >> 1) ^ ((state & 1) != 0 ? kPolynomial : 0);
  return std::uint64_t{state} << 1;
}

// Bytes are a polynomial; 16 of them may be replaced by what they are, `distance` bits further on, modulo that of the
// checksum. Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", 2009; here in vectors of 64
// bytes, four of them side by side to cover the multiplier's latency.
constexpr std::size_t kVector = 64;
constexpr std::size_t kVectors = 4;

struct Fold {
  std::uint64_t low;
  std::uint64_t high;
};
constexpr Fold fold_by(std::size_t distance) {
  return {power(distance + 32), power(distance - 32)};
}

__attribute__((target("avx512f,vpclmulqdq"))) __m512i folded(__m512i x, const Fold& fold) {
  const auto low = static_cast<long long>(fold.low);
  const auto high = static_cast<long long>(fold.high);
  const __m512i factors = _mm512_setr_epi64(low, high, low, high, low, high, low, high);
  return _mm512_xor_si512(_mm512_clmulepi64_epi128(x, factors, 0x00), _mm512_clmulepi64_epi128(x, factors, 0x11));
}

__attribute__((target("avx512f,vpclmulqdq,sse4.2"))) std::uint32_t crc32c_vectors(ByteView bytes, std::uint32_t crc) {
  constexpr Fold kFar = fold_by(8 * kVector * kVectors);
  constexpr Fold kNext = fold_by(8 * kVector);
  if (bytes.size() < kVector * kVectors) return crc32c_sse42(bytes, crc);
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  __m512i x[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) x[i] = _mm512_loadu_si512(p + kVector * i);
  x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc))));
  p += kVector * kVectors;
  n -= kVector * kVectors;
  for (; n >= kVector * kVectors; p += kVector * kVectors, n -= kVector * kVectors) {
    for (std::size_t i = 0; i < kVectors; ++i) {
      x[i] = _mm512_xor_si512(folded(x[i], kFar), _mm512_loadu_si512(p + kVector * i));
    }
  }
  for (std::size_t i = 1; i < kVectors; ++i) x[i] = _mm512_xor_si512(x[i], folded(x[i - 1], kNext));
  __m512i last = x[kVectors - 1];
  for (; n >= kVector; p += kVector, n -= kVector) {
    last = _mm512_xor_si512(folded(last, kNext), _mm512_loadu_si512(p));
  }
  alignas(kVector) std::array<std::byte, kVector> rest;
  _mm512_store_si512(rest.data(), last);
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < kVector; i += 8) state = _mm_crc32_u64(state, load64(rest.data() + i));
  return finish_sse42(state, {p, n});
}

bool has_sse42() {
  return __builtin_cpu_supports("sse4.2") != 0;
}
bool has_vectors() {
  return has_sse42() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
}
#endif

}  // namespace

const std::vector<Crc32cWay>& crc32c_ways() {
  static const std::vector<Crc32cWay> all = [] {
    std::vector<Crc32cWay> ways;
#if defined(__x86_64__)
    if (has_vectors()) ways.push_back({"vectors", crc32c_vectors});
    if (has_sse42()) ways.push_back({"instruction", crc32c_sse42});
#endif
    ways.push_back({"portable", crc32c_portable});
    return ways;
  }();
  return all;
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t crc) {
  static const auto fastest = crc32c_ways().front().of;
  return fastest(bytes, crc);
}

}  // namespace blindfl
