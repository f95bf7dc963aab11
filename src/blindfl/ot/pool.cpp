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

CipherKeys hash_key(const OtSession& session, std::uint64_t tile, const Kernels& kernels) {
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
    : tiles_(std::exchange(other.tiles_, {})), begin_(std::exchange(other.begin_, 0)), position_(other.position_) {}

TileQueue& TileQueue::operator=(TileQueue&& other) noexcept {
  tiles_ = std::exchange(other.tiles_, {});
  begin_ = std::exchange(other.begin_, 0);
  position_ = other.position_;
  return *this;
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
  tiles_.pop_front();
  begin_ = 0;
}

RandomOtSender::RandomOtSender(const OtSession& session, const Block& secret, const SecretBlocks& leaves,
                               const Kernels& kernels)
    : session_(session), kernels_(&kernels), secret_(secret), tiles_(session, secret, leaves, kernels) {}

RandomOtSender::~RandomOtSender() {
  explicit_bzero(&secret_, sizeof secret_);
}

void RandomOtSender::extend(ByteView message, std::size_t tiles) {
  require_tiles(tiles);
  const std::size_t each = correction_bytes(session_);
  const ByteView body = session_.checked_body(message, OtStep::kExtension, next_tile_, tiles, tiles * each);
  for (std::size_t t = 0; t < tiles; ++t, ++next_tile_) {
    TileQueue::Tile tile{next_tile_, SecretBlocks(kTileOts), {}};
    tiles_.make(next_tile_, body.data() + t * each, tile.blocks.data());
    queue_.push(std::move(tile));
  }
}

void RandomOtSender::hash(const TileQueue::Run& run, std::uint64_t purpose, SenderBatch& out) const {
  const CipherKeys key = hash_key(session_, run.tile.number, *kernels_);
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
    : session_(session), kernels_(&kernels), tiles_(session, leaves, kernels) {}

Bytes RandomOtReceiver::extend(std::size_t tiles) {
  require_tiles(tiles);
  const std::size_t each = correction_bytes(session_);
  BufferSink header;
  session_.write_header(header, OtStep::kExtension, next_tile_, tiles);
  Bytes message = header.take();
  message.resize(extension_bytes(session_, tiles));
  for (std::size_t t = 0; t < tiles; ++t, ++next_tile_) {
    TileQueue::Tile tile{next_tile_, SecretBlocks(kTileOts), SecretVector<std::uint64_t>(kTileOts / 64)};
    tiles_.make(next_tile_, tile.blocks.data(), std::as_writable_bytes(std::span(tile.choices)).data(),
                message.data() + OtSession::kHeaderBytes + t * each);
    queue_.push(std::move(tile));
  }
  return message;
}

void RandomOtReceiver::hash(const TileQueue::Run& run, std::uint64_t purpose, ReceiverBatch& out) const {
  const CipherKeys key = hash_key(session_, run.tile.number, *kernels_);
  kernels_->hash(key.at(0), run.tile.blocks.data() + run.first, Block{}, out.pads.data() + run.taken, run.first,
                 run.count, purpose);
  copy_bits(out.choices, run.taken, run.tile.choices, run.first, run.count);
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
