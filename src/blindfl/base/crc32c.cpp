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

#if defined(__x86_64__)
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
  for (; n >= 8; p += 8, n -= 8) state = _mm_crc32_u64(state, load64(p));
  auto small = static_cast<std::uint32_t>(state);
  for (; n > 0; ++p, --n) small = _mm_crc32_u8(small, static_cast<unsigned char>(*p));
  return ~small;
}
#endif

}  // namespace

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

std::uint32_t crc32c(ByteView bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(bytes, crc);
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace blindfl
