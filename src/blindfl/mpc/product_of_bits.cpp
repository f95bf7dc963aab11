#include "blindfl/mpc/product_of_bits.h"

#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

ProductOfBits::ProductOfBits(BitShares bits, ot::RandomOtSender& sender, ot::RandomOtReceiver& receiver,
                             bool adds_public)
    : bits_(std::move(bits)),
      sender_(sender),
      receiver_(receiver),
      adds_public_(adds_public),
      tag_("product of bits", {bits_.size()}, sender, receiver) {}

Bytes ProductOfBits::message() {
  require<InvalidArgument>(!done() && !level_, "product of bits: a message for each level, and the peer's in between");
  const std::size_t half = bits_.size() / 2;
  level_.emplace(SharedFactorTriples(half, sender_, receiver_), slice(bits_, 0, half), slice(bits_, half, half),
                 nullptr, adds_public_);
  BufferSink out;
  if (first_) tag_.write(out);
  level_->write(out);
  return out.take();
}

void ProductOfBits::finish(ByteView theirs) {
  require<InvalidArgument>(level_.has_value(), "product of bits: the peer's message comes after this party's");
  const std::size_t half = bits_.size() / 2;
  const std::size_t expected = level_->planes() * bytes_for_bits(half) + (first_ ? ot::MaterialTag::kBytes : 0);
  require<ProtocolError>(theirs.size() == expected, "product of bits: the peer's message has ", theirs.size(),
                         " bytes, not ", expected);
  BufferSource in(theirs);
  if (first_) tag_.check(in);
  std::vector<BitShares> peer;
  for (std::size_t i = 0; i < level_->planes(); ++i) peer.push_back(BitShares::read(in, half));
  BitShares left(bits_.size() - half);
  const BitShares product = level_->finish(peer).xy;
  for (std::size_t i = 0; i < product.words().size(); ++i) left.words()[i] = product.words()[i];
  if (bits_.size() % 2 != 0) {
    left.words()[half / 64] |= static_cast<std::uint64_t>(bits_.bit(2 * half) ? 1 : 0) << (half % 64);
  }
  bits_ = std::move(left);
  level_.reset();
  first_ = false;
}

bool ProductOfBits::share() const {
  require<InvalidArgument>(bits_.size() == 1, "product of bits: there are ", bits_.size(), " left");
  return bits_.bit(0);
}

// The first level's message begins with a tag: whose random OTs are others must not open anything.
PartyCost product_of_bits_cost(std::size_t bits) {
  PartyCost cost;
  for (; bits > 1; bits -= bits / 2) {
    const std::uint64_t bytes = 2 * bytes_for_bits(bits / 2) + (cost.flights == 0 ? ot::MaterialTag::kBytes : 0);
    cost = cost + PartyCost{bytes, bytes, 1, bits / 2, bits / 2};
  }
  return cost;
}

}  // namespace blindfl::mpc
