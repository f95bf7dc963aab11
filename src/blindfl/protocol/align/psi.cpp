#include "blindfl/protocol/align/psi.h"

#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/align/psi_matching.h"
#include "blindfl/protocol/align/psi_transfer.h"
#include "blindfl/protocol/align/psi_union.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

namespace {

using net::Step;

/// One alignment at one party: from counts to rows.
class Aligner {
 public:
  Aligner(Session& session, std::span<const std::string> ids, std::uint64_t peer_ids, const AlignmentOptions& options)
      : session_(session),
        ids_(ids),
        peer_ids_(peer_ids),
        random_(session.random()),
        key_(random_),
        rows_(shuffled(static_cast<std::uint32_t>(ids.size()), random_)),
        transfer_(session, options.ids_per_message, options.observer) {}

  Alignment run(AlignmentKind kind) {
    if (kind == AlignmentKind::kBoth) return intersect();
    require<DataError>(!ids_.empty() && peer_ids_ > 0, "an alignment of the kind '", name_of(kind),
                       "' needs at least one id at each party, and there are ", ids_.size(), " here and ", peer_ids_,
                       " at the peer");
    if (kind == AlignmentKind::kUnion) return unite();
    return session_.party() == Party::kA ? offer_all() : match_all();
  }

 private:
  using Use = ComputedPoints::Use;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ids_.size()); }

  // The peer's blinded ids, for this party's.
  Points exchange_blinded() {
    const auto blind = [&](std::uint64_t begin, std::uint64_t end) {
      const auto rows = std::span(rows_).subspan(begin, end - begin);
      return key_.multiply(hash_to_points(ids_, rows, session_.pool()), session_.pool());
    };
    return transfer_.exchange(steps::kBlindedIds, {ids_.size(), blind}, peer_ids_);
  }

  // This party's ids, blinded by both, of which `returned` come back; `theirs` likewise when this returns.
  Points double_blind(Points& theirs, Use use, std::uint64_t returned) {
    Points doubled;
    const auto compute = [&](std::uint64_t begin, std::uint64_t end) {
      Points piece = key_.multiply(std::span(theirs).subspan(begin, end - begin), session_.pool());
      doubled.insert(doubled.end(), piece.begin(), piece.end());
      return piece;
    };
    Points own = transfer_.exchange(steps::kDoubleBlindedIds, {theirs.size(), compute, use}, returned);
    theirs = std::move(doubled);
    return own;
  }

  Alignment intersect() {
    transfer_.expect(ids_.size() + peer_ids_);
    Points theirs = exchange_blinded();
    Points own = double_blind(theirs, Use::kSend, ids_.size());
    MatchedPoints common = intersection({std::move(own), rows_}, theirs);
    compare_order(common.points);
    return all_real(std::move(common.rows));
  }

  // A, where only B learns: all its rows in the order sent. What it sends back is all that B needs.
  Alignment offer_all() {
    transfer_.expect(ids_.size() + peer_ids_);
    Points theirs = exchange_blinded();
    (void)double_blind(theirs, Use::kSend, 0);
    return all_real(rows_);
  }

  // B, where only B learns: a row for each of A's, in the order that A sent them.
  Alignment match_all() {
    transfer_.expect(ids_.size() + peer_ids_);
    Points theirs = exchange_blinded();
    Points own = double_blind(theirs, Use::kKeep, ids_.size());
    MatchedPoints matched = rows_of({std::move(own), rows_}, theirs);
    return with_stand_ins(std::move(matched.rows), count(), random_);
  }

  Alignment unite() {
    transfer_.expect(3 * ids_.size() + 4 * peer_ids_);
    UnionSteps steps(key_, exchange_blinded(), random_);
    ThreadPool& pool = session_.pool();
    const Points labelled =
        send(steps::kDoubleBlindedIds, peer_ids_, ids_.size(),
             [&](std::uint64_t begin, std::uint64_t end) { return steps.label_theirs(begin, end, pool); });
    const Points own_shuffled =
        send(steps::kShuffledIds, peer_ids_, ids_.size(),
             [&](std::uint64_t begin, std::uint64_t end) { return steps.shuffle_theirs(begin, end, pool); });
    const std::uint64_t common = steps.compare(own_shuffled, random_);
    transfer_.skip(3 * common);
    const Points others = name_missing(steps, peer_ids_ - common, ids_.size() - common);
    OwnPoints own{by_myself(labelled, [&](auto piece) { return steps.name(piece, pool); }), rows_};
    MatchedPoints all = union_of(own, others);
    compare_order(all.points);
    return with_stand_ins(std::move(all.rows), count(), random_);
  }

  // The names of the ids that this party lacks, for those of the ids that the peer lacks.
  Points name_missing(const UnionSteps& steps, std::uint64_t missing, std::uint64_t peer_missing) {
    ThreadPool& pool = session_.pool();
    const Points asked = send(steps::kMissingIds, missing, peer_missing, [&](std::uint64_t begin, std::uint64_t end) {
      return steps.veil_missing(begin, end, pool);
    });
    const Points answers = send(steps::kNamedIds, peer_missing, missing, [&](std::uint64_t begin, std::uint64_t end) {
      return steps.name(std::span(asked).subspan(begin, end - begin), pool);
    });
    return by_myself(answers, [&](auto piece) { return steps.unveil(piece, pool); });
  }

  // Sends `count` points, which `compute` makes, for `returned` of the peer's.
  template <class Compute>
  Points send(Step step, std::uint64_t count, std::uint64_t returned, const Compute& compute) {
    return transfer_.exchange(step, {count, compute}, returned);
  }

  // Computes what does not travel.
  template <class Body>
  Points by_myself(const Points& points, const Body& body) {
    Points all;
    const auto compute = [&](std::uint64_t begin, std::uint64_t end) {
      Points piece = body(std::span(points).subspan(begin, end - begin));
      all.insert(all.end(), piece.begin(), piece.end());
      return piece;
    };
    (void)transfer_.exchange(steps::kNamedIds, {points.size(), compute, Use::kKeep}, 0);
    return all;
  }

  // Points that both know. A peer that sent other points than it should is found here, and not in a model that learns
  // nothing.
  void compare_order(const Points& points) {
    const Bytes mine = digest_of(std::as_bytes(std::span(points)));
    const net::Message message{steps::kAlignedOrder, 0, mine.size()};
    Bytes theirs;
    session_.exchange(
        message.size, [&] { session_.channel().send(message, mine); },
        [&] { theirs = session_.channel().receive(message); });
    require<ProtocolError>(theirs == mine,
                           "the parties ended with different orders of rows: one of them sent points that do not "
                           "belong to its ids");
  }

  Session& session_;
  std::span<const std::string> ids_;
  std::uint64_t peer_ids_;
  Random random_;  // its calls draw on one thread
  BlindingKey key_;
  std::vector<std::uint32_t> rows_;  ///< in the order sent
  PointTransfer transfer_;
};

}  // namespace

std::string_view name_of(AlignmentKind kind) {
  switch (kind) {
    case AlignmentKind::kBoth:
      return "both";
    case AlignmentKind::kOnlyB:
      return "only B";
    case AlignmentKind::kUnion:
      return "union";
  }
  fail<InvalidArgument>("there is no kind of alignment number ", static_cast<int>(kind));
}

Alignment align(Session& session, std::span<const std::string> ids, const AlignmentOptions& options) {
  check_alignment(ids, options);
  session.agree(
      "the alignment",
      Settings().add("kind", name_of(options.kind)).add("ids_per_message", std::uint64_t{options.ids_per_message}));
  session.settle();
  try {
    const std::uint64_t peer_ids = exchange_id_counts(session, ids.size());
    if (options.check_peer_ids) options.check_peer_ids(peer_ids);
    return Aligner(session, ids, peer_ids, options).run(options.kind);
  } catch (...) {
    session.channel().close();  // the peer must not wait for a party that has stopped
    throw;
  }
}

}  // namespace blindfl::protocol
