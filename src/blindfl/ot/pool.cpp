#include "blindfl/ot/pool.h"

#include <algorithm>
#include <cstring>

#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

// What the two pads of a choice are told apart by.
constexpr std::uint64_t kFirstPad = 0;
constexpr std::uint64_t kSecondPad = 1;
// Far below what would make a counter of a stream repeat, and what memory holds.
constexpr std::size_t kMostTiles = std::size_t{1} << 20;

/// Of used tiles, for those that come next: 8 MB. A layer that compares 8192 numbers uses 170 at a time.
constexpr std::size_t kMostSpare = 256;

CipherKeys pad_key(const OtSession& session, std::uint64_t tile, const Kernels& kernels) {
  const OtSession::Digest digest = session.derived("pads of a tile", tile);
  Block key;
  std::memcpy(&key, digest.data(), sizeof key);
  return {kernels, &key, 1};
}

/// 64 bits from bit `at` on; what lies beyond the last word is zero.
std::uint64_t bits_at(const SecretVector<std::uint64_t>& words, std::size_t at) {
  const std::size_t shift = at % 64;
  std::uint64_t bits = words[at / 64] >> shift;
  if (shift != 0 && at / 64 + 1 < words.size()) bits |= words[at / 64 + 1] << (64 - shift);
  return bits;
}

/// Bits that were zero become `count` bits of `from`.
void copy_bits(SecretVector<std::uint64_t>& to, std::size_t at, const SecretVector<std::uint64_t>& from,
               std::size_t first, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t shift = (at + done) % 64;
    const std::size_t now = std::min(count - done, 64 - shift);
    const std::uint64_t bits = bits_at(from, first + done) & (~std::uint64_t{0} >> (64 - now));
    to[(at + done) / 64] |= bits << shift;
    done += now;
  }
}

/// Overwrites `count` bits.
void clear_bits(SecretVector<std::uint64_t>& words, std::size_t first, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t shift = (first + done) % 64;
    const std::size_t now = std::min(count - done, 64 - shift);
    words[(first + done) / 64] &= ~((~std::uint64_t{0} >> (64 - now)) << shift);
    done += now;
  }
}

void require_tiles(std::size_t tiles) {
  require<InvalidArgument>(tiles > 0 && tiles <= kMostTiles, "oblivious transfer: from 1 to ", kMostTiles,
                           " tiles at a time, not ", tiles);
}

}  // namespace

std::uint64_t extension_bytes(const OtSession& session, std::size_t tiles) {
  return OtSession::kHeaderBytes + tiles * correction_bytes(session);
}

TileQueue::TileQueue(TileQueue&& other) noexcept
    : tiles_(std::exchange(other.tiles_, {})),
      spare_(std::exchange(other.spare_, {})),
      begin_(std::exchange(other.begin_, 0)),
      position_(other.position_) {}

TileQueue& TileQueue::operator=(TileQueue&& other) noexcept {
  tiles_ = std::exchange(other.tiles_, {});
  spare_ = std::exchange(other.spare_, {});
  begin_ = std::exchange(other.begin_, 0);
  position_ = other.position_;
  return *this;
}

TileQueue::Tile TileQueue::room_for(std::uint64_t number, bool with_choices) {
  if (spare_.empty()) {
    return {number, SecretBlocks(kTileOts), SecretVector<std::uint64_t>(with_choices ? kTileOts / 64 : 0)};
  }
  Tile tile = std::move(spare_.back());
  spare_.pop_back();
  tile.number = number;
  return tile;
}

void TileQueue::require_ready(std::size_t count) const {
  require<InvalidArgument>(count <= ready(), "oblivious transfer: ", count, " are needed and ", ready(),
                           " are ready: extend the pool first");
}

void TileQueue::drop(std::size_t count) {
  Tile& tile = tiles_.front();
  explicit_bzero(tile.blocks.data() + begin_, count * sizeof(Block));
  if (!tile.choices.empty()) clear_bits(tile.choices, begin_, count);
  begin_ += count;
  position_ += count;
  if (begin_ < kTileOts) return;
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(tile));
  tiles_.pop_front();
  begin_ = 0;
}

RandomOtSender::RandomOtSender(const OtSession& session, const Block& secret, const SecretBlocks& leaves,
                               const Kernels& kernels)
    : session_(session),
      kernels_(&kernels),
      secret_(secret),
      piece_(2 * kPieceOts),
      tiles_(session, secret, leaves, kernels) {}

RandomOtSender::~RandomOtSender() {
  explicit_bzero(&secret_, sizeof secret_);
}

void RandomOtSender::extend(ByteView message, std::size_t tiles) {
  require_tiles(tiles);
  const std::size_t each = correction_bytes(session_);
  const ByteView body = session_.checked_body(message, OtStep::kExtension, next_tile_, tiles, tiles * each);
  for (std::size_t t = 0; t < tiles; ++t, ++next_tile_) {
    TileQueue::Tile tile = queue_.room_for(next_tile_, false);
    tiles_.make(next_tile_, body.data() + t * each, tile.blocks.data());
    queue_.push(std::move(tile));
  }
}

