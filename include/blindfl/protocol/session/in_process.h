#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// Runs both at the same time, `at_a` in a thread of its own, and returns both results (`std::monostate` for nothing).
/// If one fails, `on_error` must wake the other. Throws the cause: what the peer made of it, a closed link, only if
/// there is nothing better.
template <class A, class B>
auto run_both(A&& at_a, B&& at_b, const std::function<void()>& on_error) {
  using ResultA = std::conditional_t<std::is_void_v<decltype(at_a())>, std::monostate, decltype(at_a())>;
  using ResultB = std::conditional_t<std::is_void_v<decltype(at_b())>, std::monostate, decltype(at_b())>;
  const auto guarded = [&](auto& body, auto& result, std::exception_ptr& error) {
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        result.emplace();
      } else {
        result.emplace(body());
      }
    } catch (...) {
      error = std::current_exception();
      on_error();
    }
  };
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
  return std::pair(std::move(*result_a), std::move(*result_b));
}

/// Both parties in one process, as threads: for trying things out, demos and tests. Calls `party(session)` for A and
/// for B at the same time, each with a session of its own under `schemes`, and returns both results.
template <class PartyFunction>
auto run_in_process(const std::vector<const he::Scheme*>& schemes, PartyFunction&& party) {
  const auto channels = net::make_memory_channels();
  const auto as = [&](Party role, net::Channel& channel) {
    return [&, role] {
      Session session(role, channel, schemes);
      return party(session);
    };
  };
  return run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [&] {
    channels.first->close();
    channels.second->close();
  });
}
template <class PartyFunction>
auto run_in_process(const he::Scheme& scheme, PartyFunction&& party) {
  return run_in_process(std::vector<const he::Scheme*>{&scheme}, std::forward<PartyFunction>(party));
}

}  // namespace blindfl::protocol
