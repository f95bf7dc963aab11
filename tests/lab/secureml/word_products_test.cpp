// Products of words by oblivious transfer: shares add up, messages hide, and what a hostile peer sends is refused.

#include "blindfl/lab/secureml/word_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "blindfl/base/error.h"
#include "lab/secureml/ways.h"
#include "mpc/dealt_pools.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::lab::secureml::word_products_test {
namespace {

using mpc::DealtDirection;

struct Exchanged {
  Bytes choices;
  Bytes message;
  Words of_sender;
  Words of_receiver;
};

Exchanged exchanged(const WordProductShape& shape, DealtDirection& pools, const Words& p, const Words& q,
                    std::size_t first = 0) {
  pools.extend_to(shape.ots());
  WordProductSender sender(shape, pools.sender);
  WordProductReceiver receiver(shape, pools.receiver);
  Exchanged done;
  done.choices = receiver.choose(q, first);
  auto sent = sender.send(done.choices, p, first);
  done.message = sent.message;
  done.of_sender = std::move(sent.share);
  done.of_receiver = receiver.finish(std::move(sent.message));
  return done;
}

Exchanged exchanged(const WordProductShape& shape, const Words& p, const Words& q, std::size_t first = 0) {
  DealtDirection pools(DealtDirection::draw_leaves());
  return exchanged(shape, pools, p, q, first);
}

TEST(WordProducts, AddUpToTransposedQTimesP) {
  Random random;
  for (const WordProductShape shape : {WordProductShape{3, 2, 4}, {1, 1, 1}, {5, 1, 2}, {2, 3, 1}, {4, 1, 130}}) {
    const Words p = random_words(shape.inner, shape.packed, random);
    const Words q = random_words(shape.inner, shape.chosen, random);
    const Exchanged done = exchanged(shape, p, q);
    EXPECT_EQ(done.of_sender + done.of_receiver, plain_product(transpose(q), p)) << shape.packed;
    EXPECT_EQ(done.choices.size(), shape.choice_bytes());
    EXPECT_EQ(done.message.size(), shape.word_bytes());
  }
}

TEST(WordProducts, OfWordsAtTheirBounds) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  Words p(4, 4);
  Words q(4, 4);
  const std::array<std::uint64_t, 4> bounds = {0, 1, kTop, ~std::uint64_t{0}};
  for (std::size_t i = 0; i < 16; ++i) {
    p.values()[i] = bounds[i % 4];
    q.values()[i] = bounds[i / 4];
  }
  const Exchanged done = exchanged({4, 4, 4}, p, q);
  EXPECT_EQ(done.of_sender + done.of_receiver, plain_product(transpose(q), p));
}

TEST(WordProducts, OfSomeRowsOfTheirFactors) {
  Random random;
  const Words p = random_words(7, 3, random);
  const Words q = random_words(7, 2, random);
  const std::vector<std::uint32_t> rows = {2, 3, 4};
  const Exchanged done = exchanged({3, 2, 3}, p, q, 2);
  EXPECT_EQ(done.of_sender + done.of_receiver, plain_product(transpose(select_rows(q, rows)), select_rows(p, rows)));
}

std::vector<std::uint64_t> words_in(ByteView bytes) {
  std::vector<std::uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), 8 * words.size());
  return words;
}

TEST(WordProducts, SendUniformBytesWhateverTheFactors) {
  constexpr WordProductShape kShape{64, 24, 16};
  for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{8192}}) {
    Words p(kShape.inner, kShape.packed);
    Words q(kShape.inner, kShape.chosen);
    std::ranges::fill(p.values(), value);
    std::ranges::fill(q.values(), value);
    const Exchanged done = exchanged(kShape, p, q);
    EXPECT_TRUE(
        testing::looks_uniform<std::uint64_t>(words_in(ByteView(done.choices).subspan(ot::MaterialTag::kBytes))));
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(words_in(done.message)));
    for (const Words* share : {&done.of_sender, &done.of_receiver}) {
      std::vector<std::uint64_t> sums(share->values().begin(), share->values().end());
      ASSERT_EQ(sums.size(), 384U);
      // Uniform words have half of their bits set.
      int ones = 0;
      for (const std::uint64_t v : sums) ones += std::popcount(v);
      EXPECT_NEAR(ones, 384 * 32, 6 * std::sqrt(384 * 16));
    }
  }
}

