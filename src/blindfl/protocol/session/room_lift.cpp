#include "blindfl/protocol/session/room_lift.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/ot/ring_and.h"
#include "blindfl/protocol/session/crossing.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

namespace {

void check_lift(const RoomLift& lift) {
  require<InvalidArgument>(
      lift.values > 0 && lift.from >= 2 && lift.from < lift.to && lift.to <= ShareMatrix::kMostRingBits, "a lift of ",
      lift.values, " values from a ring of ", lift.from, " bits to one of ", lift.to);
}

/// Of each matrix A sends words for the first half, and B for the rest.
std::size_t first_of(Party sender, std::size_t values) {
  return sender == Party::kA ? 0 : values / 2;
}
std::size_t count_of(Party sender, std::size_t values) {
  return sender == Party::kA ? values / 2 : values - values / 2;
}

ot::RingAndSizes sizes_of(Party sender, std::span<const RoomLift> lifts) {
  std::vector<ot::RingAndRun> runs;
  for (const RoomLift& lift : lifts) {
    runs.push_back({.count = count_of(sender, lift.values), .width = lift.to - lift.from});
  }
  return ot::RingAndSizes(std::move(runs));
}

/// This party's share of s + 2^(k-2).
UInt128 above_zero(UInt128 share, int k, Party party) {
  return low_bits(share + (party == Party::kA ? UInt128{1} << (k - 2) : 0), k);
}

/// Top bits of this party's shares, of those values that `sender` sends words for.
ot::BitWords top_bits(std::span<const LiftedShare> shares, Party party, Party sender, std::size_t count) {
  ot::BitWords words((count + 63) / 64);
  std::size_t at = 0;
  for (const LiftedShare& lifted : shares) {
    const std::span<const UInt128> values = lifted.share.values();
    const int k = lifted.share.ring_bits();
    const std::size_t first = first_of(sender, values.size());
    for (std::size_t i = first; i < first + count_of(sender, values.size()); ++i, ++at) {
      words[at / 64] |= static_cast<std::uint64_t>(above_zero(values[i], k, party) >> (k - 1)) << (at % 64);
    }
  }
  return words;
}

/// Takes what wrapped around off the shares, for those values that `sender` sent words for: `ands` are this party's
/// shares of m n.
void finish_lift(std::vector<ShareMatrix>& results, std::span<const LiftedShare> shares, Party party, Party sender,
                 std::span<const UInt128> ands) {
  std::size_t at = 0;
  for (std::size_t matrix = 0; matrix < shares.size(); ++matrix) {
    const std::span<const UInt128> values = shares[matrix].share.values();
    const int k = shares[matrix].share.ring_bits();
    const UInt128 added = party == Party::kA ? UInt128{1} << (k - 2) : 0;
    const std::size_t first = first_of(sender, values.size());
    for (std::size_t i = first; i < first + count_of(sender, values.size()); ++i, ++at) {
      const UInt128 share = above_zero(values[i], k, party);
      const UInt128 wrapped = (share >> (k - 1)) - ands[at];
      results[matrix].values()[i] = low_bits(share - added - (wrapped << k), shares[matrix].to);
    }
  }
}

}  // namespace

PartyCost room_lift_cost(std::span<const RoomLift> lifts) {
  if (lifts.empty()) return {};
  for (const RoomLift& lift : lifts) check_lift(lift);
  const ot::RingAndSizes from_a = sizes_of(Party::kA, lifts);
  const ot::RingAndSizes from_b = sizes_of(Party::kB, lifts);
  return {.a_bytes = from_b.choice_bytes() + from_a.word_bytes(),
          .b_bytes = from_a.choice_bytes() + from_b.word_bytes(),
          .flights = 2,
          .a_ots = from_a.count(),
          .b_ots = from_b.count()};
}

std::vector<ShareMatrix> lift_with_room(Session& session, std::uint32_t layer, std::span<const LiftedShare> shares,
                                        const Beside& beside) {
  std::vector<RoomLift> lifts;
  std::vector<ShareMatrix> results;
  for (const auto& [share, to] : shares) {
    lifts.push_back({share.values().size(), share.ring_bits(), to});
    check_lift(lifts.back());
    results.emplace_back(share.rows(), share.cols(), share.scale(), to);
  }
  if (shares.empty()) return results;
  session.settle();
  reserve(session, room_lift_cost(lifts));
  const Party me = session.party();
  const Party peer = peer_of(me);
  const ot::RingAndSizes sent = sizes_of(me, lifts);
  const ot::RingAndSizes received = sizes_of(peer, lifts);
  return closing(session, [&] {
    ot::RingAndSender sender(sent, session.ots().sender());
    ot::RingAndReceiver receiver(received, session.ots().receiver());
    const Bytes choices =
        cross(session, steps::kLiftChoices, layer, receiver.choose(top_bits(shares, me, peer, received.count())),
              sent.choice_bytes(), beside);
    const auto [words, own] = sender.send(choices, top_bits(shares, me, me, sent.count()));
    finish_lift(results, shares, me, me, own);
    const Bytes theirs = cross(session, steps::kLiftWords, layer, words, received.word_bytes());
    finish_lift(results, shares, me, peer, receiver.finish(theirs));
    return std::move(results);
  });
}

ShareMatrix lift_with_room(Session& session, std::uint32_t layer, const ShareMatrix& share, int to) {
  const LiftedShare one{share, to};
  return std::move(lift_with_room(session, layer, std::span(&one, 1)).front());
}

}  // namespace blindfl::protocol
