// What a peer sends while a table is looked up by oblivious transfer. Input: a byte, whose bits 0 and 1 say which
// message (0: ask, 1: answer, 2: gather, 3: scatter), bit 2 whether the rest is the message itself or edits of a right
// one (see input.h), bit 3 whether there are bins, bit 4 whether words have 128 bits, bits 5 and 6 the kernels; a byte
// each, the numbers of look-ups and of categories.

#include "blindfl/base/error.h"
#include "blindfl/ot/tables/tables.h"
#include "input.h"
#include "ot/table_pair.h"

namespace {

using namespace blindfl;
using namespace blindfl::ot;

struct Tampering {
  [[nodiscard]] Bytes of(unsigned number, const Bytes& right) {
    if (number != which) return right;
    return whole ? Bytes(input.rest().begin(), input.rest().end()) : fuzz::edited(input, right);
  }
  fuzz::Input& input;
  unsigned which;
  bool whole;
};

/// `step` with a wrong message, and if it is refused, which changes nothing, with the right one.
template <class Step>
auto either(const Bytes& wrong, const Bytes& right, const Step& step) {
  try {
    auto result = step(wrong);
    fuzz::check(wrong.size() == right.size(), "only messages of the right length are accepted");
    fuzz::check(std::equal(wrong.begin(), wrong.begin() + TableBinding::kTagBytes, right.begin()),
                "only messages with the right tag are accepted");
    return result;
  } catch (const ProtocolError&) {
    fuzz::check(wrong != right, "what an honest party sends is not refused");
  }
  return step(right);
}

template <class Word>
void look_up(const TablePlan& plan, const Kernels& kernels, Tampering tampering) {
  static TablePools pools;
  static TableSeeds seeds;
  pools.extend_to(plan.ots());
  Random& random = OtPair::random();
  const auto [lookups, categories, cols] = plan.shape();
  const Categories batch(lookups, static_cast<std::uint32_t>(categories - 1));
  TableChooser chooser(plan, use_of(0), batch, pools.pair.receiver, random, kernels, &seeds);
  TableKeeper keeper(plan, use_of(0), pools.pair.sender, kernels);
  const Bytes ask = chooser.ask();
  const Bytes answer = either(tampering.of(0, ask), ask, [&](const Bytes& m) { return keeper.answer(m, random); });
  either(tampering.of(1, answer), answer, [&](const Bytes& m) {
    chooser.take_keys(m);
    return 0;
  });
  const std::vector<Word> table(categories * cols, 7);
  const std::vector<Word> rows(lookups * cols, 1);
  const auto gathered = keeper.gather(std::span<const Word>(table));
  const auto scattered = keeper.scatter(std::span<const Word>(rows));
  const auto looked_up = either(tampering.of(2, gathered.message), gathered.message,
                                [&](const Bytes& m) { return chooser.gather<Word>(m); });
  const auto sums = either(tampering.of(3, scattered.message), scattered.message,
                           [&](const Bytes& m) { return chooser.scatter<Word>(m); });
  fuzz::check(looked_up.size() == lookups * cols, "every look-up has a share");
  fuzz::check(sums.size() == categories * cols, "every category has a share");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t lookups = 1 + input.take_byte() % 20;
  const std::size_t categories = 1 + input.take_byte() % 64;
  const TablePlan plan({lookups, categories, 2}, (switches & 8) != 0 ? TableWay::kBins : TableWay::kChain);
  const Kernels& kernels = *available_kernels()[(switches >> 5 & 3) % available_kernels().size()];
  const Tampering tampering{input, switches & 3, (switches & 4) != 0};
  if ((switches & 16) != 0) {
    look_up<UInt128>(plan, kernels, tampering);
  } else {
    look_up<std::uint64_t>(plan, kernels, tampering);
  }
  return 0;
}
