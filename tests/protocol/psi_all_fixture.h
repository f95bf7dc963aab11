#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/protocol/align/psi_all.h"
#include "protocol/psi_fixture.h"
#include "testing/links.h"
#include "testing/plain/plain_scheme.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {

/// Ids of all parties: of each A, then of B.
struct IdsOfAll {
  std::vector<Ids> a;
  Ids b;
};

/// Secrets of all pairs of A's: the same at both, another for each pair.
inline std::vector<AlignedPeers> peers_of(std::size_t count) {
  std::vector<AlignedPeers> peers(count);
  Random random;
  for (std::size_t i = 0; i < count; ++i) {
    peers[i].own = i;
    peers[i].secrets.resize(count);
    for (std::size_t j = 0; j < count; ++j) peers[i].names.push_back(std::string("A").append(std::to_string(j + 1)));
    for (std::size_t j = 0; j < i; ++j) {
      peers[i].secrets[j].resize(kPairSecretBytes);
      random.fill(peers[i].secrets[j]);
      peers[j].secrets[i] = peers[i].secrets[j];
    }
  }
  return peers;
}

/// B and some A's in one process, each A with a link to B alone; what crosses is recorded.
class StarOfParties {
 public:
  using MakeLink = std::function<testing::Channels(std::size_t a)>;

  explicit StarOfParties(
      std::size_t count, const MakeLink& make_link = [](std::size_t) { return testing::make_channels(); }) {
    for (std::size_t a = 0; a < count; ++a) {
      links_.push_back(make_link(a));
      at_a_.push_back(std::make_unique<testing::Recording>(links_.back().first->transport()));
      at_b_.push_back(std::make_unique<testing::Recording>(links_.back().second->transport()));
      peers_.push_back(
          run_both([&] { return std::make_unique<Peer>(Party::kA, at_a_[a]->channel(), he::borrowed({&scheme_})); },
                   [&] { return std::make_unique<Peer>(Party::kB, at_b_[a]->channel(), he::borrowed({&scheme_})); },
                   [&] { close(); }));
    }
  }

  [[nodiscard]] std::size_t count() const { return peers_.size(); }
  [[nodiscard]] Session& of_a(std::size_t a) { return peers_[a].first->session(); }
  [[nodiscard]] Sessions of_b() {
    std::vector<Session*> all;
    for (const auto& [a, b] : peers_) all.push_back(&b->session());
    return Sessions(std::move(all));
  }
  /// What B saw of the link to that A, or that A.
  [[nodiscard]] const testing::Recording& at_b(std::size_t a) const { return *at_b_[a]; }
  [[nodiscard]] const testing::Recording& at_a(std::size_t a) const { return *at_a_[a]; }
  void close() {
    for (const auto& recording : at_a_) recording->channel()->close();
    for (const auto& recording : at_b_) recording->channel()->close();
  }

  /// `at_a(session, place)` of each A and `at_b(sessions)`, at the same time. Whoever fails closes its own links, as
  /// programs do. Returns what each threw, the A's first; null for nothing.
  std::vector<std::exception_ptr> run(const std::function<void(Session&, std::size_t)>& at_a,
                                      const std::function<void(const Sessions&)>& at_b) {
    std::vector<std::exception_ptr> thrown(count() + 1);
    std::vector<std::future<void>> running;
    for (std::size_t a = 0; a < count(); ++a) {
      running.push_back(std::async(std::launch::async, [&, a] {
        try {
          at_a(of_a(a), a);
        } catch (...) {
          thrown[a] = std::current_exception();
          at_a_[a]->channel()->close();
        }
      }));
    }
    try {
      at_b(of_b());
    } catch (...) {
      thrown[count()] = std::current_exception();
      for (const auto& recording : at_b_) recording->channel()->close();
    }
    for (auto& one : running) one.wait();
    return thrown;
  }

 private:
  testing::PlainScheme scheme_;
  std::vector<testing::Channels> links_;
  std::vector<std::unique_ptr<testing::Recording>> at_a_;
  std::vector<std::unique_ptr<testing::Recording>> at_b_;
  std::vector<std::pair<std::unique_ptr<Peer>, std::unique_ptr<Peer>>> peers_;
};

/// What an error says; empty without one.
inline std::string words_of(const std::exception_ptr& thrown) {
  if (!thrown) return {};
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Few ids in a message, so that there are several messages.
inline AlignmentOptions options_of_all() {
  return {.ids_per_message = 8};
}

/// Alignments of each A, then of B. Throws what B, or else the first A, threw.
inline std::vector<Alignment> align_star(StarOfParties& parties, const IdsOfAll& ids,
                                         const std::vector<AlignedPeers>& peers,
                                         const AlignmentOptions& options = options_of_all()) {
  std::vector<Alignment> all(parties.count() + 1);
  const auto thrown =
      parties.run([&](Session& session, std::size_t a) { all[a] = align_all(session, ids.a[a], peers[a], options); },
                  [&](const Sessions& sessions) {
                    all.back() = align_all(sessions, ids.b, {.names = peers.front().names}, options);
                  });
  if (thrown.back()) std::rethrow_exception(thrown.back());
  for (const auto& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
  return all;
}

}  // namespace blindfl::protocol
