// Alignment of ids: both parties in one process over the memory channel, or over TLS on loopback. Wall-clock time, and
// the processor time of both together; what travels is counted.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "blindfl/base/error.h"
#include "blindfl/base/process_usage.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/in_process.h"

namespace {

using namespace blindfl;
using protocol::AlignmentKind;
using protocol::Party;
using Clock = std::chrono::steady_clock;
using Channels = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;

constexpr const char* kUsage =
    "usage: bench_psi [--json] [--ids N] [--common PERCENT] [--kind both|only-b|union] [--link memory|tls] "
    "[--threads N] [--progress yes]\n"
    "  --ids       of each party, 10000 without it\n"
    "  --common    of the ids that the other has too, 50 without it\n"
    "  --kind      only this one\n"
    "  --link      memory without it\n"
    "  --threads   of each party, 1 without it\n"
    "  --progress  A's, on the error stream\n";

struct Options {
  bool json = false;
  std::size_t ids = 10000;
  std::size_t common = 50;
  std::vector<AlignmentKind> kinds{AlignmentKind::kBoth, AlignmentKind::kOnlyB, AlignmentKind::kUnion};
  bool tls = false;
  std::size_t threads = 1;
  bool progress = false;
};

struct Measured {
  double seconds = 0;
  double processor_seconds = 0;  // of both parties, making keys included
  std::uint64_t memory = 0;      // of both parties, the ids themselves not counted
  std::size_t rows = 0;
  std::uint64_t sent_a = 0;
  std::uint64_t sent_b = 0;
};

std::vector<std::string> make_ids(std::size_t first, std::size_t count) {
  std::vector<std::string> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = "customer-" + std::to_string(first + i) + "@example.org";
  return ids;
}

Channels make_channels(bool tls) {
  if (!tls) return net::make_memory_channels();
  const net::Identity first = net::generate_identity("first", 30);
  const net::Identity second = net::generate_identity("second", 30);
  net::GrpcOptions options;
  options.role = net::GrpcOptions::Role::kListen;
  options.address = "127.0.0.1:0";
  options.tls = net::TlsOptions{first, second.certificate};
  const auto listener = std::make_shared<net::GrpcTransport>(options);
  options.role = net::GrpcOptions::Role::kDial;
  options.address = "127.0.0.1:" + std::to_string(listener->port());
  options.tls = net::TlsOptions{second, first.certificate};
  const auto dialer = std::make_shared<net::GrpcTransport>(options);
  dialer->wait_for_peer();
  listener->wait_for_peer();
  return {std::make_unique<net::Channel>(listener), std::make_unique<net::Channel>(dialer)};
}

void show(const protocol::AlignmentProgress& progress) {
  std::cerr << "A: " << progress.done << " of " << progress.total << " points\n";
}

/// One party, from the session on.
struct AtParty {
  double seconds = 0;
  std::size_t rows = 0;
  std::uint64_t sent = 0;
};

AtParty run_party(protocol::Session& session, const std::vector<std::string>& ids,
                  const protocol::AlignmentOptions& options) {
  const std::uint64_t sent_before = net::total(session.channel().sent()).bytes;
  const auto start = Clock::now();
  const std::size_t rows = protocol::align(session, ids, options).size();
  return {std::chrono::duration<double>(Clock::now() - start).count(), rows,
          net::total(session.channel().sent()).bytes - sent_before};
}

Measured measure(const Options& options, AlignmentKind kind) {
  const std::size_t common = options.ids * options.common / 100;
  const auto ids_a = make_ids(0, options.ids);
  const auto ids_b = make_ids(options.ids - common, options.ids);
  const he::LatticeScheme scheme;
  const Channels channels = make_channels(options.tls);
  const auto as = [&](Party party, net::Channel& channel, const std::vector<std::string>& ids) {
    return [&, party] {
      protocol::Session session(party, channel, scheme, {.threads = options.threads});
      protocol::AlignmentOptions alignment{.kind = kind};
      if (options.progress && party == Party::kA) alignment.observer = show;
      return run_party(session, ids, alignment);
    };
  };
  const PeakMemory memory;
  const double processor_before = blindfl::processor_seconds(RUSAGE_SELF);
  const auto [a, b] = protocol::run_both(as(Party::kA, *channels.first, ids_a), as(Party::kB, *channels.second, ids_b),
                                         [&] { channels.first->close(); });
  require<Error>(a.rows == b.rows, "the parties do not have as many rows as each other");
  return {.seconds = std::max(a.seconds, b.seconds),
          .processor_seconds = blindfl::processor_seconds(RUSAGE_SELF) - processor_before,
          .memory = memory.growth(),
          .rows = a.rows,
          .sent_a = a.sent,
          .sent_b = b.sent};
}

void print(const Options& options, AlignmentKind kind, const Measured& m) {
  const double per_second = static_cast<double>(options.ids) / m.seconds;
  if (options.json) {
    std::cout << R"({"kind":")" << name_of(kind) << R"(","ids":)" << options.ids << R"(,"common_percent":)"
              << options.common << R"(,"threads":)" << options.threads << R"(,"link":")"
              << (options.tls ? "tls" : "memory") << R"(","seconds":)" << m.seconds << R"(,"processor_seconds":)"
              << m.processor_seconds << R"(,"ids_per_second":)" << per_second << R"(,"rows":)" << m.rows
              << R"(,"sent_a":)" << m.sent_a << R"(,"sent_b":)" << m.sent_b << R"(,"memory":)" << m.memory << "}"
              << std::endl;
    return;
  }
  std::cout << std::left << std::setw(8) << name_of(kind) << std::right << std::fixed << std::setprecision(2)
            << std::setw(9) << m.seconds << " s, processor " << m.processor_seconds << " s, " << std::setprecision(0)
            << per_second << " ids/s, " << m.rows << " rows, A sends " << m.sent_a << " bytes, B " << m.sent_b
            << ", memory " << m.memory / 1000000 << " MB" << std::endl;
}

AlignmentKind kind_of(const std::string& name) {
  if (name == "both") return AlignmentKind::kBoth;
  if (name == "only-b") return AlignmentKind::kOnlyB;
  require<InvalidArgument>(name == "union", kUsage);
  return AlignmentKind::kUnion;
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage,
                                   {"--ids", "--common", "--kind", "--link", "--threads", "--progress"});
  Options options;
  options.json = arguments.json();
  if (const auto ids = arguments.value("--ids")) options.ids = bench::positive(*ids);
  if (const auto common = arguments.value("--common")) options.common = bench::positive(*common);
  if (const auto kind = arguments.value("--kind")) options.kinds = {kind_of(*kind)};
  if (const auto link = arguments.value("--link")) {
    require<InvalidArgument>(*link == "memory" || *link == "tls", kUsage);
    options.tls = *link == "tls";
  }
  if (const auto threads = arguments.value("--threads")) options.threads = bench::positive(*threads);
  options.progress = arguments.value("--progress") == "yes";
  require<InvalidArgument>(options.common <= 100, "at most 100 percent of the ids are common");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (!options.json) {
    std::cout << options.ids << " ids at each party, " << options.common << "% common, " << options.threads
              << " threads each, " << (options.tls ? "TLS on loopback" : "memory channel") << "\n";
  }
  for (const AlignmentKind kind : options.kinds) print(options, kind, measure(options, kind));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_psi: " << error.what() << "\n";
  return 1;
}
