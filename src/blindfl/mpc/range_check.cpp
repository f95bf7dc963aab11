#include "blindfl/mpc/range_check.h"

#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/product_of_bits.h"
#include "blindfl/mpc/steps.h"
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

}  // namespace

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
    auto& ots = session.ots();
    ProductOfBits all(std::move(inside), ots.sender(), ots.receiver(), session.party() == Party::kA);
    while (!all.done()) all.finish(cross(session, steps::kBitProducts, layer, all.message()));
    const Bytes theirs = cross(session, steps::kRangeShare, layer, Bytes{static_cast<std::byte>(all.share() ? 1 : 0)});
    BufferSource in(theirs);
    return in.read_flag() != all.share();
  });
}

}  // namespace blindfl::mpc
