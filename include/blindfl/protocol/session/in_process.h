#pragma once

#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/session/peer.h"

namespace blindfl::protocol {

/// Runs both at the same time, `at_a` in a thread of its own, and returns both results (`std::monostate` for nothing).
/// If one fails, `on_error` must wake the other. Throws the cause: what the peer made of it, a closed link, only if
/// there is nothing better.
template <class A, class B>
auto run_both(A&& at_a, B&& at_b, const std::function<void()>& on_error) {
  const auto guarded = [&](auto& body) {
    return [&] {
      try {
        if constexpr (std::is_void_v<decltype(body())>) {
          body();
          return std::monostate();
        } else {
          return body();
        }
      } catch (...) {
        on_error();
        throw;
      }
    };
  };
  auto a = std::async(std::launch::async, guarded(at_a));
  auto b = std::async(std::launch::deferred, guarded(at_b));
  b.wait();
  try {
    auto result = a.get();
    return std::pair(std::move(result), b.get());
  } catch (const TransportError&) {
    try {
      if (b.valid()) (void)b.get();
    } catch (const TransportError&) {  // no better than the first
    }
    throw;
  }
}

/// Both parties in one process, as threads: for trying things out, demos and tests. Calls `party(session)` for A and
/// for B at the same time, each with a session of its own under `schemes`, and returns both results.
template <class PartyFunction>
auto run_in_process(const std::vector<const he::Scheme*>& schemes, PartyFunction&& party) {
  const std::pair<std::shared_ptr<net::Channel>, std::shared_ptr<net::Channel>> channels = net::make_memory_channels();
  const auto as = [&](Party role, const std::shared_ptr<net::Channel>& channel) {
    return [&, role] {
      Peer peer(role, channel, he::borrowed(schemes));
      return party(peer.session());
    };
  };
  return run_both(as(Party::kA, channels.first), as(Party::kB, channels.second), [&] {
    channels.first->close();
    channels.second->close();
  });
}
template <class PartyFunction>
auto run_in_process(const he::Scheme& scheme, PartyFunction&& party) {
  return run_in_process(std::vector<const he::Scheme*>{&scheme}, std::forward<PartyFunction>(party));
}

}  // namespace blindfl::protocol
