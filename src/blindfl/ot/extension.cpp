#include "blindfl/ot/extension.h"

#include <array>
#include <cstring>

namespace blindfl::ot {

namespace {

constexpr std::size_t kBlocksPerRow = kRowBytes / sizeof(Block);
using Row = std::array<std::uint64_t, kRowBytes / 8>;

std::uint64_t stream_nonce(const OtSession& session) {
  const OtSession::Digest digest = session.derived("streams", 0);
  std::uint64_t nonce = 0;
  std::memcpy(&nonce, digest.data(), sizeof nonce);
  return nonce;
}

/// Where the streams of a tile begin: no two tiles have a block in common.
Block first_counter(std::uint64_t tile, std::uint64_t nonce) {
  return {tile * kBlocksPerRow, nonce};
}

Row load_row(const std::byte* from) {
  Row row;
  std::memcpy(row.data(), from, sizeof row);
  return row;
}

}  // namespace

ReceiverTiles::ReceiverTiles(const OtSession& session, const SecretBlocks& leaves, const Kernels& kernels)
    : leaves_(kernels, leaves.data(), leaves.size()),
      depth_(session.tree_depth()),
      trees_(session.trees()),
      nonce_(stream_nonce(session)),
      rows_(kBaseOts * kRowBytes) {}

void ReceiverTiles::make(std::uint64_t tile, Block* blocks, std::byte* choices, std::byte* corrections) {
  const Kernels& kernels = leaves_.kernels();
  const auto depth = static_cast<std::size_t>(depth_);
  const Block counter = first_counter(tile, nonce_);
  kernels.fold(leaves_.at(0), depth_, false, counter, rows_.data(), choices);
  const Row first = load_row(choices);
  for (std::size_t g = 1; g < trees_; ++g, corrections += kRowBytes) {
    kernels.fold(leaves_.at(g << depth), depth_, false, counter, rows_.data() + g * depth * kRowBytes, corrections);
    Row sum = load_row(corrections);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= first[i];
    std::memcpy(corrections, sum.data(), sizeof sum);
  }
  kernels.transpose(rows_.data(), blocks);
}

SenderTiles::SenderTiles(const OtSession& session, const Block& secret, const SecretBlocks& leaves,
                         const Kernels& kernels)
    : leaves_(kernels, leaves.data(), leaves.size()),
      depth_(session.tree_depth()),
      trees_(session.trees()),
      nonce_(stream_nonce(session)),
      masks_(kBaseOts),
      rows_(kBaseOts * kRowBytes) {
  for (std::size_t j = 0; j < kBaseOts; ++j) masks_[j] = 0 - secret.bit(static_cast<int>(j));
}

void SenderTiles::make(std::uint64_t tile, const std::byte* corrections, Block* blocks) {
  const Kernels& kernels = leaves_.kernels();
  const auto depth = static_cast<std::size_t>(depth_);
  const Block counter = first_counter(tile, nonce_);
  std::array<std::byte, kRowBytes> incomplete;  // the sum of a tree that lacks a leaf
  for (std::size_t g = 0; g < trees_; ++g) {
    std::byte* const rows = rows_.data() + g * depth * kRowBytes;
    kernels.fold(leaves_.at(g << depth), depth_, true, counter, rows, incomplete.data());
    if (g == 0) continue;
    const Row correction = load_row(corrections + (g - 1) * kRowBytes);
    for (std::size_t j = 0; j < depth; ++j) {
      Row row = load_row(rows + j * kRowBytes);
      const std::uint64_t mask = masks_[g * depth + j];
      for (std::size_t i = 0; i < row.size(); ++i) row[i] ^= correction[i] & mask;
      std::memcpy(rows + j * kRowBytes, row.data(), sizeof row);
    }
  }
  kernels.transpose(rows_.data(), blocks);
}

}  // namespace blindfl::ot
