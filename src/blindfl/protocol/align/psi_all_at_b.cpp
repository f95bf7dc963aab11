#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/each_peer.h"
#include "blindfl/protocol/align/psi_all_parties.h"
#include "blindfl/protocol/align/psi_all_steps.h"
#include "blindfl/protocol/align/psi_matching.h"
#include "blindfl/protocol/align/psi_transfer.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

namespace {

/// Progress of several threads.
class SharedProgress {
 public:
  SharedProgress(std::uint64_t total, AlignmentObserver observer)
      : progress_{0, total}, observer_(std::move(observer)) {}

  void add(std::uint64_t points) {
    const std::lock_guard lock(mutex_);
    progress_.done += points;
    if (observer_) observer_(progress_);
  }

 private:
  std::mutex mutex_;
  AlignmentProgress progress_;
  AlignmentObserver observer_;
};

/// One alignment at B, with all A's at the same time.
class AtB {
 public:
  AtB(const EachPeer& peers, std::span<const std::string> ids, const AlignmentOptions& options)
      : peers_(peers),
        ids_(ids),
        options_(options),
        random_(peers.session(0).random()),
        key_(random_),
        rows_(shuffled(static_cast<std::uint32_t>(ids.size()), random_)),
        nonces_(peers.count()),
        ids_of_a_(peers.count()),
        found_(peers.count()),
        progress_((peers.count() + 1) * ids.size(), options.observer) {}

  Alignment run() {
    greet();
    blind();
    peers_.run([&](std::size_t peer) { look_up(peer); });
    const std::vector<std::uint32_t> places = common_places();
    peers_.run([&](std::size_t peer) { send_common(peer, places); });
    compare_orders();
    std::vector<std::uint32_t> rows(places.size());
    std::ranges::transform(places, rows.begin(), [&](std::uint32_t place) { return rows_[place]; });
    Alignment alignment = all_real(std::move(rows));
    alignment.name = name_of(nonces_);
    return alignment;
  }

 private:
  void greet() {
    const auto exchange = [&](std::size_t peer) {
      Session& session = peers_.session(peer);
      agree_on_all(session, peer, peers_.count(), options_);
      ids_of_a_[peer] = exchange_id_counts(session, ids_.size());
      session.channel().receive({steps::kAlignmentNonces, 0, sizeof(Nonce)},
                                [&](ByteSource& in) { in.read(nonces_[peer]); });
    };
    peers_.run(exchange);
    for (std::size_t peer = 0; peer < peers_.count(); ++peer) {
      if (options_.check_peer_ids) peers_.named(peer, [&] { options_.check_peer_ids(ids_of_a_[peer]); });
    }
    peers_.run([&](std::size_t peer) {
      peers_.session(peer).channel().send({steps::kAlignmentNonces, 0, nonces_.size() * sizeof(Nonce)},
                                          [&](ByteSink& out) {
                                            for (const Nonce& nonce : nonces_) out.write(nonce);
                                          });
    });
  }

  // While the A's make their tables.
  void blind() {
    ThreadPool& pool = peers_.session(0).pool();
    for (std::uint64_t begin = 0; begin < rows_.size(); begin += options_.ids_per_message) {
      const std::uint64_t count = std::min<std::uint64_t>(options_.ids_per_message, rows_.size() - begin);
      const Points piece = key_.multiply(hash_to_points(ids_, std::span(rows_).subspan(begin, count), pool), pool);
      blinded_.insert(blinded_.end(), piece.begin(), piece.end());
      progress_.add(count);
    }
  }

