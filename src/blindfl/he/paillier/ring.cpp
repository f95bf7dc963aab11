#include "blindfl/he/paillier/ring.h"

#include <algorithm>
#include <array>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/ring_base.h"

namespace blindfl::he::paillier {

namespace {

constexpr std::string_view kIfma = "ifma";
constexpr std::string_view kPortable = "portable";
constexpr std::array<std::size_t, 5> kBits = {512, 1024, 1536, 2048, 3072};

}  // namespace

const std::vector<std::string_view>& available_kernels() {
  static const std::vector<std::string_view> names =
      ifma_is_supported() ? std::vector{kIfma, kPortable} : std::vector{kPortable};
  return names;
}

std::shared_ptr<const Ring> make_ring(const BigInt& m, std::string_view kernels) {
  const bool known_size = std::ranges::any_of(kBits, [&](std::size_t bits) { return bits - m.bits() <= 1; });
  require<InvalidArgument>(m.sign() > 0 && mpz_tstbit(m, 0) != 0 && known_size,
                           "a modulus is odd and has 512, 1024, 1536, 2048 or 3072 bits, not ", m.bits());
  const auto& available = available_kernels();
  if (std::ranges::find(available, kernels) == available.end()) {
    std::string names;
    for (const std::string_view name : available) {
      names += names.empty() ? "" : ", ";
      names += name;
    }
    fail<InvalidArgument>("this processor cannot run the kernels '", kernels, "'; it can run: ", names);
  }
  return kernels == kIfma ? make_ifma_ring(m) : make_portable_ring(m);
}

}  // namespace blindfl::he::paillier
