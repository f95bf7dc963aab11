#include "blindfl/mpc/bit_products.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

/// The even bits of a word, put together.
std::uint64_t even_bits(std::uint64_t x) {
  x &= 0x5555555555555555;
  x = (x | x >> 1) & 0x3333333333333333;
  x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0F;
  x = (x | x >> 4) & 0x00FF00FF00FF00FF;
  x = (x | x >> 8) & 0x0000FFFF0000FFFF;
  return (x | x >> 16) & 0x00000000FFFFFFFF;
}

/// `count` bits, at most 32, to where zeros were.
void put_bits(BitShares& to, std::size_t at, std::uint64_t bits, std::size_t count) {
  const std::size_t shift = at % 64;
  to.words()[at / 64] |= bits << shift;
  if (shift + count > 64) to.words()[at / 64 + 1] |= bits >> (64 - shift);
}

/// Bits 0 and 1 of pads.
struct LowestBits {
  explicit LowestBits(std::size_t count) : first(count), second(count) {}

  void put(std::size_t at, std::span<const ot::Block> pads) {
    constexpr std::size_t kTogether = 32;
    for (; !pads.empty(); pads = pads.subspan(std::min(kTogether, pads.size()))) {
      const std::size_t count = std::min(kTogether, pads.size());
      std::uint64_t both = 0;
      for (std::size_t i = 0; i < count; ++i) both |= (pads[i].low & 3) << (2 * i);
      put_bits(first, at, even_bits(both), count);
      put_bits(second, at, even_bits(both >> 1), count);
      at += count;
    }
  }

  BitShares first;
  BitShares second;
};

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
  LowestBits zero(count);
  LowestBits one(count);
  LowestBits chosen(count);
  sender.take_pieces(count, [&](const ot::SenderPiece& piece) {
    zero.put(piece.first, piece.zero);
    one.put(piece.first, piece.one);
  });
  a = BitShares(
      count, receiver.take_pieces(count, [&](const ot::ReceiverPiece& piece) { chosen.put(piece.first, piece.pads); }));
  b = zero.first ^ one.first;
  b_second = zero.second ^ one.second;
  c = product_of(a, b) ^ zero.first ^ chosen.first;
  c_second = product_of(a, b_second) ^ zero.second ^ chosen.second;
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
