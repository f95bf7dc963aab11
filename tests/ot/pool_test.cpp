// Pools: what both parties have, that nothing comes twice, and what a peer may get wrong.

#include "blindfl/ot/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>

#include "blindfl/base/error.h"
#include "ot/ot_pair.h"

namespace blindfl::ot::pool_test {
namespace {

template <class T>
constexpr bool kMoveOnly =
    std::is_nothrow_move_constructible_v<T> && !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(kMoveOnly<RandomOtSender> && kMoveOnly<RandomOtReceiver>);
static_assert(kMoveOnly<SenderBatch> && kMoveOnly<ReceiverBatch>);
static_assert(!std::is_copy_constructible_v<SenderSetup> && !std::is_copy_constructible_v<ReceiverSetup>);

using Numbers = std::pair<std::uint64_t, std::uint64_t>;

class AnyPool : public ::testing::TestWithParam<std::tuple<int, std::string>> {
 protected:
  const int depth_ = std::get<0>(GetParam());
  const Kernels& kernels_ = kernels_by_name(std::get<1>(GetParam()));
};

TEST_P(AnyPool, TheReceiverHasThePadOfItsChoice) {
  OtPair pair(depth_, kernels_);
  pair.extend(2);
  pair.extend(1);
  EXPECT_EQ(pair.sender.ready(), 3 * kTileOts);
  // Within tiles, across their borders, and to the end.
  std::size_t taken = 0;
  for (const std::size_t count : {1, 63, 64, 0, 65, 1000, 2048, 2903}) {
    const SenderBatch sender = pair.sender.take(count);
    const ReceiverBatch receiver = pair.receiver.take(count);
    ASSERT_EQ(sender.size(), count);
    ASSERT_EQ(receiver.size(), count);
    EXPECT_EQ(count_right(sender, receiver), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NE(sender.zero[i], sender.one[i]);
    if (count % 64 != 0) {
      EXPECT_EQ(receiver.choices.back() >> count % 64, 0U);
    }
    taken += count;
    EXPECT_EQ(pair.sender.position(), taken);
    EXPECT_EQ(pair.receiver.position(), taken);
  }
  EXPECT_EQ(taken, 3 * kTileOts);
  EXPECT_EQ(pair.receiver.ready(), 0U);
  EXPECT_THROW((void)pair.sender.take(1), InvalidArgument);
  EXPECT_THROW((void)pair.receiver.take(1), InvalidArgument);
}

TEST_P(AnyPool, TakingTwiceGivesTwoPadsForOneChoice) {
  OtPair pair(depth_, kernels_);
  pair.extend(1);
  const auto [sender, sender_again] = pair.sender.take_twice(1500);
  const auto [receiver, receiver_again] = pair.receiver.take_twice(1500);
  EXPECT_EQ(receiver.choices, receiver_again.choices);
  EXPECT_EQ(count_right(sender, receiver), 1500U);
  EXPECT_EQ(count_right(sender_again, receiver_again), 1500U);
  EXPECT_EQ(count_right(sender, receiver_again), 0U);
}

TEST_P(AnyPool, PiecesAreTheSamePads) {
  OtPair pair(depth_, kernels_);
  // Twice, so that the second tiles are made in the memory of the first.
  for (int round = 0; round < 2; ++round) {
    pair.extend(3);
    for (const std::size_t count : {0, 1, 255, 2049, 3839}) {
      SenderBatch sender(count);
      pair.sender.take_pieces(count, [&](const SenderPiece& piece) {
        ASSERT_LE(piece.zero.size(), kPieceOts);
        std::ranges::copy(piece.zero, sender.zero.begin() + static_cast<std::ptrdiff_t>(piece.first));
        std::ranges::copy(piece.one, sender.one.begin() + static_cast<std::ptrdiff_t>(piece.first));
      });
      ReceiverBatch receiver(count);
      if (count % 2 == 0) {
        receiver = pair.receiver.take(count);
      } else {
        receiver.choices = pair.receiver.take_pieces(count, [&](const ReceiverPiece& piece) {
          std::ranges::copy(piece.pads, receiver.pads.begin() + static_cast<std::ptrdiff_t>(piece.first));
        });
      }
      EXPECT_EQ(count_right(sender, receiver), count);
      EXPECT_EQ(pair.sender.position(), pair.receiver.position());
    }
    EXPECT_EQ(pair.sender.ready(), 0U);
  }
  EXPECT_THROW(pair.sender.take_pieces(1, [](const SenderPiece& /*piece*/) {}), InvalidArgument);
}

TEST_P(AnyPool, OtherKernelsAtThePeerMakeTheSame) {
  for (const Kernels* other : available_kernels()) {
    OtPair pair(spec_of(depth_), kernels_, *other);
    pair.extend(1);
    EXPECT_EQ(count_right(pair.sender.take(kTileOts), pair.receiver.take(kTileOts)), kTileOts) << other->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, AnyPool,
                         ::testing::Combine(::testing::Values(2, 4, 8), ::testing::ValuesIn(kernel_names())),
                         [](const auto& info) {
                           return std::get<1>(info.param) + "_depth_" + std::to_string(std::get<0>(info.param));
                         });

// From the same leaves, every set of kernels makes the same messages and pads.
TEST(Pool, AllKernelsMakeTheSameBytes) {
  for (const int depth : {2, 4, 8}) {
    const OtSession session(spec_of(depth));
    SecretBlocks leaves(session.trees() * session.leaves_per_tree());
    OtPair::random().fill(std::as_writable_bytes(std::span(leaves)));
    const Block secret{3, 4};
    Bytes first_message;
    SecretBlocks first_pads;
    SecretBlocks first_ones;
    for (const Kernels* kernels : available_kernels()) {
      RandomOtReceiver receiver(session, leaves, *kernels);
      RandomOtSender sender(session, secret, leaves, *kernels);
      const Bytes message = receiver.extend(2);
      sender.extend(message, 2);
      const ReceiverBatch batch = receiver.take(4000);
      const SenderBatch other = sender.take(4000);
      if (first_message.empty()) {
        first_message = message;
        first_pads = batch.pads;
        first_ones = other.one;
      }
      EXPECT_EQ(message, first_message) << kernels->name;
      EXPECT_EQ(batch.pads, first_pads) << kernels->name;
      EXPECT_EQ(other.one, first_ones) << kernels->name;
    }
  }
}

TEST(Pool, NothingIsTakenTwice) {
  OtPair pair;
  std::set<Numbers> seen;
  for (int round = 0; round < 4; ++round) {
    pair.extend(1);
    for (const std::size_t count : {2047, 1}) {
      const SenderBatch batch = pair.sender.take(count);
      for (const auto* pads : {&batch.zero, &batch.one}) {
        for (const Block& pad : *pads) EXPECT_TRUE(seen.emplace(pad.low, pad.high).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), 8 * kTileOts);
}

TEST(Pool, WhatItCostsIsWhatItSends) {
  for (const int depth : {2, 4, 8}) {
    OtPair pair(depth);
    const OtSession session(spec_of(depth));
    EXPECT_EQ(pair.receiver.extend(3).size(), extension_bytes(session, 3));
    EXPECT_EQ(extension_bytes(session, 3), 32 + 3 * (128 / depth - 1) * 256);
  }
  EXPECT_EQ(tiles_for(0), 0U);
  EXPECT_EQ(tiles_for(2048), 1U);
  EXPECT_EQ(tiles_for(2049), 2U);
}

/// The receiver's blocks of a tile, before they are hashed.
SecretBlocks blocks_of_tile(const OtSession& session, const SecretBlocks& leaves, std::uint64_t tile) {
  ReceiverTiles tiles(session, leaves, fastest_kernels());
  SecretBlocks blocks(kTileOts);
  Bytes choices(kRowBytes);
  Bytes corrections(correction_bytes(session));
  tiles.make(tile, blocks.data(), choices.data(), corrections.data());
  return blocks;
}

SecretBlocks random_leaves(const OtSession& session) {
  SecretBlocks leaves(session.trees() * session.leaves_per_tree());
  OtPair::random().fill(std::as_writable_bytes(std::span(leaves)));
  return leaves;
}

// The definition: the key of session and tile, the position and the purpose as tweak.
TEST(Pool, PadsAreHashesUnderAKeyOfSessionAndTile) {
  const OtSession session(spec_of(4));
  const SecretBlocks leaves = random_leaves(session);
  RandomOtReceiver receiver(session, leaves, fastest_kernels());
  (void)receiver.extend(3);
  (void)receiver.take(kTileOts - 3);
  const auto [first, second] = receiver.take_twice(kTileOts);
  for (std::size_t i = 0; i < kTileOts; ++i) {
    const std::uint64_t position = kTileOts - 3 + i;
    const std::uint64_t tile = position / kTileOts;
    if (i > 10 && i < kTileOts - 10) continue;
    const OtSession::Digest digest = session.derived("pads of a tile", tile);
    Block key;
    std::memcpy(&key, digest.data(), sizeof key);
    const CipherKeys cipher(portable_kernels(), &key, 1);
    const Block in = blocks_of_tile(session, leaves, tile)[position % kTileOts];
    Block once;
    portable_kernels().encrypt(cipher.at(0), &in, &once, 1);
    for (std::uint64_t purpose = 0; purpose < 2; ++purpose) {
      const Block tweaked = once ^ Block { position % kTileOts, purpose };
      Block twice;
      portable_kernels().encrypt(cipher.at(0), &tweaked, &twice, 1);
      EXPECT_EQ((purpose == 0 ? first : second).pads[i], twice ^ once) << i;
    }
  }
  EXPECT_NE(session.derived("pads of a tile", 0), session.derived("pads of a tile", 1));
  EXPECT_NE(session.derived("pads of a tile", 0), OtSession(spec_of(4, 2)).derived("pads of a tile", 0));
}

TEST(Pool, StreamsRepeatNeitherInTilesNorInSessions) {
  const OtSession session(spec_of(4));
  const SecretBlocks leaves = random_leaves(session);
  std::set<Numbers> seen;
  for (const OtSpec& spec : {spec_of(4, 1), spec_of(4, 2), spec_of(4, 1, Party::kB)}) {
    for (std::uint64_t tile = 0; tile < 3; ++tile) {
      for (const Block& block : blocks_of_tile(OtSession(spec), leaves, tile)) seen.emplace(block.low, block.high);
    }
  }
  EXPECT_EQ(seen.size(), 9 * kTileOts);
}

TEST(TileQueue, WhatWasTakenIsOverwritten) {
  TileQueue queue;
  queue.push({7, SecretBlocks(kTileOts, Block{1, 2}), SecretVector<std::uint64_t>(kTileOts / 64, ~std::uint64_t{0})});
  const auto look = [](const TileQueue::Run& run, const Block& before) {
    EXPECT_EQ(run.tile.number, 7U);
    for (std::size_t i = 0; i < kTileOts; ++i) EXPECT_EQ(run.tile.blocks[i], i < run.first ? before : (Block{1, 2}));
  };
  queue.take(10, [&](const TileQueue::Run& run) { look(run, Block{}); });
  queue.take(100, [&](const TileQueue::Run& run) {
    EXPECT_EQ(run.first, 10U);
    look(run, Block{});
    EXPECT_EQ(run.tile.choices[0], ~std::uint64_t{0} << 10);
  });
  queue.take(1, [&](const TileQueue::Run& run) {
    EXPECT_EQ(run.tile.choices[0], 0U);
    EXPECT_EQ(run.tile.choices[1], ~std::uint64_t{0} << (110 - 64));
    EXPECT_EQ(run.tile.choices[2], ~std::uint64_t{0});
  });
  EXPECT_EQ(queue.position(), 111U);
}

TEST(Pool, AMovedPoolGoesOnAndLeavesNothingBehind) {
  OtPair pair;
  pair.extend(1);
  (void)pair.sender.take(10);
  (void)pair.receiver.take(10);
  RandomOtSender sender(std::move(pair.sender));
  RandomOtReceiver receiver(std::move(pair.receiver));
  EXPECT_EQ(pair.sender.ready(), 0U);    // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the point
  EXPECT_EQ(pair.receiver.ready(), 0U);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the point
  EXPECT_EQ(sender.position(), 10U);
  EXPECT_EQ(count_right(sender.take(2038), receiver.take(2038)), 2038U);
}

TEST(Pool, ChoicesAndPadsAreEven) {
  OtPair pair;
  constexpr std::size_t kCount = 16 * kTileOts;
  pair.extend(16);
  const ReceiverBatch receiver = pair.receiver.take(kCount);
  const SenderBatch sender = pair.sender.take(kCount);
  const double six_deviations = 6 * 0.5 * std::sqrt(static_cast<double>(kCount));
  std::size_t ones = 0;
  for (const std::uint64_t word : receiver.choices) ones += static_cast<std::size_t>(std::popcount(word));
  EXPECT_NEAR(static_cast<double>(ones), kCount / 2.0, six_deviations);
  for (const auto* pads : {&receiver.pads, &sender.zero, &sender.one}) {
    for (int bit = 0; bit < 128; ++bit) {
      std::size_t set = 0;
      for (const Block& pad : *pads) set += pad.bit(bit);
      EXPECT_NEAR(static_cast<double>(set), kCount / 2.0, six_deviations) << bit;
    }
  }
}

// The message is u_g - u_0: no bit of it leans either way, nor with the choices.
TEST(Pool, TheMessageTellsNothingOfTheChoices) {
  for (const int depth : {2, 4, 8}) {
    OtPair pair(depth);
    const Bytes message = pair.receiver.extend(8);
    const ReceiverBatch batch = pair.receiver.take(8 * kTileOts);
    const std::size_t rows = 128 / static_cast<std::size_t>(depth) - 1;
    const double six_deviations = 6 * 0.5 * std::sqrt(8.0 * kTileOts);
    for (std::size_t row = 0; row < rows; ++row) {
      std::size_t ones = 0;
      std::size_t equal = 0;
      for (std::size_t i = 0; i < 8 * kTileOts; ++i) {
        const std::size_t at = 32 + (i / kTileOts * rows + row) * kRowBytes + i % kTileOts / 8;
        const bool bit = (message[at] >> (i % 8) & std::byte{1}) != std::byte{0};
        ones += bit ? 1 : 0;
        equal += bit == choice_at(batch, i) ? 1 : 0;
      }
      EXPECT_NEAR(static_cast<double>(ones), 4.0 * kTileOts, six_deviations) << depth << ' ' << row;
      EXPECT_NEAR(static_cast<double>(equal), 4.0 * kTileOts, six_deviations) << depth << ' ' << row;
    }
  }
}

}  // namespace
}  // namespace blindfl::ot::pool_test
