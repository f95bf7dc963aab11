// Tables by oblivious transfer: the right entry, and nothing of the others, from what the receiver really sees.

#include "blindfl/mpc/table_ot.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "mpc/dealt_pools.h"

namespace blindfl::mpc::table_ot_test {
namespace {

using Words = SecretVector<std::uint32_t>;

const std::vector<TableShape> kShapes = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {4, 2}};

std::vector<BitShares> planes_of_indices(const Words& indices, int bits) {
  const SecretVector<std::uint64_t> wide(indices.begin(), indices.end());
  return planes_of(wide, static_cast<std::size_t>(bits));
}

/// The message's words, as its format says, not as the code reads them.
Words unpacked(const Bytes& bytes, std::size_t count, std::size_t bits) {
  Words words(count);
  for (std::size_t i = 0; i < count * bits; ++i) {
    words[i / bits] |= (std::to_integer<std::uint32_t>(bytes[i / 8]) >> i % 8 & 1) << i % bits;
  }
  return words;
}

struct Transfer {
  Transfer(const TableShape& shape, const Words& tables, const Words& indices)
      : leaves(DealtDirection::draw_leaves()), used(leaves), twin(leaves) {
    const std::size_t count = tables.size();
    const std::size_t ots = count * static_cast<std::size_t>(shape.index_bits);
    used.extend_to(ots);
    twin.extend_to(ots);
    TableSender sender(shape, count, used.sender);
    TableReceiver receiver(shape, count, used.receiver);
    BufferSink chosen;
    receiver.choose(planes_of_indices(indices, shape.index_bits), chosen);
    choices = chosen.take();
    BufferSource in(choices);
    std::vector<BitShares> planes;
    for (int j = 0; j < shape.index_bits; ++j) planes.push_back(BitShares::read(in, count));
    const SecretVector<std::uint64_t> wide = words_of(planes, count);
    BufferSink encrypted;
    sender.encrypt(Words(wide.begin(), wide.end()), tables, encrypted);
    message = encrypted.take();
    BufferSource message_in(message);
    entries = receiver.open(indices, receiver.read(message_in));
    EXPECT_EQ(message_in.remaining(), 0U);
    EXPECT_THROW(sender.encrypt(Words(count), tables, encrypted), InvalidArgument) << "pads are used once";
    EXPECT_THROW((void)receiver.open(indices, Words(count)), InvalidArgument);
    EXPECT_THROW(receiver.choose(planes_of_indices(indices, shape.index_bits), chosen), InvalidArgument);
  }
  ot::SecretBlocks leaves;
  DealtDirection used;
  DealtDirection twin;
  Bytes choices;
  Bytes message;
  Words entries;
};

Words random_words(std::size_t count, std::uint32_t mask) {
  Random random;
  Words words(count);
  random.fill_integers(std::span(words));
  for (std::uint32_t& word : words) word &= mask;
  return words;
}

TEST(TableOt, TheReceiverGetsTheEntryAtItsIndex) {
  for (const TableShape& shape : kShapes) {
    for (const std::size_t count : {1, 3, 64, 500}) {
      const Words tables = random_words(count, ~std::uint32_t{0});
      const Words indices = random_words(count, static_cast<std::uint32_t>(shape.entries() - 1));
      const Transfer transfer(shape, tables, indices);
      EXPECT_EQ(transfer.message.size(), shape.bytes(count));
      EXPECT_EQ(transfer.choices.size(), static_cast<std::size_t>(shape.index_bits) * bytes_for_bits(count));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t entry = tables[i] >> (indices[i] * static_cast<std::uint32_t>(shape.entry_bits));
        ASSERT_EQ(transfer.entries[i], entry & ((1U << shape.entry_bits) - 1)) << shape.index_bits;
      }
    }
  }
}

// The message is exactly the tables' bits: where a table does not fill a byte, several share one, and behind the last
// there are zeros. Whatever the caller has above a table's bits does not travel.
TEST(TableOt, NothingOutsideTheTableIsSent) {
  for (const TableShape& shape : kShapes) {
    for (const std::size_t count : {1, 3, 5, 7, 9}) {
      const Transfer transfer(shape, Words(count, ~std::uint32_t{0}), Words(count));
      const std::size_t bits =
          count * (std::size_t{1} << shape.index_bits) * static_cast<std::size_t>(shape.entry_bits);
      ASSERT_EQ(transfer.message.size(), (bits + 7) / 8);
      if (bits % 8 != 0) {
        EXPECT_EQ(std::to_integer<unsigned>(transfer.message.back()) >> bits % 8, 0U);
      }
    }
  }
}

