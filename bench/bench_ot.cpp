// Random OTs: setup, extension and pads of each party, in one thread. Processor time; what travels is counted.

#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/ot/setup.h"
#include "timing.h"

namespace {

using namespace blindfl;
using namespace blindfl::ot;

constexpr const char* kUsage =
    "usage: bench_ot [--json] [--tiles N] [--repeat N] [--depths 2,4,8] [--kernels NAME,...]\n"
    "  --tiles    of 2048 OTs in a message, 32 without it\n"
    "  --repeat   messages, of which the median counts, 9 without it\n"
    "  --depths   of trees: the more, the fewer bytes and the more work\n"
    "  --kernels  all that this processor can run without it\n";

struct Options {
  bool json = false;
  std::size_t tiles = 32;
  std::size_t repeat = 9;
  std::vector<std::size_t> depths{2, 4, 8};
  std::vector<std::string> kernels;
};

struct Measured {
  double sender_setup_ms = 0;
  double receiver_setup_ms = 0;
  std::size_t setup_bytes = 0;
  // For each OT, in ns.
  double sender_extend = 0;
  double receiver_extend = 0;
  double sender_take = 0;
  double receiver_take = 0;
  double bytes = 0;
};

/// Processor time of each call, one after the other.
class Laps {
 public:
  template <class Body>
  auto time(std::vector<double>& laps, const Body& body) {
    const double begin = bench::cpu_seconds();
    auto result = body();
    laps.push_back(bench::cpu_seconds() - begin);
    return result;
  }
};

struct Pools {
  RandomOtSender sender;
  RandomOtReceiver receiver;
};

Pools set_up(const OtSpec& spec, const Kernels& kernels, Random& random, Measured& measured) {
  double begin = bench::cpu_seconds();
  SenderSetup sender(spec, random, kernels);
  const Bytes sender_hello = sender.hello();
  measured.sender_setup_ms = 1e3 * (bench::cpu_seconds() - begin);
  begin = bench::cpu_seconds();
  ReceiverSetup receiver(spec, random, kernels);
  const Bytes receiver_hello = receiver.hello();
  auto [pool, trees] = std::move(receiver).finish(sender_hello, random);
  measured.receiver_setup_ms = 1e3 * (bench::cpu_seconds() - begin);
  measured.setup_bytes = sender_hello.size() + receiver_hello.size() + trees.size();
  begin = bench::cpu_seconds();
  RandomOtSender other = std::move(sender).finish(receiver_hello, trees);
  measured.sender_setup_ms += 1e3 * (bench::cpu_seconds() - begin);
  return {std::move(other), std::move(pool)};
}

Measured measure(const Options& options, std::size_t depth, const Kernels& kernels) {
  Random random;
  OtSpec spec;
  spec.tree_depth = static_cast<int>(depth);
  Measured measured;
  Pools pools = set_up(spec, kernels, random, measured);
  const std::size_t count = options.tiles * kTileOts;
  Laps laps;
  std::vector<double> receiver_extend;
  std::vector<double> sender_extend;
  std::vector<double> receiver_take;
  std::vector<double> sender_take;
  for (std::size_t i = 0; i < options.repeat; ++i) {
    const Bytes message = laps.time(receiver_extend, [&] { return pools.receiver.extend(options.tiles); });
    laps.time(sender_extend, [&] {
      pools.sender.extend(message, options.tiles);
      return 0;
    });
    const ReceiverBatch mine = laps.time(receiver_take, [&] { return pools.receiver.take(count); });
    const SenderBatch theirs = laps.time(sender_take, [&] { return pools.sender.take(count); });
    const bool choice = (mine.choices[0] & 1) != 0;
    require<Error>(mine.pads[0] == (choice ? theirs.one[0] : theirs.zero[0]), "the parties do not agree");
    measured.bytes = static_cast<double>(message.size()) / static_cast<double>(count);
  }
  const auto each = [&](const std::vector<double>& seconds) {
    return 1e9 * bench::median(seconds) / static_cast<double>(count);
  };
  measured.receiver_extend = each(receiver_extend);
  measured.sender_extend = each(sender_extend);
  measured.receiver_take = each(receiver_take);
  measured.sender_take = each(sender_take);
  return measured;
}

void print(const Options& options, std::size_t depth, const Kernels& kernels, const Measured& m) {
  if (options.json) {
    std::cout << R"({"kernels":")" << kernels.name << R"(","depth":)" << depth << R"(,"tiles":)" << options.tiles
              << R"(,"sender_setup_ms":)" << m.sender_setup_ms << R"(,"receiver_setup_ms":)" << m.receiver_setup_ms
              << R"(,"setup_bytes":)" << m.setup_bytes << R"(,"sender_extend_ns":)" << m.sender_extend
              << R"(,"sender_take_ns":)" << m.sender_take << R"(,"receiver_extend_ns":)" << m.receiver_extend
              << R"(,"receiver_take_ns":)" << m.receiver_take << R"(,"bytes_per_ot":)" << m.bytes << "}" << std::endl;
    return;
  }
  std::cout << std::left << std::setw(9) << kernels.name << " depth " << depth << std::right << std::fixed
            << std::setprecision(1) << ": sender " << std::setw(6) << m.sender_extend << " + " << std::setw(5)
            << m.sender_take << " ns, receiver " << std::setw(6) << m.receiver_extend << " + " << std::setw(5)
            << m.receiver_take << " ns, " << m.bytes << " bytes each; setup " << m.sender_setup_ms << " / "
            << m.receiver_setup_ms << " ms, " << m.setup_bytes << " bytes" << std::endl;
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage, {"--tiles", "--repeat", "--depths", "--kernels"});
  Options options;
  options.json = arguments.json();
  if (const auto tiles = arguments.value("--tiles")) options.tiles = bench::positive(*tiles);
  if (const auto repeat = arguments.value("--repeat")) options.repeat = bench::positive(*repeat);
  if (const auto depths = arguments.value("--depths")) options.depths = bench::positive_list(*depths);
  if (const auto names = arguments.value("--kernels")) {
    options.kernels = bench::list(*names);
  } else {
    for (const Kernels* kernels : available_kernels()) options.kernels.emplace_back(kernels->name);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  // As in a process that worked with matrices before: glibc then keeps memory of this size instead of asking for new
  // pages every time, which would cost more than what is measured.
  AlignedVector<std::byte>(std::size_t{24} << 20).clear();
  if (!options.json) std::cout << "for each OT: making it + taking it; sender and receiver; processor time\n";
  for (const std::string& name : options.kernels) {
    for (const std::size_t depth : options.depths) {
      const Kernels& kernels = kernels_by_name(name);
      print(options, depth, kernels, measure(options, depth, kernels));
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_ot: " << error.what() << "\n";
  return 1;
}