TEST(WordProducts, SendNoWordTwice) {
  constexpr WordProductShape kShape{4, 2, 50};
  const Words p(kShape.inner, kShape.packed);
  const Words q(kShape.inner, kShape.chosen);
  const Exchanged done = exchanged(kShape, p, q);
  // Of the lowest 8 bits of each chosen word, for which whole words travel.
  constexpr std::size_t kWhole = 8 * 8 * kShape.packed;
  constexpr std::size_t kOfWord = WordProductShape::kBytesPerPair * kShape.packed;
  std::set<std::uint64_t> seen;
  for (std::size_t w = 0; w < kShape.words(); ++w) {
    for (const std::uint64_t word : words_in(ByteView(done.message).subspan(w * kOfWord, kWhole))) {
      EXPECT_TRUE(seen.insert(word).second) << "one pad for two words";
    }
  }
  EXPECT_EQ(seen.size(), kShape.words() * 8 * kShape.packed);
}

/// What the receiver sees of a row whose bit it did not choose: the message less its own stream is P, or not, under a
/// stream that it does not have. Under the same pads twice the difference of two messages is that of two Ps.
bool messages_are_unrelated(const Exchanged& a, const Exchanged& b) {
  std::vector<std::uint64_t> differences = words_in(a.message);
  const std::vector<std::uint64_t> other = words_in(b.message);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= other[i];
  return testing::looks_uniform<std::uint64_t>(differences);
}

TEST(WordProducts, OfTheSameFactorsSendOtherMessagesEachTime) {
  constexpr WordProductShape kShape{8, 1, 8};
  Words p(8, 8);
  std::ranges::fill(p.values(), 8192);
  const Words q(8, 1);
  DealtDirection pools(DealtDirection::draw_leaves());
  const Exchanged first = exchanged(kShape, pools, p, q);
  const Exchanged second = exchanged(kShape, pools, p, q);
  EXPECT_TRUE(messages_are_unrelated(first, second));

  // Negative control: the same pads twice.
  const ot::SecretBlocks leaves = DealtDirection::draw_leaves();
  DealtDirection pads(leaves);
  DealtDirection twin(leaves);
  EXPECT_FALSE(messages_are_unrelated(exchanged(kShape, pads, p, q), exchanged(kShape, twin, p, q)));
}

TEST(WordProducts, RefuseWhatAHostilePeerSends) {
  constexpr WordProductShape kShape{2, 1, 3};
  Random random;
  const Words p = random_words(2, 3, random);
  const Words q = random_words(2, 1, random);
  DealtDirection pools(DealtDirection::draw_leaves());
  pools.extend_to(4 * kShape.ots());
  WordProductSender sender(kShape, pools.sender);
  WordProductReceiver receiver(kShape, pools.receiver);
  const Bytes choices = receiver.choose(q);
  const auto refused = [&](ByteView bytes) {
    return testing::message_of<ProtocolError>([&] { (void)sender.send(bytes, p); });
  };
  EXPECT_THAT(refused(ByteView(choices).first(20)), ::testing::HasSubstr("20 bytes, not 32"));
  Bytes strange = choices;
  strange[0] ^= std::byte{1};
  EXPECT_FALSE(refused(strange).empty()) << "of other random OTs";
  auto sent = sender.send(choices, p);
  EXPECT_THROW((void)sender.send(choices, p), InvalidArgument) << "works once";
  EXPECT_THROW((void)receiver.finish(Bytes(5)), ProtocolError);
  EXPECT_EQ(sent.share + receiver.finish(std::move(sent.message)), plain_product(transpose(q), p));
  EXPECT_THROW((void)receiver.finish(Bytes(kShape.word_bytes())), InvalidArgument);
  WordProductReceiver second(kShape, pools.receiver);
  EXPECT_THROW((void)second.choose(p), InvalidArgument) << "another shape";
  EXPECT_THROW((void)second.choose(q, 1), InvalidArgument) << "beyond its rows";
  EXPECT_THROW((void)second.finish(Bytes(kShape.word_bytes())), InvalidArgument) << "nothing was chosen";
}

}  // namespace
}  // namespace blindfl::lab::secureml::word_products_test
