#include "blindfl/mpc/range_check.h"

#include <cmath>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/mpc/bit_products.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

/// z - low and high - z, one below the other. A public constant is added by one party.
ShareMatrix distances(const ShareMatrix& z, double low, double high, Party party) {
  ShareMatrix both(2 * z.rows(), z.cols(), z.scale(), z.ring_bits());
  const auto unit = [&](double x) {
    return party == Party::kA ? static_cast<UInt128>(static_cast<Int128>(std::ldexp(x, z.scale()))) : UInt128{0};
  };
  const std::size_t count = z.values().size();
  for (std::size_t i = 0; i < count; ++i) {
    both.values()[i] = z.values()[i] - unit(low);
    both.values()[count + i] = unit(high) - z.values()[i];
  }
  both.reduce();
  return both;
}

/// The first level's message begins with a tag: whose random OTs are others must not open anything.
PartyCost product_of_bits_cost(std::size_t bits) {
  PartyCost cost;
  for (; bits > 1; bits -= bits / 2) {
    const std::uint64_t bytes = 2 * bytes_for_bits(bits / 2) + (cost.flights == 0 ? ot::MaterialTag::kBytes : 0);
    cost = cost + PartyCost{bytes, bytes, 1, bits / 2, bits / 2};
  }
  return cost;
}

/// Shares of the product of all bits.
BitShares product_of_bits(Session& session, std::uint32_t layer, BitShares bits) {
  auto& ots = session.ots();
  const ot::MaterialTag tag("product of bits", {bits.size()}, ots.sender(), ots.receiver());
  for (bool first = true; bits.size() > 1; first = false) {
    const std::size_t half = bits.size() / 2;
    const BitProducts products(SharedFactorTriples(half, ots.sender(), ots.receiver()), slice(bits, 0, half),
                               slice(bits, half, half), nullptr, session.party() == Party::kA);
    BufferSink out;
    if (first) tag.write(out);
    products.write(out);
    const Bytes theirs = cross(session, steps::kBitProducts, layer, out.bytes());
    BufferSource in(theirs);
    if (first) tag.check(in);
    std::vector<BitShares> peer;
    for (std::size_t i = 0; i < products.planes(); ++i) peer.push_back(BitShares::read(in, half));
    BitShares left(bits.size() - half);
    const BitShares product = products.finish(peer).xy;
    for (std::size_t i = 0; i < product.words().size(); ++i) left.words()[i] = product.words()[i];
    if (bits.size() % 2 != 0) {
      left.words()[half / 64] |= static_cast<std::uint64_t>(bits.bit(2 * half) ? 1 : 0) << (half % 64);
    }
    bits = std::move(left);
  }
  return bits;
}

}  // namespace

BitShares slice(const BitShares& bits, std::size_t first, std::size_t count) {
  require<InvalidArgument>(first <= bits.size() && count <= bits.size() - first, "bits ", first, " to ", first + count,
                           " of ", bits.size());
  BitShares part(count);
  const std::size_t shift = first % 64;
  for (std::size_t i = 0; i < part.words().size(); ++i) {
    const std::size_t word = first / 64 + i;
    part.words()[i] = bits.words()[word] >> shift;
    if (shift != 0 && word + 1 < bits.words().size()) part.words()[i] |= bits.words()[word + 1] << (64 - shift);
  }
  part.clear_tail();
  return part;
}

PartyCost all_in_range_cost(std::size_t values, int bits) {
  return compare_cost(2 * values, bits + 1) + product_of_bits_cost(2 * values) +
         PartyCost{.a_bytes = 1, .b_bytes = 1, .flights = 1};
}

bool all_in_range(Session& session, std::uint32_t layer, const ShareMatrix& z, double low, double high, int bits) {
  const double largest = std::ldexp(1.0, bits - 1 - z.scale());
  require<InvalidArgument>(bits >= 2 && bits < 64 && bits < z.ring_bits(), "range: values of 2 to 63 bits, not ", bits);
  require<InvalidArgument>(low <= high && low >= -largest && high < largest, "range: from ", low, " to ", high,
                           " is not an interval of values of ", bits, " bits at scale ", z.scale());
  reserve(session, all_in_range_cost(z.values().size(), bits));
  BitShares inside = compare(session, layer, distances(z, low, high, session.party()), bits + 1);
  return closing(session, [&] {
    const BitShares all = product_of_bits(session, layer, std::move(inside));
    const Bytes mine{static_cast<std::byte>(all.bit(0) ? 1 : 0)};
    const Bytes theirs = cross(session, steps::kRangeShare, layer, mine);
    BufferSource in(theirs);
    return in.read_flag() != all.bit(0);
  });
}

}  // namespace blindfl::mpc
