#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "blindfl/app/cli/interruption.h"
#include "blindfl/app/commands/commands.h"
#include "blindfl/app/job/job_options.h"
#include "blindfl/app/link/link_options.h"
#include "blindfl/app/link/steps.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/random.h"
#include "blindfl/net/channel.h"
#include "blindfl/net/steps.h"

namespace blindfl::app {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kGreetingBytes = 64;  // version (32), clock (8), zeros
constexpr std::size_t kVersionBytes = 32;
constexpr std::size_t kRounds = 50;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
constexpr std::uint64_t kFirstPieces = 4;

net::Message ping(std::uint64_t size, std::uint32_t number = 0) {
  return {net::steps::kPing, number, size};
}

std::int64_t unix_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Greeting {
  std::string version;
  std::int64_t clock = 0;
};

Greeting greet(net::Channel& channel) {
  channel.send(ping(kGreetingBytes), [](ByteSink& out) {
    Bytes version(kVersionBytes);
    const auto words = as_bytes(std::string_view(BLINDFL_VERSION).substr(0, kVersionBytes));
    std::copy(words.begin(), words.end(), version.begin());
    out.write(version);
    out.write_u64(static_cast<std::uint64_t>(unix_milliseconds()));
    out.write(Bytes(kGreetingBytes - kVersionBytes - 8));
  });
  Greeting theirs;
  channel.receive(ping(kGreetingBytes), [&](ByteSource& in) {
    Bytes version(kVersionBytes);
    in.read(version);
    for (const std::byte b : version) {
      const auto c = static_cast<char>(b);
      if (c > ' ' && c <= '~') theirs.version += c;
    }
    theirs.clock = static_cast<std::int64_t>(in.read_u64());
    Bytes rest(in.remaining());
    in.read(rest);
  });
  return theirs;
}

/// The dialer asks, the listener answers. Returns the median in seconds.
double round_trip(net::Channel& channel, bool asks) {
  std::vector<double> laps;
  const Bytes eight(8);
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    if (asks) channel.send(ping(8, i), eight);
    (void)channel.receive(ping(8, i));
    if (!asks) channel.send(ping(8, i), eight);
    laps.push_back(Seconds(Clock::now() - begin).count());
  }
  std::ranges::sort(laps);
  return laps[laps.size() / 2];
}

/// Bytes per second of `pieces` messages, seen by their sender: until the receiver says that it has them all.
double send_pieces(net::Channel& channel, std::uint64_t pieces) {
  Bytes piece(kPiece);
  Random().fill(piece);  // a middlebox that compresses must not flatter the link
  channel.send(ping(8), [&](ByteSink& out) { out.write_u64(pieces); });
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < pieces; ++i) channel.send(ping(kPiece), piece);
  (void)channel.receive(ping(8));
  return static_cast<double>(pieces * kPiece) / Seconds(Clock::now() - begin).count();
}

void receive_pieces(net::Channel& channel) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  std::uint64_t pieces = 0;
  channel.receive(ping(8), [&](ByteSource& in) { pieces = in.read_u64(); });
  require<ProtocolError>(pieces <= kMost, "the peer wants to send ", pieces, " MiB for a measurement");
  for (std::uint64_t i = 0; i < pieces; ++i) (void)channel.receive(ping(kPiece));
  channel.send(ping(8), Bytes(8));
}

