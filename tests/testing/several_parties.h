#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/mask_agreement.h"
#include "testing/two_parties.h"

namespace blindfl::testing {

/// Certificates and keys of A's: made once, for they take a while under sanitizers.
inline std::shared_ptr<const protocol::LinkIdentity> identity_of(std::size_t place) {
  static const std::vector<std::shared_ptr<const protocol::LinkIdentity>> all = [] {
    std::vector<std::shared_ptr<const protocol::LinkIdentity>> made;
    for (std::size_t i = 0; i < 6; ++i) {
      made.push_back(std::make_shared<protocol::LinkIdentity>(net::generate_identity("a" + std::to_string(i + 1), 30)));
    }
    return made;
  }();
  return all.at(place);
}

/// The last of them is B's.
inline const std::string& certificate_of_b() {
  return identity_of(5)->certificate();
}

/// "a1", "a2" and so on.
inline std::string name_of_a(std::size_t place) {
  return "a" + std::to_string(place + 1);
}

/// What an A of so many says of itself and of the others.
inline protocol::MaskParty mask_party(std::size_t place, std::size_t peers, const std::string& run = "run 1") {
  protocol::MaskParty party{
      .run = run, .name = name_of_a(place), .identity = identity_of(place), .b = certificate_of_b()};
  for (std::size_t other = 0; other < peers; ++other) {
    if (other != place) party.others.push_back({name_of_a(other), identity_of(other)->certificate()});
  }
  return party;
}

inline std::vector<std::string> names_of_as(std::size_t peers) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < peers; ++i) names.push_back(name_of_a(i));
  return names;
}

/// Several A's and B in one process, each A with a link to B alone.
class SeveralParties {
 public:
  enum class Masks { kAgreed, kNone };

  SeveralParties(std::size_t peers, const std::vector<const he::Scheme*>& schemes, Record record = Record::kNo,
                 Masks masks = Masks::kAgreed, std::size_t threads = 1,
                 const std::function<Channels()>& channels = make_channels) {
    for (std::size_t i = 0; i < peers; ++i) {
      pairs_.push_back(std::make_unique<TwoParties>(schemes, channels(), record, SavedKeys{}, threads, name_of_a(i)));
    }
    if (masks == Masks::kAgreed) agree();
  }
  SeveralParties(std::size_t peers, const he::Scheme& scheme, Record record = Record::kNo, Masks masks = Masks::kAgreed)
      : SeveralParties(peers, std::vector<const he::Scheme*>{&scheme}, record, masks) {}

  void agree(const std::string& run = "run 1");

  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] protocol::Session& a(std::size_t place) { return pairs_[place]->session(protocol::Party::kA); }
  [[nodiscard]] protocol::Sessions b() {
    std::vector<protocol::Session*> sessions;
    for (const auto& pair : pairs_) sessions.push_back(&pair->session(protocol::Party::kB));
    return protocol::Sessions(sessions);
  }
  [[nodiscard]] const Recording& recording(protocol::Party party, std::size_t place) const {
    return pairs_[place]->recording(party);
  }
  void close() {
    for (const auto& pair : pairs_) pair->close();
  }

  template <class Function, class... Arguments>
  using Result = std::conditional_t<std::is_void_v<std::invoke_result_t<Function, Arguments...>>, std::monostate,
                                    std::invoke_result_t<Function, Arguments...>>;

  /// `at_a(place, session)` for each A and `at_b(sessions)`, all at the same time. Returns all results; throws the
  /// cause if one fails, for which all links are closed.
  template <class AtA, class AtB>
  auto run(AtA&& at_a, AtB&& at_b) {
    using OfA = Result<AtA, std::size_t, protocol::Session&>;
    std::vector<std::future<OfA>> waiting;
    const auto guarded = [&](const auto& work) {
      try {
        if constexpr (std::is_void_v<decltype(work())>) {
          work();
          return std::monostate();
        } else {
          return work();
        }
      } catch (...) {
        close();
        throw;
      }
    };
    for (std::size_t i = 0; i < size(); ++i) {
      waiting.push_back(
          std::async(std::launch::async, [&, i]() -> OfA { return guarded([&] { return at_a(i, a(i)); }); }));
    }
    std::vector<std::exception_ptr> failed;
    std::optional<Result<AtB, const protocol::Sessions&>> of_b;
    const auto caught = [&](const std::function<void()>& work) {
      try {
        work();
      } catch (...) {
        failed.push_back(std::current_exception());
      }
    };
    caught([&] { of_b.emplace(guarded([&] { return at_b(b()); })); });
    std::vector<OfA> of_a;
    for (auto& one : waiting) caught([&] { of_a.push_back(one.get()); });
    rethrow(failed);
    return std::pair(std::move(of_a), std::move(*of_b));
  }

 private:
  static void rethrow(const std::vector<std::exception_ptr>& failed) {
    for (const std::exception_ptr& one : failed) {
      try {
        std::rethrow_exception(one);
      } catch (const TransportError&) {  // perhaps only what another made of it
      }
    }
    if (!failed.empty()) std::rethrow_exception(failed.front());
  }

  std::vector<std::unique_ptr<TwoParties>> pairs_;
};

inline void SeveralParties::agree(const std::string& run) {
  (void)this->run(
      [&](std::size_t place, protocol::Session& session) {
        protocol::agree_on_masks(session, mask_party(place, size(), run));
      },
      [&](const protocol::Sessions& sessions) { protocol::agree_on_masks(sessions, run, names_of_as(size())); });
}

}  // namespace blindfl::testing
