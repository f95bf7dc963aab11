#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/net/recording_channel.h"
#include "blindfl/protocol/session.h"

namespace blindfl::testing {

/// Runs both at the same time, each in a thread of its own, and returns both results. If one fails, `on_error` must
/// wake the other. Throws the cause: what the peer made of it (a closed link) only if there is nothing better.
template <class A, class B>
auto run_both(A&& at_a, B&& at_b, const std::function<void()>& on_error) {
  const auto guarded = [&](auto& body, auto& result, std::exception_ptr& error) {
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
      } else {
        result.emplace(body());
      }
    } catch (...) {
      error = std::current_exception();
      on_error();
    }
  };
  using ResultA = std::conditional_t<std::is_void_v<decltype(at_a())>, std::monostate, decltype(at_a())>;
  using ResultB = std::conditional_t<std::is_void_v<decltype(at_b())>, std::monostate, decltype(at_b())>;
  std::optional<ResultA> result_a;
  std::optional<ResultB> result_b;
  std::exception_ptr error_a;
  std::exception_ptr error_b;
  std::thread thread_a([&] { guarded(at_a, result_a, error_a); });
  guarded(at_b, result_b, error_b);
  thread_a.join();

  for (const std::exception_ptr& error : {error_a, error_b}) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const TransportError&) {
      continue;
    }
  }
  if (error_a) std::rethrow_exception(error_a);
  if (error_b) std::rethrow_exception(error_b);
  if constexpr (std::is_void_v<decltype(at_a())>) result_a.emplace();
  if constexpr (std::is_void_v<decltype(at_b())>) result_b.emplace();
  return std::pair(std::move(*result_a), std::move(*result_b));
}

enum class Record { kYes, kNo };

/// A and B in one process, each with a session over a memory channel; what crosses it is recorded unless told
/// otherwise.
class TwoParties {
  template <class Pair>
  static auto& of(Pair& pair, protocol::Party party) {
    return party == protocol::Party::kA ? pair.first : pair.second;
  }

 public:
  using Channels = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;

  explicit TwoParties(const he::Scheme& scheme, Record record = Record::kYes)
      : TwoParties(scheme, net::make_memory_channels(), record) {}

  TwoParties(const he::Scheme& scheme, Channels channels, Record record = Record::kYes)
      : channels_(std::move(channels)) {
    if (record == Record::kYes) {
      recordings_ = {std::make_unique<net::RecordingChannel>(*channels_.first),
                     std::make_unique<net::RecordingChannel>(*channels_.second)};
    }
    const auto make = [&](protocol::Party party) {
      return [&, party] { return std::make_unique<protocol::Session>(party, channel(party), scheme); };
    };
    sessions_ = run_both(make(protocol::Party::kA), make(protocol::Party::kB), [&] { close(); });
  }

  /// `at_a(session of A)` and `at_b(session of B)`, at the same time.
  template <class A, class B>
  auto run(A&& at_a, B&& at_b) {
    return run_both([&] { return at_a(*sessions_.first); }, [&] { return at_b(*sessions_.second); }, [&] { close(); });
  }
  /// The same lines at both.
  template <class Both>
  auto run(Both&& at_both) {
    return run(at_both, at_both);
  }

  [[nodiscard]] protocol::Session& session(protocol::Party party) { return *of(sessions_, party); }
  [[nodiscard]] const net::RecordingChannel& recording(protocol::Party party) const { return *of(recordings_, party); }
  void close() {
    channels_.first->close();
    channels_.second->close();
  }

 private:
  [[nodiscard]] net::Channel& channel(protocol::Party party) {
    if (of(recordings_, party)) return *of(recordings_, party);
    return *of(channels_, party);
  }

  Channels channels_;
  std::pair<std::unique_ptr<net::RecordingChannel>, std::unique_ptr<net::RecordingChannel>> recordings_;
  std::pair<std::unique_ptr<protocol::Session>, std::unique_ptr<protocol::Session>> sessions_;
};

}  // namespace blindfl::testing