/// A short try, then as much as takes about `seconds`.
double throughput(net::Channel& channel, double seconds) {
  const double first = send_pieces(channel, kFirstPieces);
  const double pieces = std::clamp(first * seconds / static_cast<double>(kPiece), 1.0, 100'000.0);
  return send_pieces(channel, static_cast<std::uint64_t>(pieces));
}

void tell_dates(const net::GrpcOptions& options, std::ostream& out) {
  if (!options.tls) return;
  const auto days_left = [](const std::string& certificate) {
    return std::chrono::duration_cast<std::chrono::hours>(net::validity_of(certificate).not_after -
                                                          std::chrono::system_clock::now())
               .count() /
           24;
  };
  out << "certificates      this party's valid for " << days_left(options.tls->identity.certificate)
      << " days more, the peer's for " << days_left(options.tls->peer_certificate) << '\n';
}

void measure_link(net::Channel& channel, const net::GrpcOptions& options, double seconds, std::ostream& out) {
  const bool dials = options.role == net::GrpcOptions::Role::kDial;
  const Greeting peer = greet(channel);
  out << "peer              met; it runs BlindFL " << peer.version << '\n';
  if (peer.version != BLINDFL_VERSION) {
    out << "  WARNING: this side runs " << BLINDFL_VERSION << ": both should run the same release\n";
  }
  const double apart = (static_cast<double>(peer.clock) - static_cast<double>(unix_milliseconds())) / 1e3;
  out << "clocks            " << fixed_text(std::abs(apart), 1) << " s apart\n";
  if (std::abs(apart) > 60) out << "  WARNING: certificates have dates: a wrong clock makes them invalid\n";
  tell_dates(options, out);

  const double seconds_per_round = round_trip(channel, dials);
  out << "round trip        " << seconds_text(seconds_per_round) << "\n" << std::flush;
  double to_peer = 0;
  if (dials) {
    to_peer = throughput(channel, seconds);
    for (int i = 0; i < 2; ++i) receive_pieces(channel);
  } else {
    for (int i = 0; i < 2; ++i) receive_pieces(channel);
    to_peer = throughput(channel, seconds);
  }
  // Each side measures what it sends, and tells the other.
  channel.send(ping(8, 1), [&](ByteSink& o) { o.write_u64(static_cast<std::uint64_t>(to_peer)); });
  std::uint64_t from_peer = 0;
  channel.receive(ping(8, 1), [&](ByteSource& in) { from_peer = in.read_u64(); });
  out << "to the peer       " << bytes_text(to_peer) << "/s\n"
      << "from the peer     " << bytes_text(static_cast<double>(from_peer)) << "/s\n";
}

void run_ping(const Arguments& arguments, std::ostream& out) {
  net::GrpcOptions options = read_link_options(arguments);
  options.on_notice = [&out](const net::LinkNotice& notice) { print_notice(notice, /*debug=*/false, out); };
  const auto seconds = static_cast<double>(arguments.integer("seconds", 1, 60));
  if (!options.tls) {
    out << "WARNING: no TLS. Anybody on the way can read and change what is sent, and nobody knows who the peer is.\n";
  }
  Interruption interruption;
  const auto link = std::make_shared<net::GrpcTransport>(options);
  net::Channel channel(link);
  channel.name_steps(all_steps());
  interruption.on_interrupt([&] { link->interrupt(); });
  if (options.role == net::GrpcOptions::Role::kListen) {
    out << "listening         on port " << link->port() << "; waiting for the peer's `blindfl ping --dial`\n";
  } else {
    out << "dialling          " << options.address << '\n';
  }
  out << std::flush;
  try {
    link->wait_for_peer();
    measure_link(channel, options, seconds, out);
  } catch (...) {
    interruption.ignore();
    require<Error>(!interruption.happened(), "stopped; the peer was told");
    throw;
  }
  interruption.ignore();
  out << "The link works.\n";
}

std::string more_help_of_ping() {
  return "One listens, the other dials; both run it within --patience of each other, in any order.\n"
         "\n"
         "examples:\n"
         "  blindfl ping --listen 0.0.0.0:7443 --certificate keys/bank.crt --key keys/bank.key --peer keys/app.crt\n"
         "  blindfl ping --dial bank.example:7443 --certificate keys/app.crt --key keys/app.key --peer keys/bank.crt\n";
}

}  // namespace

Command ping_command() {
  std::vector<Option> options = link_options();
  options.push_back({.name = "seconds",
                     .placeholder = "SECONDS",
                     .summary = "how long to measure the throughput each way, about",
                     .fallback = "2"});
  return {.name = "ping",
          .summary = "tries the link to the peer, who runs it too: certificates, clocks, versions, speed",
          .options = std::move(options),
          .run = run_ping,
          .more_help = more_help_of_ping};
}

}  // namespace blindfl::app