  // What one A has for each of B's ids. While B works on an answer, the A makes the next one.
  void look_up(std::size_t peer) {
    Session& session = peers_.session(peer);
    const ListedItems hidden = hidden_list(ids_of_a_[peer], options_);
    StepsOfB steps(HiddenTable(HiddenShape::of(ids_of_a_[peer]), receive_field_elements(session, hidden)),
                   key_.inverse());
    const ListedItems asked{steps::kBlindedIds, sizeof(Point), blinded_.size(), options_.ids_per_message};
    const ListedItems answered{steps::kAnsweredIds, sizeof(Point), blinded_.size(), options_.ids_per_message};
    for (std::uint64_t begin = 0; begin < blinded_.size() + asked.per_message; begin += asked.per_message) {
      const bool asks = begin < blinded_.size();
      Points answer(begin > 0 ? answered.size_at(begin - asked.per_message) : 0);
      session.exchange(
          asks ? asked.message_at(begin).size : 0,
          [&] {
            if (!asks) return;
            session.channel().send(asked.message_at(begin),
                                   std::as_bytes(std::span(blinded_).subspan(begin, asked.size_at(begin))));
          },
          [&] {
            if (answer.empty()) return;
            session.channel().receive(answered.message_at(begin - asked.per_message),
                                      [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(answer))); });
          });
      check_points(answer, net::name_of(answered.step), session.pool());
      steps.take(answer, session.pool());
      progress_.add(answer.size());
    }
    steps.check_answers();
    found_[peer].emplace(std::move(steps));
  }

  // In an order that no A has seen.
  std::vector<std::uint32_t> common_places() {
    std::vector<const std::vector<FieldElement>*> shares;
    for (const std::optional<StepsOfB>& steps : found_) shares.push_back(&steps->shares());
    const std::vector<std::uint32_t> places = places_of_all(shares);
    std::vector<std::uint32_t> in_order;
    for (const std::uint32_t i : shuffled(static_cast<std::uint32_t>(places.size()), random_)) {
      in_order.push_back(places[i]);
    }
    return in_order;
  }

  void send_common(std::size_t peer, std::span<const std::uint32_t> places) {
    net::Channel& channel = peers_.session(peer).channel();
    channel.send({steps::kCommonCount, 0, 8}, [&](ByteSink& out) { out.write_u64(places.size()); });
    const ListedItems list = common_list(places.size(), options_);
    const std::vector<PseudonymTag>& tags = found_[peer]->tags();
    for (std::uint64_t begin = 0; begin < list.count; begin += list.per_message) {
      channel.send(list.message_at(begin), [&](ByteSink& out) {
        for (const std::uint32_t place : places.subspan(begin, list.size_at(begin))) out.write(tags[place]);
      });
    }
  }

  // Each A proves its order to each other. B can only see that all proofs may hold.
  void compare_orders() {
    const std::size_t count = peers_.count();
    std::vector<std::vector<FieldElement>> proofs(count);  // of each A, to each other; then its share
    peers_.run([&](std::size_t peer) {
      proofs[peer] =
          receive_field_elements(peers_.session(peer), {steps::kOrderProofs, kFieldElementBytes, count, count});
    });
    FieldElement sum = 0;
    for (const std::vector<FieldElement>& of_one : proofs) sum = field_sum(sum, of_one.back());
    peers_.run([&](std::size_t peer) {
      std::vector<FieldElement> to_one;
      for (std::size_t other = 0; other < count; ++other) {
        if (other != peer) to_one.push_back(proofs[other][peer < other ? peer : peer - 1]);
      }
      send_field_elements(peers_.session(peer), {steps::kOrderProofs, kFieldElementBytes, count - 1, count - 1},
                          to_one);
    });
    require<ProtocolError>(sum == 0,
                           "the A's ended with different orders of rows, or do not share the secrets that they should: "
                           "one of them followed another protocol");
  }

  const EachPeer& peers_;
  std::span<const std::string> ids_;
  const AlignmentOptions& options_;
  Random random_;
  BlindingKey key_;
  std::vector<std::uint32_t> rows_;  ///< in the order sent
  Points blinded_;
  Nonces nonces_;
  std::vector<std::uint64_t> ids_of_a_;
  std::vector<std::optional<StepsOfB>> found_;
  SharedProgress progress_;
};

}  // namespace

Alignment align_all_at_b(const Sessions& sessions, std::span<const std::string> ids, const AlignedPeers& peers,
                         const AlignmentOptions& options) {
  const EachPeer all(sessions, peers.names);
  try {
    return AtB(all, ids, options).run();
  } catch (...) {
    all.close_all();  // no A must wait for a party that has stopped
    throw;
  }
}

}  // namespace blindfl::protocol
