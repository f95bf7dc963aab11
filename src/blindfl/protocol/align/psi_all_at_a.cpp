#include <algorithm>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/psi_all_parties.h"
#include "blindfl/protocol/align/psi_all_steps.h"
#include "blindfl/protocol/align/psi_matching.h"
#include "blindfl/protocol/align/psi_transfer.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

namespace {

/// One alignment at one of several A's: from counts to rows.
class AtA {
 public:
  AtA(Session& session, std::span<const std::string> ids, std::uint64_t ids_of_b, const AlignedPeers& peers,
      const AlignmentOptions& options)
      : session_(session),
        ids_(ids),
        ids_of_b_(ids_of_b),
        peers_(peers),
        options_(options),
        random_(session.random()),
        progress_{0, ids.size() + ids_of_b} {}

  Alignment run() {
    const Nonces nonces = exchange_nonces();
    const ZeroShares shares(peers_, nonce_, nonces);
    const StepsOfA steps = hide_ids(shares);
    answer_b(steps);
    std::vector<std::uint32_t> rows = steps.rows_of(receive_common());
    compare_order(shares, rows);
    Alignment alignment = all_real(std::move(rows));
    alignment.name = name_of(nonces);
    return alignment;
  }

 private:
  Nonces exchange_nonces() {
    random_.fill(nonce_);
    session_.channel().send({steps::kAlignmentNonces, 0, nonce_.size()}, nonce_);
    Nonces nonces(peers_.names.size());
    session_.channel().receive({steps::kAlignmentNonces, 0, nonces.size() * sizeof(Nonce)}, [&](ByteSource& in) {
      for (Nonce& nonce : nonces) in.read(nonce);
    });
    return nonces;
  }

  // Sends the table of this party's ids.
  StepsOfA hide_ids(const ZeroShares& shares) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      StepsOfA steps(ids_, random_);
      progress_.done = 0;
      for (std::uint64_t begin = 0; begin < ids_.size(); begin += options_.ids_per_message) {
        const std::uint64_t end = std::min<std::uint64_t>(ids_.size(), begin + options_.ids_per_message);
        steps.name_own(begin, end, session_.pool());
        show_progress(end - begin);
      }
      const std::optional<HiddenTable> table = steps.hide(shares, random_, session_.pool());
      if (!table) continue;
      send_field_elements(session_, hidden_list(ids_.size(), options_), table->numbers());
      return steps;
    }
    fail<Error>("this party's ids do not fit their table under ", kAttempts,
                " secret numbers: the randomness of this machine is not random");
  }

  // Each piece is answered while B works on the answer to the one before.
  void answer_b(const StepsOfA& steps) {
    const ListedItems asked{steps::kBlindedIds, sizeof(Point), ids_of_b_, options_.ids_per_message};
    const ListedItems answered{steps::kAnsweredIds, sizeof(Point), ids_of_b_, options_.ids_per_message};
    Points all;
    Points answer;
    for (std::uint64_t begin = 0;; begin += asked.per_message) {
      Points piece(begin < ids_of_b_ ? asked.size_at(begin) : 0);
      session_.exchange(
          answer.size() * sizeof(Point),
          [&] {
            if (answer.empty()) return;
            session_.channel().send(answered.message_at(begin - asked.per_message), std::as_bytes(std::span(answer)));
          },
          [&] {
            if (piece.empty()) return;
            session_.channel().receive(asked.message_at(begin),
                                       [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(piece))); });
          });
      if (piece.empty()) break;
      check_points(piece, net::name_of(asked.step), session_.pool());
      answer = steps.answer(piece, session_.pool());
      all.insert(all.end(), piece.begin(), piece.end());
      show_progress(piece.size());
    }
    check_distinct(all, net::name_of(asked.step));
  }

  std::vector<PseudonymTag> receive_common() {
    std::uint64_t count = 0;
    session_.channel().receive({steps::kCommonCount, 0, sizeof count}, [&](ByteSource& in) { count = in.read_u64(); });
    require<ProtocolError>(count <= std::min<std::uint64_t>(ids_.size(), ids_of_b_),
                           "the peer says that all parties have ", count,
                           " ids in common, more than this party or the peer has");
    const ListedItems list = common_list(count, options_);
    std::vector<PseudonymTag> tags(count);
    for (std::uint64_t begin = 0; begin < count; begin += list.per_message) {
      const auto piece = std::span(tags).subspan(begin, list.size_at(begin));
      session_.channel().receive(list.message_at(begin),
                                 [&](ByteSource& in) { in.read(std::as_writable_bytes(piece)); });
    }
    return tags;
  }

  void compare_order(const ZeroShares& shares, std::span<const std::uint32_t> rows) {
    std::vector<FieldElement> mine = shares.order_proofs(ids_, rows);
    mine.push_back(shares.of_order(ids_, rows));
    send_field_elements(session_, {steps::kOrderProofs, kFieldElementBytes, mine.size(), mine.size()}, mine);
    const std::size_t others = peers_.names.size() - 1;
    const auto theirs = receive_field_elements(session_, {steps::kOrderProofs, kFieldElementBytes, others, others});
    const std::vector<FieldElement> expected = shares.expected_proofs(ids_, rows);
    for (std::size_t i = 0; i < others; ++i) {
      const std::string& other = peers_.names[i < peers_.own ? i : i + 1];
      require<ProtocolError>(theirs[i] == expected[i], other,
                             " and this party did not end with the same order of rows: ",
                             "B told them different ones, or they do not share the secret that they should");
    }
  }

  void show_progress(std::uint64_t points) {
    progress_.done += points;
    if (options_.observer) options_.observer(progress_);
  }

  static constexpr int kAttempts = 4;
  Session& session_;
  std::span<const std::string> ids_;
  std::uint64_t ids_of_b_;
  const AlignedPeers& peers_;
  const AlignmentOptions& options_;
  Random random_;
  Nonce nonce_{};
  AlignmentProgress progress_;
};

}  // namespace

Alignment align_all_at_a(Session& session, std::span<const std::string> ids, const AlignedPeers& peers,
                         const AlignmentOptions& options) {
  agree_on_all(session, peers.own, peers.names.size(), options);
  try {
    const std::uint64_t ids_of_b = exchange_id_counts(session, ids.size());
    if (options.check_peer_ids) options.check_peer_ids(ids_of_b);
    return AtA(session, ids, ids_of_b, peers, options).run();
  } catch (...) {
    session.channel().close();  // B, and the other A's with it, must not wait for a party that has stopped
    throw;
  }
}

}  // namespace blindfl::protocol
