// Alignment of ids: all parties in one process over memory channels, or over TLS on loopback. Wall-clock time, and the
// processor time of all together; what travels is counted. With several A's each has a link to B, and the sizes are
// those of one link.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
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
#include "blindfl/protocol/align/psi_all.h"
#include "blindfl/protocol/session/in_process.h"

namespace {

using namespace blindfl;
using protocol::AlignmentKind;
using protocol::Party;
using Clock = std::chrono::steady_clock;
using Channels = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;

constexpr const char* kUsage =
    "usage: bench_psi [--json] [--ids N] [--common PERCENT] [--kind both|only-b|union] [--link memory|tls] "
    "[--threads N] [--peers M] [--progress yes]\n"
    "  --ids       of each party, 10000 without it\n"
    "  --common    of the ids that the other has too, 50 without it\n"
    "  --kind      only this one\n"
    "  --link      memory without it\n"
    "  --threads   of each party, 1 without it; of several A's each, and of B for each of them\n"
    "  --peers     A's, 1 without it; with several, of the kind both\n"
    "  --progress  A's, on the error stream\n";

struct Options {
  bool json = false;
  std::size_t ids = 10000;
  std::size_t common = 50;
  std::vector<AlignmentKind> kinds{AlignmentKind::kBoth, AlignmentKind::kOnlyB, AlignmentKind::kUnion};
  bool tls = false;
  std::size_t threads = 1;
  std::size_t peers = 1;
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

/// Secrets of all pairs of A's.
std::vector<protocol::AlignedPeers> make_peers(std::size_t count) {
  std::vector<protocol::AlignedPeers> peers(count);
  Random random;
  for (std::size_t i = 0; i < count; ++i) {
    peers[i].own = i;
    peers[i].secrets.resize(count);
    for (std::size_t j = 0; j < count; ++j) peers[i].names.push_back(std::string("A").append(std::to_string(j + 1)));
    for (std::size_t j = 0; j < i; ++j) {
      peers[i].secrets[j].resize(protocol::kPairSecretBytes);
      random.fill(peers[i].secrets[j]);
      peers[j].secrets[i] = peers[i].secrets[j];
    }
  }
  return peers;
}

/// B with all A's, whose ids are alike but for those that no other party has.
class Star {
 public:
  explicit Star(const Options& options) : options_(options), peers_(make_peers(options.peers)) {
    const std::size_t common = options.ids * options.common / 100;
    ids_of_b_ = make_ids(0, options.ids);
    for (std::size_t a = 0; a < options.peers; ++a) {
      ids_.push_back(make_ids(0, common));
      const auto own = make_ids((a + 1) * options.ids, options.ids - common);
      ids_.back().insert(ids_.back().end(), own.begin(), own.end());
      links_.push_back(make_channels(options.tls));
    }
  }

  Measured run() {
    const PeakMemory memory;
    const double processor_before = blindfl::processor_seconds(RUSAGE_SELF);
    std::vector<std::future<AtParty>> running;
    for (std::size_t a = 0; a < links_.size(); ++a) {
      running.push_back(std::async(std::launch::async, [this, a] { return run_a(a); }));
    }
    const AtParty b = run_b();
    Measured measured{.seconds = b.seconds, .rows = b.rows, .sent_b = b.sent / links_.size()};
    for (std::future<AtParty>& one : running) {
      const AtParty a = one.get();
      require<Error>(a.rows == b.rows, "the parties do not have as many rows as each other");
      measured.seconds = std::max(measured.seconds, a.seconds);
      measured.sent_a = a.sent;
    }
    measured.processor_seconds = blindfl::processor_seconds(RUSAGE_SELF) - processor_before;
    measured.memory = memory.growth();
    return measured;
  }

 private:
  AtParty run_a(std::size_t a) {
    try {
      protocol::Session session(Party::kA, *links_[a].first, scheme_, {.threads = options_.threads});
      protocol::AlignmentOptions alignment;
      if (options_.progress && a == 0) alignment.observer = show;
      return timed(session, ids_[a], peers_[a], alignment);
    } catch (...) {
      links_[a].first->close();
      throw;
    }
  }

  AtParty run_b() {
    std::vector<std::unique_ptr<protocol::Session>> sessions;
    std::vector<protocol::Session*> all;
    for (const Channels& link : links_) {
      sessions.push_back(std::make_unique<protocol::Session>(Party::kB, *link.second, scheme_,
                                                             protocol::SessionOptions{.threads = options_.threads}));
      all.push_back(sessions.back().get());
    }
    return timed(protocol::Sessions(all), ids_of_b_, {.names = peers_.front().names}, {});
  }

  static AtParty timed(const protocol::Sessions& sessions, const std::vector<std::string>& ids,
                       const protocol::AlignedPeers& peers, const protocol::AlignmentOptions& alignment) {
    const std::uint64_t sent_before = sessions.sent().bytes;
    const auto start = Clock::now();
    const std::size_t rows = protocol::align_all(sessions, ids, peers, alignment).size();
    return {std::chrono::duration<double>(Clock::now() - start).count(), rows, sessions.sent().bytes - sent_before};
  }

  const Options& options_;
  const he::LatticeScheme scheme_;
  std::vector<protocol::AlignedPeers> peers_;
  std::vector<std::vector<std::string>> ids_;
  std::vector<std::string> ids_of_b_;
  std::vector<Channels> links_;
};

Measured measure(const Options& options, AlignmentKind kind) {
  if (options.peers > 1) return Star(options).run();
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
              << options.common << R"(,"threads":)" << options.threads << R"(,"peers":)" << options.peers
              << R"(,"link":")" << (options.tls ? "tls" : "memory") << R"(","seconds":)" << m.seconds
              << R"(,"processor_seconds":)" << m.processor_seconds << R"(,"ids_per_second":)" << per_second
              << R"(,"rows":)" << m.rows << R"(,"sent_a":)" << m.sent_a << R"(,"sent_b":)" << m.sent_b
              << R"(,"memory":)" << m.memory << "}" << std::endl;
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
                                   {"--ids", "--common", "--kind", "--link", "--threads", "--peers", "--progress"});
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
  if (const auto peers = arguments.value("--peers")) options.peers = bench::positive(*peers);
  if (options.peers > 1) options.kinds = {AlignmentKind::kBoth};
  options.progress = arguments.value("--progress") == "yes";
  require<InvalidArgument>(options.common <= 100, "at most 100 percent of the ids are common");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (!options.json) {
    std::cout << options.peers << " A's, " << options.ids << " ids at each party, " << options.common << "% common, "
              << options.threads << " threads each, " << (options.tls ? "TLS on loopback" : "memory channel") << "\n";
  }
  for (const AlignmentKind kind : options.kinds) print(options, kind, measure(options, kind));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_psi: " << error.what() << "\n";
  return 1;
}
