// Comparisons and multiplexers of shared numbers, both parties in one thread: processor time of each, before there are
// values and then, without the random OTs themselves (bench_ot). What travels is counted.

#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "blindfl/base/aligned.h"
#include "blindfl/base/error.h"
#include "blindfl/mpc/comparison.h"
#include "blindfl/mpc/multiplexer.h"
#include "blindfl/ot/setup.h"
#include "timing.h"

namespace {

using namespace blindfl;
using namespace blindfl::mpc;

constexpr const char* kUsage =
    "usage: bench_compare [--json] [--count N] [--bits 32,40,64] [--repeat N]\n"
    "  --count   numbers at a time, 8192 without it\n"
    "  --repeat  of which the median counts, 9 without it\n";

struct Options {
  bool json = false;
  std::size_t count = 8192;
  std::size_t repeat = 9;
  std::vector<std::size_t> bits{32, 40, 64};
};

/// One direction of random OTs.
struct Direction {
  ot::RandomOtSender sender;
  ot::RandomOtReceiver receiver;

  static Direction make(Party sender, Random& random) {
    ot::OtSpec spec;
    spec.sender = sender;
    ot::SenderSetup one(spec, random);
    ot::ReceiverSetup other(spec, random);
    const Bytes hello = other.hello();
    auto [receiver, trees] = std::move(other).finish(one.hello(), random);
    return {std::move(one).finish(hello, trees), std::move(receiver)};
  }
  void extend_to(std::size_t count) {
    if (count <= sender.ready()) return;
    const std::size_t tiles = ot::tiles_for(count - sender.ready());
    sender.extend(receiver.extend(tiles), tiles);
  }
};

struct Parties {
  Random random;
  Direction sent = Direction::make(Party::kA, random);
  Direction received = Direction::make(Party::kB, random);

