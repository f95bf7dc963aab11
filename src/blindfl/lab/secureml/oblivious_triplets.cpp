#include "blindfl/lab/secureml/oblivious_triplets.h"

#include <algorithm>
#include <utility>

#include "blindfl/lab/secureml/steps.h"
#include "blindfl/protocol/session/crossing.h"
#include "blindfl/protocol/session/ot_pools.h"

namespace blindfl::lab::secureml {

ObliviousPlan::ObliviousPlan(std::size_t rows, std::size_t inner, std::size_t cols)
    : whole{inner, std::min(rows, cols), std::max(rows, cols)}, chosen_by_v(cols <= rows) {
  require<InvalidArgument>(rows > 0 && inner > 0 && cols > 0, "a triplet of an empty product");
  const std::uint64_t of_step = WordProductShape{1, whole.chosen, whole.packed}.word_bytes();
  at_a_time = std::clamp<std::size_t>(kMostBytes / of_step, 1, inner);
}

WordProductShape ObliviousPlan::piece(std::size_t first) const {
  return {std::min(at_a_time, whole.inner - first), whole.chosen, whole.packed};
}

std::uint64_t ObliviousPlan::bytes() const {
  const std::uint64_t pieces = (whole.inner + at_a_time - 1) / at_a_time;
  const std::uint64_t tags = (pieces - 1) * ot::MaterialTag::kBytes;
  const std::uint64_t ots = whole.ots() * protocol::OtPools::tile_bytes() / ot::kTileOts;
  return 2 * (whole.choice_bytes() + tags + whole.word_bytes() + ots);
}

std::uint64_t ObliviousPlan::memory() const {
  // A message, as it is made and as it arrived; both pads of an OT, and one.
  return 2 * (2 * piece(0).word_bytes() + 3 * sizeof(ot::Block) * piece(0).ots());
}

ObliviousTriplets::ObliviousTriplets(protocol::Session& session)
    : PairTriplets(session.random()), session_(session), layer_(session.new_layer()) {}

Words ObliviousTriplets::cross_products(const Words& left_transposed, const Words& v) {
  const ObliviousPlan plan(left_transposed.cols(), v.rows(), v.cols());
  Words sum(plan.whole.chosen, plan.whole.packed);
  const Words& chosen = plan.chosen_by_v ? v : left_transposed;
  const Words& packed = plan.chosen_by_v ? left_transposed : v;
  for (std::size_t first = 0; first < plan.whole.inner; first += plan.at_a_time) {
    add_piece(plan, first, chosen, packed, sum);
  }
  return plan.chosen_by_v ? transpose(sum) : sum;
}

void ObliviousTriplets::add_piece(const ObliviousPlan& plan, std::size_t first, const Words& chosen,
                                  const Words& packed, Words& sum) {
  const WordProductShape shape = plan.piece(first);
  protocol::OtPools& ots = session_.ots();
  ots.reserve({shape.ots(), shape.ots()});
  protocol::closing(session_, [&] {
    WordProductReceiver receiver(shape, ots.receiver());
    WordProductSender sender(shape, ots.sender());
    const Bytes choices = protocol::cross(session_, steps::kWordChoices, layer_, receiver.choose(chosen, first));
    auto [message, share] = sender.send(choices, packed, first);
    sum += share;
    sum += receiver.finish(protocol::cross(session_, steps::kWordProducts, layer_, message));
  });
}

}  // namespace blindfl::lab::secureml
