#include "blindfl/mpc/exact_lift.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/bit_to_ring.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

/// Shares of bits as shares of numbers: A sends, B chooses.
SecretVector<UInt128> to_numbers(Session& session, std::uint32_t layer, const BitShares& bits) {
  const Cost cost = bit_to_ring_cost<UInt128>(bits.size());
  const net::Message choices{steps::kChoices, layer, cost.receiver_bytes};
  const net::Message numbers{steps::kSelection, layer, cost.sender_bytes};
  auto& ots = session.ots();
  return closing(session, [&] {
    if (session.party() == Party::kA) {
      BitToRingSender sender(bits.size(), ots.sender());
      auto sent = sender.send<UInt128>(session.channel().receive(choices), bits);
      session.channel().send(numbers, sent.message);
      return std::move(sent.shares);
    }
    BitToRingReceiver receiver(bits.size(), ots.receiver());
    session.channel().send(choices, receiver.choose(bits));
    return receiver.finish<UInt128>(session.channel().receive(numbers));
  });
}

}  // namespace

PartyCost lift_cost(std::size_t values, int ring_bits) {
  return compare_cost(values, ring_bits + 1) + by_party(bit_to_ring_cost<UInt128>(values));
}

// With u and v the shares of s + 2^(k - 1), which is not negative: u + v = s + 2^(k - 1) + w 2^k, and w is whether
// u + v - 2^k is not negative, a number of k + 1 bits.
ShareMatrix lift_by_comparison(Session& session, std::uint32_t layer, const ShareMatrix& share) {
  const int k = share.ring_bits();
  require<InvalidArgument>(k >= 2 && k <= kMostLiftedRing, "a lift by comparison is from a ring of 2 to ",
                           kMostLiftedRing, " bits, not of ", k);
  reserve(session, lift_cost(share.values().size(), k));
  const bool at_a = session.party() == Party::kA;
  const UInt128 middle = UInt128{1} << (k - 1);
  const UInt128 whole = UInt128{1} << k;
  ShareMatrix above(share.rows(), share.cols(), share.scale());
  ShareMatrix compared(share.rows(), share.cols(), share.scale(), k + 1);
  for (std::size_t i = 0; i < share.values().size(); ++i) {
    const UInt128 value = at_a ? low_bits(share.values()[i] + middle, k) : share.values()[i];
    above.values()[i] = value;
    compared.values()[i] = low_bits(at_a ? value - whole : value, k + 1);
  }
  const SecretVector<UInt128> wraps = to_numbers(session, layer, compare(session, layer, compared, k + 1));
  for (std::size_t i = 0; i < wraps.size(); ++i) {
    above.values()[i] -= wraps[i] * whole;
    if (at_a) above.values()[i] -= middle;
  }
  return above;
}

}  // namespace blindfl::mpc
