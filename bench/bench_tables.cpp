// Embedding tables by oblivious transfer: keys, gather and scatter of each party, in one thread. Processor time; what
// travels is counted. Random OTs are ready before, as bench_ot has them.

#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/ot/setup.h"
#include "blindfl/ot/tables/tables.h"
#include "timing.h"

namespace {

using namespace blindfl;
using namespace blindfl::ot;

constexpr const char* kUsage =
    "usage: bench_tables [--json] [--categories 100,1000,10000] [--lookups N] [--cols N] [--way chain|bins]\n"
    "                    [--repeat N] [--kernels NAME,...]\n"
    "  --lookups  of a batch, 128 without it\n"
    "  --cols     words of a row, 8 without it\n"
    "  --way      the cheaper one without it\n"
    "  --repeat   steps, of which the median counts, 21 without it\n"
    "  --kernels  the fastest without it\n";

struct Options {
  bool json = false;
  std::vector<std::size_t> categories{100, 1000, 10000};
  std::size_t lookups = 128;
  std::size_t cols = 8;
  std::string way;
  std::size_t repeat = 21;
  std::vector<std::string> kernels{std::string(fastest_kernels().name)};
};

/// Seconds of each step, by party.
struct Laps {
  std::vector<double> chooser;
  std::vector<double> keeper;
};

template <class Body>
auto timed(std::vector<double>& laps, const Body& body) {
  const double begin = bench::cpu_seconds();
  auto result = body();
  laps.push_back(bench::cpu_seconds() - begin);
  return result;
}

struct Pools {
  explicit Pools(Random& random) : Pools(SenderSetup(OtSpec{}, random), ReceiverSetup(OtSpec{}, random), random) {}

  RandomOtSender sender;
  RandomOtReceiver receiver;

 private:
  Pools(SenderSetup from, ReceiverSetup to, Random& random) : Pools(finish(std::move(from), std::move(to), random)) {}
  static Pools finish(SenderSetup from, ReceiverSetup to, Random& random) {
    const Bytes from_hello = from.hello();
    const Bytes to_hello = to.hello();
    auto [pool, trees] = std::move(to).finish(from_hello, random);
    return {std::move(from).finish(to_hello, trees), std::move(pool)};
  }
  Pools(RandomOtSender from, RandomOtReceiver to) : sender(std::move(from)), receiver(std::move(to)) {}
};

template <class Word>
struct Bench {
  Bench(const TablePlan& table, const Kernels& k, Pools& p, Random& r)
      : plan(table),
        kernels(k),
        pools(p),
        random(r),
        words(table.shape().categories * table.shape().cols),
        rows(table.shape().lookups * table.shape().cols),
        batch(table.shape().lookups) {
    random.fill_integers(std::span(words));
    random.fill_integers(std::span(rows));
  }

  void step(std::uint64_t number) {
    for (auto& category : batch) category = static_cast<std::uint32_t>(random.below(plan.shape().categories));
    const std::size_t tiles = tiles_for(plan.ots());
    pools.sender.extend(pools.receiver.extend(tiles), tiles);
    TableUse use;
    use.step = number;
    const double begin = bench::cpu_seconds();
    TableChooser chooser(plan, use, batch, pools.receiver, random, kernels, &chooser_seeds);
    const Bytes ask = chooser.ask();
    const double asked = bench::cpu_seconds() - begin;
    TableKeeper keeper(plan, use, pools.sender, kernels, &keeper_seeds);
    const double made = bench::cpu_seconds() - begin;
    const Bytes answer = timed(keys.keeper, [&] { return keeper.answer(ask, random); });
    keys.keeper.back() += made - asked;
    timed(keys.chooser, [&] {
      chooser.take_keys(answer);
      return 0;
    });
    keys.chooser.back() += asked;
    const auto gathered = timed(gather.keeper, [&] { return keeper.gather(std::span<const Word>(words)); });
    const auto mine = timed(gather.chooser, [&] { return chooser.template gather<Word>(gathered.message); });
    const auto scattered = timed(scatter.keeper, [&] { return keeper.scatter(std::span<const Word>(rows)); });
    (void)timed(scatter.chooser, [&] { return chooser.template scatter<Word>(scattered.message); });
    require<Error>(mine[0] + gathered.share[0] == words[batch[0] * plan.shape().cols], "the parties do not agree");
  }

