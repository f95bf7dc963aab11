#include "blindfl/mpc/compare.h"

#include "blindfl/base/error.h"
#include "blindfl/mpc/comparison.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

PartyCost compare_cost(std::size_t values, int bits) {
  return by_party(ComparisonPlan(bits, values).cost());
}

BitShares compare(Session& session, std::uint32_t layer, const ShareMatrix& x, int bits, int dropped) {
  require<InvalidArgument>(dropped >= 0 && dropped < bits, "comparison: ", dropped, " bits of ", bits,
                           " cannot be dropped");
  const ComparisonPlan plan(bits - dropped, x.values().size());
  SecretVector<std::uint64_t> words = low_words(x, bits);
  for (std::uint64_t& word : words) word >>= dropped;
  session.settle();
  reserve(session, by_party(plan.cost()));
  return closing(session, [&] {
    Random random = session.random();
    auto& ots = session.ots();
    Comparison comparison(ComparisonMaterial(plan, role_of(session.party()), ots.sender(), ots.receiver(), random));
    net::Channel& channel = session.channel();
    // One party's message is the other's turn; who begins has one already.
    Bytes out = comparison.start(words);
    for (;;) {
      if (!out.empty()) channel.send({steps::kComparison, layer, out.size()}, out);
      if (comparison.done()) return comparison.take();
      out = comparison.next(channel.receive({steps::kComparison, layer, comparison.expected_bytes()}));
    }
  });
}

}  // namespace blindfl::mpc
