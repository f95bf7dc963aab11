// The link between two machines, without the machines: two processes on loopback, mutual TLS 1.3, messages through
// net::Channel; beside what two `openssl` programs copy over TLS 1.3 in the same minute. No libtorch.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/process_usage.h"
#include "blindfl/net/channel.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/steps.h"
#include "openssl_copy.h"
#include "timing.h"

namespace {

using blindfl::Bytes;
using blindfl::ByteSink;
using blindfl::ByteSource;
using blindfl::PeakMemory;
using blindfl::processor_seconds;
using blindfl::bench::Rate;
using blindfl::net::Channel;
using blindfl::net::GrpcOptions;
using blindfl::net::GrpcTransport;
using blindfl::net::Identity;
using blindfl::net::Message;
using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "usage: bench_net [--json] [--seconds N] [--stream GIB]\n"
    "  --seconds   about how long each figure is measured, 2 without it\n"
    "  --stream    instead: one message of this many GiB to a receiver that pauses, and the memory that both take\n";

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::array<std::uint64_t, 3> kSizes{64 << 10, kMiB, 64 * kMiB};
constexpr std::size_t kPiece = 1 << 16;  ///< of what a receiver reads at once
constexpr std::uint64_t kRoundTripBytes = 64;

struct Options {
  bool json = false;
  double seconds = 2;
  std::uint64_t stream_bytes = 0;
};

/// What B does next; A tells it. Both are on one machine, so numbers travel as they are.
struct Order {
  enum class Kind : std::uint64_t { kReceive, kBothWays, kEcho, kStream, kEnd };
  Kind kind = Kind::kEnd;
  std::uint64_t messages = 0;
  std::uint64_t size = 0;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Message message_of(std::uint64_t size) {
  return {blindfl::net::steps::kPing, 0, size};
}

template <class T>
void send_value(Channel& channel, const T& value) {
  channel.send(message_of(sizeof value), std::as_bytes(std::span(&value, 1)));
}
template <class T>
T receive_value(Channel& channel) {
  T value{};
  channel.receive(message_of(sizeof value),
                  [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(&value, 1))); });
  return value;
}

void send_all(Channel& channel, const Order& order, const Bytes& payload) {
  for (std::uint64_t i = 0; i < order.messages; ++i) {
    channel.send(message_of(order.size), blindfl::ByteView(payload).first(order.size));
  }
}

/// Reads in pieces into the same memory, as a scheme does.
void read_message(ByteSource& in, const std::function<void()>& after_each_piece) {
  std::array<std::byte, kPiece> piece{};
  while (in.remaining() > 0) {
    in.read(std::span(piece).first(std::min<std::uint64_t>(kPiece, in.remaining())));
    after_each_piece();
  }
}

void receive_all(Channel& channel, const Order& order) {
  for (std::uint64_t i = 0; i < order.messages; ++i) {
    channel.receive(message_of(order.size), [](ByteSource& in) { read_message(in, [] {}); });
  }
}

void exchange_all(Channel& channel, const Order& order, const Bytes& payload) {
  auto sending = std::async(std::launch::async, [&] { send_all(channel, order, payload); });
  receive_all(channel, order);
  sending.get();
}

// ---- a long message

/// Sends one message from a small buffer, as a scheme that computes its next piece.
std::uint64_t send_stream(Channel& channel, std::uint64_t bytes) {
  const Bytes piece(kMiB, std::byte{0x5a});
  const PeakMemory memory;
  channel.send(message_of(bytes), [&](ByteSink& out) {
    for (std::uint64_t left = bytes; left > 0; left -= std::min(left, kMiB)) {
      out.write(blindfl::ByteView(piece).first(std::min(left, kMiB)));
    }
  });
  return memory.growth();
}