/// What the receiver can compute of the pad at every place of the message: the XOR of the pads that it has, places
/// exchanged as it asked for. Right at its own index; anything else must be a coin toss.
Words receiver_guess(const TableShape& shape, DealtDirection& twin, const Words& indices) {
  const std::size_t count = indices.size();
  Words guess(count);
  Words random_index(count);
  for (int j = 0; j < shape.index_bits; ++j) {
    const ot::ReceiverBatch batch = twin.receiver.take(count);
    for (std::size_t i = 0; i < count; ++i) {
      guess[i] ^= static_cast<std::uint32_t>(batch.pads[i].low);
      random_index[i] |= static_cast<std::uint32_t>(batch.choices[i / 64] >> i % 64 & 1) << j;
    }
  }
  Words moved(count);
  const auto width = static_cast<std::uint32_t>(shape.entry_bits);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t v = 0; v < shape.entries(); ++v) {
      const std::uint32_t from = v ^ indices[i] ^ random_index[i];
      moved[i] |= (guess[i] >> (from * width) & ((1U << width) - 1)) << (v * width);
    }
  }
  return moved;
}

TEST(TableOt, EntriesThatWereNotChosenAreUniformToTheReceiver) {
  constexpr std::size_t kCount = 4096;
  const double six_deviations = 6 * 0.5 * std::sqrt(static_cast<double>(kCount));
  for (const TableShape& shape : kShapes) {
    const auto width = static_cast<std::size_t>(shape.entry_bits);
    const std::size_t places = shape.word_bits();
    for (const std::uint32_t index : {std::uint32_t{0}, static_cast<std::uint32_t>(shape.entries() - 1)}) {
      const Words tables(kCount, 0x9C3A61F5);  // always the same: all that varies is pads
      const Words indices(kCount, index);
      Transfer transfer(shape, tables, indices);
      const Words seen = unpacked(transfer.message, kCount, places);
      const Words guess = receiver_guess(shape, transfer.twin, indices);
      std::vector<std::vector<bool>> wrong(places, std::vector<bool>(kCount));
      for (std::size_t p = 0; p < places; ++p) {
        std::size_t right = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          wrong[p][i] = ((seen[i] ^ guess[i] ^ tables[i]) >> p & 1) != 0;
          right += wrong[p][i] ? 0 : 1;
        }
        if (p / width == index) {
          EXPECT_EQ(right, kCount) << "negative control: its own entry the receiver does know";
        } else {
          EXPECT_NEAR(static_cast<double>(right), kCount / 2.0, six_deviations) << shape.index_bits << ' ' << p;
        }
      }
      // Nor do pairs, or the four corners of a square of indices, tell anything: places that shared pads' bits would.
      const auto lean = [&](std::initializer_list<std::size_t> of) {
        std::size_t even = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          bool sum = false;
          for (const std::size_t p : of) sum = sum != wrong[p][i];
          even += sum ? 0 : 1;
        }
        return static_cast<double>(even);
      };
      for (std::size_t v = 0; v < shape.entries(); ++v) {
        for (std::size_t w = 0; w < v; ++w) {
          if (v == index || w == index) continue;
          EXPECT_NEAR(lean({v * width, w * width}), kCount / 2.0, six_deviations);
          const std::size_t other = v ^ w ^ index;  // the fourth corner is what the receiver knows
          if (other == index || other == v || other == w) continue;
          EXPECT_NEAR(lean({v * width, w * width, other * width}), kCount / 2.0, six_deviations);
        }
      }
    }
  }
}

TEST(TableOt, TheIndexIsHiddenFromTheSender) {
  constexpr std::size_t kCount = 8192;
  for (const std::uint32_t index : {0U, 15U}) {
    const Transfer transfer({4, 2}, Words(kCount), Words(kCount, index));
    for (int j = 0; j < 4; ++j) {
      std::size_t ones = 0;
      for (std::size_t i = 0; i < kCount / 8; ++i) {
        ones += static_cast<std::size_t>(
            std::popcount(std::to_integer<unsigned>(transfer.choices[static_cast<std::size_t>(j) * kCount / 8 + i])));
      }
      EXPECT_NEAR(static_cast<double>(ones), kCount / 2.0, 6 * 0.5 * std::sqrt(static_cast<double>(kCount)));
    }
  }
}

TEST(TableOt, OtherShapesAreRefused) {
  DealtDirection pools(DealtDirection::draw_leaves());
  pools.extend_to(10);
  for (const TableShape& shape : {TableShape{0, 1}, TableShape{5, 1}, TableShape{1, 0}, TableShape{1, 3}}) {
    EXPECT_THROW(TableSender(shape, 1, pools.sender), InvalidArgument);
    EXPECT_THROW(TableReceiver(shape, 1, pools.receiver), InvalidArgument);
  }
}

}  // namespace
}  // namespace blindfl::mpc::table_ot_test
