#include "blindfl/he/paillier/fixed_base.h"

#include <algorithm>

#include "blindfl/base/secret.h"

namespace blindfl::he::paillier {

FixedBase::FixedBase(const Ring& ring, const BigInt& base, std::size_t exponent_bits, std::size_t window)
    : ring_(ring),
      exponent_bits_(exponent_bits),
      window_(window),
      digits_((exponent_bits + window - 1) / window),
      table_(ring, digits_ << window) {
  const std::size_t width = std::size_t{1} << window_;
  // Column 1 of digit i is base^(2^(window i)).
  ring_.write(table_[1], base);
  for (std::size_t i = 1; i < digits_; ++i) {
    const Ring::Row row{table_[i * width + 1], table_[(i - 1) * width + 1]};
    ring_.square({&row, 1}, window_);
  }
  // All digits at once, so that the ring's lanes are full.
  std::vector<Ring::Product> products(digits_);
  for (std::size_t d = 2; d < width; ++d) {
    for (std::size_t i = 0; i < digits_; ++i) {
      products[i] = {table_[i * width + d], table_[i * width + d - 1], table_[i * width + 1]};
    }
    ring_.multiply(products);
  }
}

std::size_t FixedBase::digit(const Limb* exponent, std::size_t index) const {
  const std::size_t bit = index * window_;
  const std::size_t limb = bit / 64;
  const std::size_t offset = bit % 64;
  Limb value = exponent[limb] >> offset;
  if (offset + window_ > 64 && limb + 1 < exponent_limbs()) value |= exponent[limb + 1] << (64 - offset);
  const std::size_t width = std::min(window_, exponent_bits_ - bit);
  return static_cast<std::size_t>(value & ((Limb{1} << width) - 1));
}

void FixedBase::power(std::span<Limb* const> to, std::span<const Limb> exponents) const {
  SecretVector<const Limb*> factors(to.size() * digits_);  // where they point tells the exponents' digits
  std::vector<Ring::Chain> chains;
  chains.reserve(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Limb* exponent = exponents.data() + i * exponent_limbs();
    const Limb** chain = factors.data() + i * digits_;
    for (std::size_t k = 0; k < digits_; ++k) chain[k] = entry(k, digit(exponent, k));
    chains.push_back({to[i], chain, digits_});
  }
  ring_.multiply_chains(chains);
}

}  // namespace blindfl::he::paillier