/// Receives it: now and then nothing for half a second, and every other quarter GiB slowly.
std::uint64_t receive_stream(Channel& channel, std::uint64_t bytes) {
  constexpr std::uint64_t kStretch = 256 * kMiB;
  const PeakMemory memory;
  std::uint64_t pieces = 0;
  channel.receive(message_of(bytes), [&](ByteSource& in) {
    read_message(in, [&] {
      const std::uint64_t read = ++pieces * kPiece;
      if (read % kStretch == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      if (read / kStretch % 2 == 1 && read % kMiB == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  });
  return memory.growth();
}

// ---- the two processes

GrpcOptions options_for(GrpcOptions::Role role, int port, const Identity& mine, const Identity& peer) {
  GrpcOptions options;
  options.role = role;
  options.address = "127.0.0.1:" + std::to_string(port);
  options.tls = blindfl::net::TlsOptions{mine, peer.certificate};
  options.patience = std::chrono::seconds(30);
  return options;
}

/// Does what A orders until A has enough.
void run_b(Channel& channel) {
  const Bytes payload(kSizes.back(), std::byte{0x5a});
  while (true) {
    const auto order = receive_value<Order>(channel);
    const double processor_before = processor_seconds(RUSAGE_SELF);
    switch (order.kind) {
      case Order::Kind::kReceive:
        receive_all(channel, order);
        break;
      case Order::Kind::kBothWays:
        exchange_all(channel, order, payload);
        break;
      case Order::Kind::kEcho:
        for (std::uint64_t i = 0; i < order.messages; ++i) {
          channel.send(message_of(order.size), channel.receive(message_of(order.size)));
        }
        break;
      case Order::Kind::kStream:
        send_value(channel, receive_stream(channel, order.size));
        break;
      case Order::Kind::kEnd:
        return;
    }
    // A's clock runs until all has arrived.
    send_value(channel, processor_seconds(RUSAGE_SELF) - processor_before);
  }
}

struct Taken {
  double seconds = 0;
  double processor_seconds = 0;  // at both ends
};

/// Carries out an order that moves messages.
Taken carry_out(Channel& channel, const Order& order, const Bytes& payload) {
  const auto start = Clock::now();
  const double processor_before = processor_seconds(RUSAGE_SELF);
  send_value(channel, order);
  if (order.kind == Order::Kind::kReceive) {
    send_all(channel, order, payload);
  } else {
    exchange_all(channel, order, payload);
  }
  const auto at_b = receive_value<double>(channel);
  return {since(start), at_b + processor_seconds(RUSAGE_SELF) - processor_before};
}

/// Messages of a size that keep the link busy for about `seconds`.
Order order_for(Channel& channel, Order::Kind kind, std::uint64_t size, const Bytes& payload, double seconds) {
  Order order{kind, std::max<std::uint64_t>(1, 128 * kMiB / size), size};
  const double trial = carry_out(channel, order, payload).seconds;
  const double messages = static_cast<double>(order.messages) * seconds / trial;
  order.messages = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(messages));
  return order;
}

Rate measure(Channel& channel, const Order& order, const Bytes& payload) {
  const Taken taken = carry_out(channel, order, payload);
  const double directions = order.kind == Order::Kind::kBothWays ? 2 : 1;
  const double megabytes = directions * static_cast<double>(order.messages * order.size) / 1e6;
  return {megabytes / taken.seconds, 1000 * taken.processor_seconds / megabytes};
}

/// Microseconds of the median round trip of a small message.
double measure_round_trip(Channel& channel, double seconds) {
  const Bytes payload(kRoundTripBytes, std::byte{0x5a});
  const auto trips = static_cast<std::uint64_t>(2000 * seconds);
  send_value(channel, Order{Order::Kind::kEcho, trips, kRoundTripBytes});
  blindfl::bench::Stopwatch watch;
  for (std::uint64_t i = 0; i < trips; ++i) {
    channel.send(message_of(kRoundTripBytes), payload);
    (void)channel.receive(message_of(kRoundTripBytes));
    watch.lap();
  }
  (void)receive_value<double>(channel);
  return 1000 * watch.median_lap();
}

std::string text(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

void print(std::uint64_t size, const Rate& one_way, const Rate& both_ways, const std::optional<Rate>& openssl,
           bool json) {
  const double ratio = openssl ? one_way.megabytes_per_second / openssl->megabytes_per_second : 0;
  if (json) {
    std::cout << R"({"message_bytes":)" << size << R"(,"one_way_mb_s":)" << text(one_way.megabytes_per_second, 1)
              << R"(,"one_way_processor_s_per_gb":)" << text(one_way.processor_seconds_per_gigabyte, 3)
              << R"(,"both_ways_mb_s":)" << text(both_ways.megabytes_per_second, 1);
    if (openssl) {
      std::cout << R"(,"openssl_mb_s":)" << text(openssl->megabytes_per_second, 1)
                << R"(,"openssl_processor_s_per_gb":)" << text(openssl->processor_seconds_per_gigabyte, 3)
                << R"(,"ratio":)" << text(ratio, 3);
    }
    std::cout << "}" << std::endl;
    return;
  }
  std::cout << std::setw(8) << text(static_cast<double>(size) / 1e3, 0) << " |" << std::setw(8)
            << text(one_way.megabytes_per_second, 0) << std::setw(16) << text(one_way.processor_seconds_per_gigabyte, 2)
            << " |" << std::setw(10) << text(both_ways.megabytes_per_second, 0) << " |" << std::setw(8)
            << (openssl ? text(openssl->megabytes_per_second, 0) : "-") << std::setw(16)
            << (openssl ? text(openssl->processor_seconds_per_gigabyte, 2) : "-") << " |" << std::setw(6)
            << (openssl ? text(ratio, 2) : "-") << std::endl;
}

void print_rates(Channel& channel, const Options& options) {
  const blindfl::bench::OpensslCopy openssl;
  if (!options.json) {
    if (!openssl.present()) std::cout << "there is no program openssl here: its columns stay empty\n";
    std::cout << " message | one way   processor s/GB | both ways | openssl  processor s/GB | ratio   (kB; MB/s)\n";
  }
  const Bytes payload(kSizes.back(), std::byte{0x5a});
  for (const std::uint64_t size : kSizes) {
    const Order one_way = order_for(channel, Order::Kind::kReceive, size, payload, options.seconds);
    const Order both_ways = order_for(channel, Order::Kind::kBothWays, size, payload, options.seconds);
    const Rate measured = measure(channel, one_way, payload);
    print(size, measured, measure(channel, both_ways, payload), openssl.rate(one_way.messages * size), options.json);
  }
  const double trip = measure_round_trip(channel, options.seconds);
  if (options.json) {
    std::cout << R"({"message_bytes":)" << kRoundTripBytes << R"(,"round_trip_us":)" << text(trip, 1) << "}\n";
  } else {
    std::cout << "round trip of a message of " << kRoundTripBytes << " bytes, median: " << text(trip, 0) << " us\n";
  }
}

void print_stream(Channel& channel, const Options& options) {
  const auto start = Clock::now();
  send_value(channel, Order{Order::Kind::kStream, 1, options.stream_bytes});
  const std::uint64_t sender = send_stream(channel, options.stream_bytes);
  const auto receiver = receive_value<std::uint64_t>(channel);
  (void)receive_value<double>(channel);
  const double seconds = since(start);
  if (options.json) {
    std::cout << R"({"stream_bytes":)" << options.stream_bytes << R"(,"seconds":)" << text(seconds, 2)
              << R"(,"sender_peak_bytes":)" << sender << R"(,"receiver_peak_bytes":)" << receiver << "}\n";
  } else {
    std::cout << "one message of " << options.stream_bytes / kMiB << " MiB in " << text(seconds, 1)
              << " s; memory beyond the start, at most: sender " << sender / kMiB << " MiB, receiver "
              << receiver / kMiB << " MiB\n";
  }
}

int run_child(int port_pipe, const Identity& mine, const Identity& peer) try {
  const auto link = std::make_shared<GrpcTransport>(options_for(GrpcOptions::Role::kListen, 0, mine, peer));
  Channel channel(link);
  const int port = link->port();
  blindfl::require<blindfl::Error>(write(port_pipe, &port, sizeof port) == sizeof port, "cannot tell the port");
  close(port_pipe);
  run_b(channel);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_net, the receiving process: " << error.what() << "\n";
  return 1;
}

void run_parent(int port_pipe, const Identity& mine, const Identity& peer, const Options& options) {
  int port = 0;
  blindfl::require<blindfl::Error>(read(port_pipe, &port, sizeof port) == sizeof port, "the other process failed");
  close(port_pipe);
  const auto link = std::make_shared<GrpcTransport>(options_for(GrpcOptions::Role::kDial, port, mine, peer));
  Channel channel(link);
  link->wait_for_peer();
  if (options.stream_bytes > 0) {
    print_stream(channel, options);
  } else {
    print_rates(channel, options);
  }
  send_value(channel, Order{});
}

double positive(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  blindfl::require<blindfl::InvalidArgument>(!text.empty() && *end == '\0' && value > 0 && value <= 1000, "'", text,
                                             "' is not a number above 0 and at most 1000");
  return value;
}

std::optional<Options> read_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help") return std::nullopt;
    if (arguments[i] == "--json") {
      options.json = true;
      continue;
    }
    const bool known = arguments[i] == "--seconds" || arguments[i] == "--stream";
    blindfl::require<blindfl::InvalidArgument>(known && i + 1 < arguments.size(), kUsage);
    const double value = positive(arguments[i + 1]);
    if (arguments[i] == "--seconds") {
      options.seconds = value;
    } else {
      options.stream_bytes = static_cast<std::uint64_t>(value * 1024) * kMiB;
    }
    ++i;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::optional<Options> options = read_options({argv + 1, argv + argc});
  if (!options) {
    std::cout << kUsage;
    return 0;
  }
  const Identity a = blindfl::net::generate_identity("a", 1);
  const Identity b = blindfl::net::generate_identity("b", 1);
  std::array<int, 2> port_pipe{};
  blindfl::require<blindfl::Error>(pipe2(port_pipe.data(), O_CLOEXEC) == 0, "cannot make a pipe");
  // gRPC does not survive a fork: neither process has touched it yet.
  const pid_t child = fork();
  blindfl::require<blindfl::Error>(child >= 0, "cannot make a second process");
  if (child == 0) {
    close(port_pipe[0]);
    return run_child(port_pipe[1], b, a);
  }
  close(port_pipe[1]);
  run_parent(port_pipe[0], a, b, *options);
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "bench_net: " << error.what() << "\n";
  return 1;
}