  TablePlan plan;
  const Kernels& kernels;
  Pools& pools;
  Random& random;
  std::vector<Word> words;
  std::vector<Word> rows;
  std::vector<std::uint32_t> batch;
  TableSeeds chooser_seeds;
  TableSeeds keeper_seeds;
  Laps keys;
  Laps gather;
  Laps scatter;
};

template <class Word>
void measure(const Options& options, const TablePlan& plan, const Kernels& kernels, Pools& pools, Random& random) {
  Bench<Word> bench(plan, kernels, pools, random);
  for (std::size_t i = 0; i < options.repeat; ++i) bench.step(i);
  const auto us = [](const std::vector<double>& laps) { return 1e6 * bench::median(laps); };
  const std::string way = plan.way() == TableWay::kBins ? "bins" : "chain";
  const double blocks = plan.rows_blocks(sizeof(Word));
  std::cout << std::fixed << std::setprecision(1);
  if (options.json) {
    std::cout << R"({"kernels":")" << kernels.name << R"(","way":")" << way << R"(","categories":)"
              << plan.shape().categories << R"(,"lookups":)" << plan.shape().lookups << R"(,"cols":)"
              << plan.shape().cols << R"(,"bits":)" << 8 * sizeof(Word) << R"(,"ots":)" << plan.ots()
              << R"(,"ask_bytes":)" << plan.ask_bytes() << R"(,"answer_bytes":)" << plan.answer_bytes()
              << R"(,"gather_bytes":)" << plan.gather_bytes(sizeof(Word)) << R"(,"scatter_bytes":)"
              << plan.scatter_bytes(sizeof(Word));
    for (const auto& [name, laps] :
         {std::pair("keys", &bench.keys), {"gather", &bench.gather}, {"scatter", &bench.scatter}}) {
      std::cout << R"(,")" << name << R"(_us":[)" << us(laps->chooser) << ',' << us(laps->keeper) << ']';
    }
    std::cout << "}" << std::endl;
    return;
  }
  std::cout << std::left << std::setw(9) << kernels.name << std::right << std::setw(7) << plan.shape().categories
            << " categories, " << way << ", " << std::setw(3) << 8 * sizeof(Word) << " bits: keys "
            << us(bench.keys.chooser) << " / " << us(bench.keys.keeper) << " us, " << plan.ots() << " OTs, "
            << plan.ask_bytes() << " + " << plan.answer_bytes() << " bytes; gather " << us(bench.gather.chooser)
            << " / " << us(bench.gather.keeper) << " us, " << plan.gather_bytes(sizeof(Word)) << " bytes; scatter "
            << us(bench.scatter.chooser) << " / " << us(bench.scatter.keeper) << " us, "
            << plan.scatter_bytes(sizeof(Word)) << " bytes; " << std::setprecision(2)
            << 1e3 * us(bench.scatter.keeper) / blocks << " ns a block" << std::endl;
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage,
                                   {"--categories", "--lookups", "--cols", "--way", "--repeat", "--kernels"});
  Options options;
  options.json = arguments.json();
  if (const auto categories = arguments.value("--categories")) options.categories = bench::positive_list(*categories);
  if (const auto lookups = arguments.value("--lookups")) options.lookups = bench::positive(*lookups);
  if (const auto cols = arguments.value("--cols")) options.cols = bench::positive(*cols);
  if (const auto repeat = arguments.value("--repeat")) options.repeat = bench::positive(*repeat);
  if (const auto names = arguments.value("--kernels")) options.kernels = bench::list(*names);
  if (const auto way = arguments.value("--way")) options.way = *way;
  require<InvalidArgument>(options.way.empty() || options.way == "chain" || options.way == "bins", kUsage);
  return options;
}

TablePlan plan_of(const Options& options, std::size_t categories) {
  const TableShape shape{options.lookups, categories, options.cols};
  if (options.way.empty()) return TablePlan(shape);
  return {shape, options.way == "bins" ? TableWay::kBins : TableWay::kChain};
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  // As in a process that worked with matrices before: see bench_ot.cpp.
  AlignedVector<std::byte>(std::size_t{24} << 20).clear();
  Random random;
  Pools pools(random);
  if (!options.json) std::cout << "chooser / keeper, processor time of a step\n";
  for (const std::string& name : options.kernels) {
    for (const std::size_t categories : options.categories) {
      const TablePlan plan = plan_of(options, categories);
      measure<std::uint64_t>(options, plan, kernels_by_name(name), pools, random);
      measure<UInt128>(options, plan, kernels_by_name(name), pools, random);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_tables: " << error.what() << "\n";
  return 1;
}
