#include "blindfl/mpc/bit_products.h"

#include <array>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

/// Bits 0 and 1 of every pad.
std::array<BitShares, 2> lowest_bits(const ot::SecretBlocks& pads) {
  std::array<BitShares, 2> bits{BitShares(pads.size()), BitShares(pads.size())};
  for (std::size_t first = 0; first < pads.size(); first += 64) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = first; i < std::min(first + 64, pads.size()); ++i) {
      low |= (pads[i].low & 1) << (i - first);
      high |= (pads[i].low >> 1 & 1) << (i - first);
    }
    bits[0].words()[first / 64] = low;
    bits[1].words()[first / 64] = high;
  }
  return bits;
}

BitShares product_of(const BitShares& x, const BitShares& y) {
  BitShares product = x;
  for (std::size_t i = 0; i < product.words().size(); ++i) product.words()[i] &= y.words()[i];
  return product;
}

/// c + x' b + y' a + x' y', where x', y' are the opened factors.
BitShares combined(const BitShares& c, const BitShares& b, const BitShares& a, const BitShares& opened_x,
                   const BitShares& opened_y, bool adds_public) {
  const std::uint64_t own = adds_public ? ~std::uint64_t{0} : 0;
  BitShares product = c;
  for (std::size_t i = 0; i < product.words().size(); ++i) {
    const std::uint64_t x = opened_x.words()[i];
    const std::uint64_t y = opened_y.words()[i];
    product.words()[i] ^= (x & b.words()[i]) ^ (y & a.words()[i]) ^ (x & y & own);
  }
  return product;
}

}  // namespace

SharedFactorTriples::SharedFactorTriples(std::size_t count, ot::RandomOtSender& sender,
                                         ot::RandomOtReceiver& receiver) {
  const ot::SenderBatch sent = sender.take(count);
  ot::ReceiverBatch received = receiver.take(count);
  auto [zero, zero_second] = lowest_bits(sent.zero);
  auto [one, one_second] = lowest_bits(sent.one);
  auto [chosen, chosen_second] = lowest_bits(received.pads);
  a = BitShares(count, std::move(received.choices));
  b = zero ^ one;
  b_second = zero_second ^ one_second;
  c = product_of(a, b) ^ zero ^ chosen;
  c_second = product_of(a, b_second) ^ zero_second ^ chosen_second;
}

BitProducts::BitProducts(SharedFactorTriples triples, const BitShares& x, const BitShares& y, const BitShares* z,
                         bool adds_public)
    : triples_(std::move(triples)), adds_public_(adds_public) {
  opened_.push_back(x ^ triples_.a);
  opened_.push_back(y ^ triples_.b);
  if (z != nullptr) opened_.push_back(*z ^ triples_.b_second);
}

void BitProducts::write(ByteSink& out) const {
  for (const BitShares& factor : opened_) factor.write(out);
}

BitProducts::Products BitProducts::finish(std::span<const BitShares> peer) const {
  require<InvalidArgument>(peer.size() == opened_.size(), "products of bits: ", opened_.size(), " factors, not ",
                           peer.size());
  std::vector<BitShares> both = opened_;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] ^= peer[i];
  Products products;
  products.xy = combined(triples_.c, triples_.b, triples_.a, both[0], both[1], adds_public_);
  if (both.size() == 3) {
    products.xz = combined(triples_.c_second, triples_.b_second, triples_.a, both[0], both[2], adds_public_);
  }
  return products;
}

}  // namespace blindfl::mpc
