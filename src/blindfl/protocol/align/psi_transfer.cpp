#include "blindfl/protocol/align/psi_transfer.h"

#include <algorithm>
#include <span>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/psi_matching.h"
#include "blindfl/protocol/align/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::size_t kMostIdsPerMessage = std::size_t{1} << 20;

}  // namespace

void check_alignment(std::span<const std::string> ids, const AlignmentOptions& options) {
  require<InvalidArgument>(options.ids_per_message > 0 && options.ids_per_message <= kMostIdsPerMessage,
                           "an alignment sends 1 to ", kMostIdsPerMessage, " ids in a message, not ",
                           options.ids_per_message);
  require<InvalidArgument>(ids.size() <= kMostIds, ids.size(), " ids are more than the ", kMostIds,
                           " that can be aligned");
  require_distinct(ids);
}

std::uint64_t exchange_id_counts(Session& session, std::uint64_t mine) {
  const net::Message message{steps::kIdCount, 0, sizeof mine};
  std::uint64_t theirs = 0;
  session.exchange(
      message.size, [&] { session.channel().send(message, [&](ByteSink& out) { out.write_u64(mine); }); },
      [&] { session.channel().receive(message, [&](ByteSource& in) { theirs = in.read_u64(); }); });
  require<ProtocolError>(theirs <= kMostIds, "the peer announces ", theirs, " ids, more than the ", kMostIds,
                         " that can be aligned");
  return theirs;
}

net::Message PointTransfer::message(net::Step step, std::uint64_t begin, std::uint64_t count) const {
  return {step, static_cast<std::uint32_t>(begin / per_message_), count * sizeof(Point), count, 1};
}

std::uint64_t PointTransfer::end_of_piece(std::uint64_t begin, std::uint64_t count) const {
  return std::min(count, begin + per_message_);
}

void PointTransfer::skip(std::uint64_t points) {
  progress_.done += points;
  if (observer_) observer_(progress_);
}

Points PointTransfer::compute(const ComputedPoints& mine, std::uint64_t begin) {
  if (begin >= mine.count) return {};
  Points piece = mine.compute(begin, end_of_piece(begin, mine.count));
  skip(piece.size());
  return piece;
}

void PointTransfer::receive(net::Step step, std::uint64_t begin, std::uint64_t count, Points& points) {
  Points piece(end_of_piece(begin, count) - begin);
  session_.channel().receive(message(step, begin, piece.size()),
                             [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(piece))); });
  check_points(piece, net::name_of(step), session_.pool());
  points.insert(points.end(), piece.begin(), piece.end());
}

Points PointTransfer::exchange(net::Step step, const ComputedPoints& mine, std::uint64_t theirs) {
  Points received;
  for (std::uint64_t begin = 0; begin < std::max(mine.count, theirs); begin += per_message_) {
    const Points piece = compute(mine, begin);
    const bool sends = !piece.empty() && mine.use == ComputedPoints::Use::kSend;
    const std::uint64_t bytes = sends ? piece.size() * sizeof(Point) : 0;
    session_.exchange(
        bytes,
        [&] {
          if (sends) session_.channel().send(message(step, begin, piece.size()), std::as_bytes(std::span(piece)));
        },
        [&] {
          if (begin < theirs) receive(step, begin, theirs, received);
        });
  }
  check_distinct(received, net::name_of(step));
  return received;
}

}  // namespace blindfl::protocol