  void extend_to(const Cost& cost) {
    sent.extend_to(cost.sender_ots);
    received.extend_to(cost.receiver_ots);
  }
};

/// Seconds of each party.
struct Times {
  std::vector<double> sender;
  std::vector<double> receiver;
};

template <class Body>
auto timed(std::vector<double>& into, const Body& body) {
  const double begin = bench::cpu_seconds();
  auto result = body();
  into.push_back(bench::cpu_seconds() - begin);
  return result;
}

/// Adds to the last time.
template <class Body>
auto timed_on(std::vector<double>& into, const Body& body) {
  const double begin = bench::cpu_seconds();
  auto result = body();
  into.back() += bench::cpu_seconds() - begin;
  return result;
}

void compare_once(const ComparisonPlan& plan, Parties& parties, Times& before, Times& online) {
  parties.extend_to(plan.cost());
  SecretVector<std::uint64_t> x(plan.count());
  SecretVector<std::uint64_t> y(plan.count());
  parties.random.fill_integers(std::span(x));
  parties.random.fill_integers(std::span(y));
  Comparison sender(timed(before.sender, [&] {
    return ComparisonMaterial(plan, Role::kSender, parties.sent.sender, parties.received.receiver, parties.random);
  }));
  Comparison receiver(timed(before.receiver, [&] {
    return ComparisonMaterial(plan, Role::kReceiver, parties.received.sender, parties.sent.receiver, parties.random);
  }));
  (void)timed(online.sender, [&] { return sender.start(x); });
  Bytes message = timed(online.receiver, [&] { return receiver.start(y); });
  for (bool to_sender = true; !message.empty(); to_sender = !to_sender) {
    Comparison& to = to_sender ? sender : receiver;
    message = timed_on(to_sender ? online.sender : online.receiver, [&] { return to.next(message); });
  }
  const BitShares result = sender.take() ^ receiver.take();
  require<Error>(result.bit(0) == (((x[0] + y[0]) >> (plan.bits() - 1) & 1) == 0), "a comparison is wrong");
}

void multiplex_once(std::size_t count, Parties& parties, Times& before, Times& online) {
  using Mux = Multiplexer<UInt128>;
  parties.extend_to(Mux::cost(count));
  const BitShares bits(count);
  const SecretVector<UInt128> values(count, 1);
  Mux sender(timed(before.sender,
                   [&] { return MultiplexerMaterial(count, true, parties.sent.sender, parties.received.receiver); }));
  Mux receiver(timed(before.receiver,
                     [&] { return MultiplexerMaterial(count, true, parties.received.sender, parties.sent.receiver); }));
  const Bytes chosen = timed(online.sender, [&] { return sender.choose(bits); });
  const Bytes chosen_too = timed(online.receiver, [&] { return receiver.choose(bits); });
  const Bytes sent = timed_on(online.sender, [&] { return sender.forward(chosen_too, values); });
  const Bytes sent_too = timed_on(online.receiver, [&] { return receiver.forward(chosen, values); });
  (void)timed_on(online.sender, [&] { return sender.finish(sent_too); });
  (void)timed_on(online.receiver, [&] { return receiver.finish(sent); });
}

void print(const Options& options, const std::string& what, const Cost& cost, const Times& before,
           const Times& online) {
  const auto count = static_cast<double>(options.count);
  const auto each = [&](const std::vector<double>& seconds) { return 1e9 * bench::median(seconds) / count; };
  if (options.json) {
    std::cout << R"({"what":")" << what << R"(","count":)" << options.count << R"(,"before_sender_ns":)"
              << each(before.sender) << R"(,"before_receiver_ns":)" << each(before.receiver)
              << R"(,"online_sender_ns":)" << each(online.sender) << R"(,"online_receiver_ns":)"
              << each(online.receiver) << R"(,"sender_bytes":)" << cost.sender_bytes << R"(,"receiver_bytes":)"
              << cost.receiver_bytes << R"(,"flights":)" << cost.flights << R"(,"sender_ots":)" << cost.sender_ots
              << R"(,"receiver_ots":)" << cost.receiver_ots << "}" << std::endl;
    return;
  }
  std::cout << std::left << std::setw(20) << what << std::right << std::fixed << std::setprecision(1) << " before "
            << each(before.sender) << " / " << each(before.receiver) << " ns, online " << each(online.sender) << " / "
            << each(online.receiver) << " ns, " << static_cast<double>(cost.sender_bytes) / count << " / "
            << static_cast<double>(cost.receiver_bytes) / count << " bytes each, " << cost.flights << " flights"
            << std::endl;
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage, {"--count", "--bits", "--repeat"});
  Options options;
  options.json = arguments.json();
  if (const auto count = arguments.value("--count")) options.count = bench::positive(*count);
  if (const auto bits = arguments.value("--bits")) options.bits = bench::positive_list(*bits);
  if (const auto repeat = arguments.value("--repeat")) options.repeat = bench::positive(*repeat);
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  // As in a process that worked with matrices before: glibc then keeps memory of this size instead of asking for new
  // pages every time, which would cost more than what is measured.
  AlignedVector<std::byte>(std::size_t{24} << 20).clear();
  Parties parties;
  if (!options.json) std::cout << options.count << " numbers; sender / receiver, for each number\n";
  for (const std::size_t bits : options.bits) {
    const ComparisonPlan plan(static_cast<int>(bits), options.count);
    Times before;
    Times online;
    for (std::size_t i = 0; i < options.repeat; ++i) compare_once(plan, parties, before, online);
    print(options, "compare " + std::to_string(bits) + " bits", plan.cost(), before, online);
  }
  Times before;
  Times online;
  for (std::size_t i = 0; i < options.repeat; ++i) multiplex_once(options.count, parties, before, online);
  print(options, "multiplex 128 bits", Multiplexer<UInt128>::cost(options.count), before, online);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_compare: " << error.what() << "\n";
  return 1;
}