CipherKeys RandomOtSender::hash_key(const TileQueue::Run& run) const {
  return pad_key(session_, run.tile.number, *kernels_);
}

SenderPiece RandomOtSender::piece_of(const CipherKeys& key, const TileQueue::Run& run, std::size_t done) {
  const std::size_t count = std::min(run.count - done, kPieceOts);
  const std::size_t first = run.first + done;
  const Block* blocks = run.tile.blocks.data() + first;
  Block* const zero = piece_.data();
  Block* const one = zero + kPieceOts;
  kernels_->hash(key.at(0), blocks, Block{}, zero, first, count, kFirstPad);
  kernels_->hash(key.at(0), blocks, secret_, one, first, count, kFirstPad);
  return {run.taken + done, {zero, count}, {one, count}};
}

void RandomOtSender::clear_piece() {
  explicit_bzero(piece_.data(), piece_.size() * sizeof(Block));
}

void RandomOtSender::hash(const TileQueue::Run& run, std::uint64_t purpose, SenderBatch& out) const {
  const CipherKeys key = hash_key(run);
  const Block* blocks = run.tile.blocks.data() + run.first;
  kernels_->hash(key.at(0), blocks, Block{}, out.zero.data() + run.taken, run.first, run.count, purpose);
  kernels_->hash(key.at(0), blocks, secret_, out.one.data() + run.taken, run.first, run.count, purpose);
}

SenderBatch RandomOtSender::take(std::size_t count) {
  SenderBatch batch(count);
  queue_.take(count, [&](const TileQueue::Run& run) { hash(run, kFirstPad, batch); });
  return batch;
}

std::pair<SenderBatch, SenderBatch> RandomOtSender::take_twice(std::size_t count) {
  std::pair batches(SenderBatch{count}, SenderBatch{count});
  queue_.take(count, [&](const TileQueue::Run& run) {
    hash(run, kFirstPad, batches.first);
    hash(run, kSecondPad, batches.second);
  });
  return batches;
}

RandomOtReceiver::RandomOtReceiver(const OtSession& session, const SecretBlocks& leaves, const Kernels& kernels)
    : session_(session), kernels_(&kernels), piece_(kPieceOts), tiles_(session, leaves, kernels) {}

Bytes RandomOtReceiver::extend(std::size_t tiles) {
  require_tiles(tiles);
  const std::size_t each = correction_bytes(session_);
  BufferSink header;
  session_.write_header(header, OtStep::kExtension, next_tile_, tiles);
  Bytes message = header.take();
  message.resize(extension_bytes(session_, tiles));
  for (std::size_t t = 0; t < tiles; ++t, ++next_tile_) {
    TileQueue::Tile tile = queue_.room_for(next_tile_, true);
    tiles_.make(next_tile_, tile.blocks.data(), std::as_writable_bytes(std::span(tile.choices)).data(),
                message.data() + OtSession::kHeaderBytes + t * each);
    queue_.push(std::move(tile));
  }
  return message;
}

CipherKeys RandomOtReceiver::hash_key(const TileQueue::Run& run) const {
  return pad_key(session_, run.tile.number, *kernels_);
}

ReceiverPiece RandomOtReceiver::piece_of(const CipherKeys& key, const TileQueue::Run& run, std::size_t done) {
  const std::size_t count = std::min(run.count - done, kPieceOts);
  const std::size_t first = run.first + done;
  kernels_->hash(key.at(0), run.tile.blocks.data() + first, Block{}, piece_.data(), first, count, kFirstPad);
  return {run.taken + done, {piece_.data(), count}};
}

void RandomOtReceiver::copy_choices(const TileQueue::Run& run, SecretVector<std::uint64_t>& to) {
  copy_bits(to, run.taken, run.tile.choices, run.first, run.count);
}

void RandomOtReceiver::clear_piece() {
  explicit_bzero(piece_.data(), piece_.size() * sizeof(Block));
}

void RandomOtReceiver::hash(const TileQueue::Run& run, std::uint64_t purpose, ReceiverBatch& out) const {
  const CipherKeys key = hash_key(run);
  kernels_->hash(key.at(0), run.tile.blocks.data() + run.first, Block{}, out.pads.data() + run.taken, run.first,
                 run.count, purpose);
  copy_choices(run, out.choices);
}

ReceiverBatch RandomOtReceiver::take(std::size_t count) {
  ReceiverBatch batch(count);
  queue_.take(count, [&](const TileQueue::Run& run) { hash(run, kFirstPad, batch); });
  return batch;
}

std::pair<ReceiverBatch, ReceiverBatch> RandomOtReceiver::take_twice(std::size_t count) {
  std::pair batches(ReceiverBatch{count}, ReceiverBatch{count});
  queue_.take(count, [&](const TileQueue::Run& run) {
    hash(run, kFirstPad, batches.first);
    hash(run, kSecondPad, batches.second);
  });
  return batches;
}

}  // namespace blindfl::ot
