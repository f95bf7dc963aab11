#pragma once

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "blindfl/base/random.h"
#include "testing/loopback.h"

namespace blindfl::testing {

/// A TCP proxy on loopback that does to a link what networks do: cuts it, holds it up, slows it down, changes bytes.
class FaultProxy {
 public:
  /// Forwards to 127.0.0.1:`target`. `seed` decides where it cuts.
  explicit FaultProxy(int target, std::uint64_t seed = 1) : target_(target), random_(seed) {
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listening_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listening_, 16) != 0 ||
        getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("the proxy cannot listen");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;
  ~FaultProxy() {
    stopping_ = true;
    thread_.join();
    for (Pair& pair : pairs_) close_pair(pair);
    close(listening_);
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int cuts() const { return cuts_; }

  /// Cuts every connection now.
  void cut() { cut_now_ = true; }
  /// Cuts a connection after about this many bytes, again and again; 0: never.
  void cut_every(std::uint64_t bytes) { cut_every_ = bytes; }
  /// Forwards nothing, and closes nothing, while it holds.
  void hold(bool on) { holding_ = on; }
  /// Refuses new connections while it is on.
  void refuse(bool on) { refusing_ = on; }
  /// Bytes come out this much later than they went in.
  void delay(std::chrono::milliseconds by) { delay_ = by; }
  /// Changes one bit of every connection after this many bytes; 0: never.
  void garble_after(std::uint64_t bytes) { garble_after_ = bytes; }
  /// Bytes per second each way; 0: as fast as it goes.
  void throttle(std::uint64_t rate) { rate_ = rate; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  struct Way {
    int from = -1;
    int to = -1;
    std::deque<Held> held;
    Clock::time_point free_at{};
  };
  struct Pair {
    Way ways[2];
    std::uint64_t carried = 0;
    std::uint64_t cut_at = 0;
    bool garbled = false;
    bool over = false;
  };

  static void close_pair(Pair& pair) {
    // Without lingering: what is under way is lost, as on a cut line.
    const linger hard{1, 0};
    for (const Way& way : pair.ways) {
      setsockopt(way.from, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
      close(way.from);
    }
  }

  void accept_one() {
    const int client = accept(listening_, nullptr, nullptr);
    if (client < 0) return;
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(target_);
    if (refusing_ || connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(server);
      close(client);
      return;
    }
    const int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Pair pair;
    pair.ways[0] = {client, server, {}, {}};
    pair.ways[1] = {server, client, {}, {}};
    const std::uint64_t every = cut_every_;
    if (every > 0) pair.cut_at = every / 2 + random_.below(every);
    pairs_.push_back(std::move(pair));
  }

  void take(Pair& pair, Way& way) {
    std::vector<char> bytes(65536);
    const ssize_t got = recv(way.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) pair.over = true;
    if (got < 0) pair.over = errno != EAGAIN && errno != EWOULDBLOCK;
    if (got <= 0) return;
    bytes.resize(static_cast<std::size_t>(got));
    pair.carried += bytes.size();
    if (garble_after_ > 0 && !pair.garbled && pair.carried > garble_after_) {
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      pair.garbled = true;
    }
    auto due = Clock::now() + delay_.load();
    if (rate_ > 0) {
      way.free_at =
          std::max(way.free_at, Clock::now()) + std::chrono::nanoseconds(1000000000ULL * bytes.size() / rate_);
      due = std::max(due, way.free_at);
    }
    way.held.push_back({due, std::move(bytes)});
  }

  static void give(Pair& pair, Way& way) {
    while (!way.held.empty() && way.held.front().due <= Clock::now()) {
      auto& bytes = way.held.front().bytes;
      const ssize_t sent = send(way.to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        pair.over = errno != EAGAIN && errno != EWOULDBLOCK;
        return;
      }
      bytes.erase(bytes.begin(), bytes.begin() + sent);
      if (bytes.empty()) way.held.pop_front();
    }
  }

  void run() {
    constexpr std::size_t kMostHeld = 64;
    while (!stopping_) {
      std::vector<pollfd> waiting{{listening_, POLLIN, 0}};
      bool held = false;
      for (const Pair& pair : pairs_) {
        for (const Way& way : pair.ways) {
          held = held || !way.held.empty();
          if (way.held.size() < kMostHeld && !holding_) waiting.push_back({way.from, POLLIN, 0});
        }
      }
      poll(waiting.data(), waiting.size(), held ? 1 : 20);
      if ((waiting[0].revents & POLLIN) != 0) accept_one();
      const bool cut_all = cut_now_.exchange(false);
      for (auto pair = pairs_.begin(); pair != pairs_.end();) {
        for (Way& way : pair->ways) {
          if (!holding_ && way.held.size() < kMostHeld) take(*pair, way);
          if (!holding_) give(*pair, way);
        }
        const bool due = pair->cut_at > 0 && pair->carried >= pair->cut_at;
        if (cut_all || due) ++cuts_;
        if (cut_all || due || pair->over) {
          close_pair(*pair);
          pair = pairs_.erase(pair);
        } else {
          ++pair;
        }
      }
    }
  }

  int target_;
  SeededRandom random_;
  int listening_ = -1;
  int port_ = 0;
  std::list<Pair> pairs_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> cut_now_ = false;
  std::atomic<bool> holding_ = false;
  std::atomic<bool> refusing_ = false;
  std::atomic<std::uint64_t> cut_every_ = 0;
  std::atomic<std::uint64_t> garble_after_ = 0;
  std::atomic<std::uint64_t> rate_ = 0;
  std::atomic<std::chrono::milliseconds> delay_{};
  std::atomic<int> cuts_ = 0;
  std::thread thread_;
};

}  // namespace blindfl::testing
