#include "blindfl/he/lattice/packing.h"

#include <array>

namespace blindfl::he::lattice {

namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kRows = kPackedBlock / kLanes;

}  // namespace

void pack(std::span<const std::uint64_t> values, int bits, std::span<std::uint64_t> words) {
  const std::uint64_t* in = values.data();
  std::uint64_t* out = words.data();
  for (std::size_t block = 0; block < values.size(); block += kPackedBlock) {
    std::array<std::uint64_t, kLanes> word{};
    int filled = 0;
    for (std::size_t row = 0; row < kRows; ++row, in += kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) word[l] |= in[l] << filled;
      filled += bits;
      if (filled < 64) continue;
      filled -= 64;
      for (std::size_t l = 0; l < kLanes; ++l) {
        out[l] = word[l];
        word[l] = filled > 0 ? in[l] >> (bits - filled) : 0;
      }
      out += kLanes;
    }
  }
}

void unpack(std::span<const std::uint64_t> words, int bits, std::span<std::uint64_t> values) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t* in = words.data();
  std::uint64_t* out = values.data();
  for (std::size_t block = 0; block < values.size(); block += kPackedBlock) {
    int used = 0;
    for (std::size_t row = 0; row < kRows; ++row, out += kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) out[l] = in[l] >> used;
      used += bits;
      if (used >= 64) {
        used -= 64;
        in += kLanes;
        if (used > 0) {
          for (std::size_t l = 0; l < kLanes; ++l) out[l] |= in[l] << (bits - used);
        }
      }
      for (std::size_t l = 0; l < kLanes; ++l) out[l] &= mask;
    }
  }
}

}  // namespace blindfl::he::lattice
