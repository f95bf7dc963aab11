#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/align/alignment.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/align/psi_points.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// Throws InvalidArgument if these options, or so many ids, cannot be; DataError if an id occurs twice.
void check_alignment(std::span<const std::string> ids, const AlignmentOptions& options);

/// Tells the peer how many ids this party has, and returns how many the peer has. Throws ProtocolError if those are
/// more than can be aligned.
[[nodiscard]] std::uint64_t exchange_id_counts(Session& session, std::uint64_t mine);

/// Points that this party computes, piece by piece.
struct ComputedPoints {
  enum class Use { kSend, kKeep };
  std::uint64_t count = 0;
  std::function<Points(std::uint64_t begin, std::uint64_t end)> compute;
  Use use = Use::kSend;
};

/// Lists of points in messages of bounded size, which both parties compute, send and receive in step: neither waits
/// for the whole of the other's list, and no size that a peer announced makes anyone allocate.
class PointTransfer {
 public:
  /// `session` must outlive this.
  PointTransfer(Session& session, std::size_t per_message, AlignmentObserver observer)
      : session_(session), per_message_(per_message), observer_(std::move(observer)) {}

  /// This party will compute so many points more.
  void expect(std::uint64_t points) { progress_.total += points; }
  /// So many of those that were expected need not be computed.
  void skip(std::uint64_t points);

  /// Computes `mine`, sends them unless they are to be kept, and returns the `theirs` points that the peer sends as
  /// `step`.
  /// Cost: 32 bytes for each point. Throws ProtocolError if what arrives is not points, all different.
  Points exchange(net::Step step, const ComputedPoints& mine, std::uint64_t theirs);

 private:
  [[nodiscard]] net::Message message(net::Step step, std::uint64_t begin, std::uint64_t count) const;
  [[nodiscard]] std::uint64_t end_of_piece(std::uint64_t begin, std::uint64_t count) const;
  [[nodiscard]] Points compute(const ComputedPoints& mine, std::uint64_t begin);
  void receive(net::Step step, std::uint64_t begin, std::uint64_t count, Points& points);

  Session& session_;
  std::uint64_t per_message_;
  AlignmentObserver observer_;
  AlignmentProgress progress_;
};

}  // namespace blindfl::protocol
