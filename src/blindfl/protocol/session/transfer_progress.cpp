#include "blindfl/protocol/session/transfer_progress.h"

#include <algorithm>

namespace blindfl::protocol {

namespace {

// A scheme may hand over everything at once: in pieces, so that there is something to tell meanwhile.
template <class Piece>
void for_each_piece(std::span<Piece> bytes, const auto& body) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), TransferMeter::kBetweenReports));
    bytes = bytes.subspan(piece.size());
    body(piece);
  }
}

}  // namespace

void TransferMeter::passed(std::uint64_t bytes) {
  progress_.bytes += bytes;
  if (progress_.bytes - reported_ < kBetweenReports && progress_.bytes != progress_.total) return;
  reported_ = progress_.bytes;
  observer_(progress_);
}

void MeteredSink::write(ByteView bytes) {
  for_each_piece(bytes, [&](ByteView piece) {
    inner_.write(piece);
    meter_.passed(piece.size());
  });
}

void MeteredSource::read(std::span<std::byte> out) {
  for_each_piece(out, [&](std::span<std::byte> piece) {
    inner_.read(piece);
    meter_.passed(piece.size());
  });
}

}  // namespace blindfl::protocol
