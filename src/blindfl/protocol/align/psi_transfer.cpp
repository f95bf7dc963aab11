#include "blindfl/protocol/align/psi_transfer.h"

#include <algorithm>
#include <span>

namespace blindfl::protocol {

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
