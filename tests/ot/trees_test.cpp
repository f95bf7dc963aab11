// Punctured trees: the sender has every leaf but its own.

#include "blindfl/ot/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ot/ot_pair.h"

namespace blindfl::ot::trees_test {
namespace {

class PuncturedTrees : public ::testing::TestWithParam<std::string> {
 protected:
  struct Both {
    GrownTrees grown;
    SecretBlocks punctured;
  };

  /// With keys as if base OTs had been done.
  Both make(const OtSession& session, const Block& secret) {
    BaseKeyPairs pairs{SecretBlocks(kBaseOts), SecretBlocks(kBaseOts)};
    OtPair::random().fill(std::as_writable_bytes(std::span(pairs.zero)));
    OtPair::random().fill(std::as_writable_bytes(std::span(pairs.one)));
    const Block choices = base_choices(session, secret);
    SecretBlocks chosen(kBaseOts);
    for (std::size_t i = 0; i < kBaseOts; ++i) {
      chosen[i] = choices.bit(static_cast<int>(i)) == 1 ? pairs.one[i] : pairs.zero[i];
    }
    GrownTrees grown = grow_trees(session, pairs, kernels_, OtPair::random());
    SecretBlocks punctured = punctured_trees(session, secret, chosen, grown.message, kernels_);
    return {std::move(grown), std::move(punctured)};
  }
  const Kernels& kernels_ = kernels_by_name(GetParam());
};

TEST_P(PuncturedTrees, TheSenderHasEveryLeafButItsOwn) {
  for (const int depth : {2, 4, 8}) {
    const OtSession session(spec_of(depth));
    for (const Block& secret : {Block{}, mask_of(1), Block{0x0123456789ABCDEF, 0xF0E1D2C3B4A59687}}) {
      const Both trees = make(session, secret);
      EXPECT_EQ(trees.grown.message.size(), kTreesBytes);
      const std::size_t leaves = session.leaves_per_tree();
      for (std::size_t g = 0; g < session.trees(); ++g) {
        std::size_t alpha = 0;
        for (int j = 0; j < depth; ++j) {
          alpha |= static_cast<std::size_t>(secret.bit(static_cast<int>(g) * depth + j)) << j;
        }
        EXPECT_EQ(trees.punctured[g * leaves], Block{}) << "its own leaf is not known";
        for (std::size_t y = 1; y < leaves; ++y) {
          ASSERT_EQ(trees.punctured[g * leaves + y], trees.grown.leaves[g * leaves + (y ^ alpha)]) << depth << ' ' << g;
        }
      }
    }
  }
}

// The unknown leaf is not among what the sender has, nor a sum of it with what was sent.
TEST_P(PuncturedTrees, TheMissingLeafStaysHidden) {
  const OtSession session(spec_of(2));
  const Block secret{0x8888888888888888, 0x4444444444444444};
  const Both trees = make(session, secret);
  for (std::size_t g = 0; g < session.trees(); ++g) {
    const std::size_t alpha = secret.bit(static_cast<int>(2 * g)) | secret.bit(static_cast<int>(2 * g + 1)) << 1;
    const Block missing = trees.grown.leaves[4 * g + alpha];
    EXPECT_EQ(std::ranges::count(trees.punctured, missing), 0);
    std::array<Block, 4> sent;
    std::memcpy(sent.data(), trees.grown.message.data() + 64 * g, sizeof sent);
    for (const Block& sum : sent) {
      for (std::size_t y = 0; y < 4; ++y) EXPECT_NE(sum ^ trees.punctured[4 * g + y], missing);
    }
  }
}

TEST_P(PuncturedTrees, AChangedMessageChangesOnlyThatTree) {
  const OtSession session(spec_of(4));
  const Block secret{1, 2};
  BaseKeyPairs pairs{SecretBlocks(kBaseOts, Block{}), SecretBlocks(kBaseOts, Block{})};
  const SecretBlocks chosen(kBaseOts, Block{});
  GrownTrees grown = grow_trees(session, pairs, kernels_, OtPair::random());
  const SecretBlocks right = punctured_trees(session, secret, chosen, grown.message, kernels_);
  for (std::byte& byte : std::span(grown.message).first(4 * 32)) byte ^= std::byte{1};
  const SecretBlocks wrong = punctured_trees(session, secret, chosen, grown.message, kernels_);
  EXPECT_FALSE(std::ranges::equal(std::span(right).first(16), std::span(wrong).first(16)));
  EXPECT_TRUE(std::ranges::equal(std::span(right).subspan(16), std::span(wrong).subspan(16)));
}

INSTANTIATE_TEST_SUITE_P(Sets, PuncturedTrees, ::testing::ValuesIn(kernel_names()),
                         [](const auto& info) { return info.param; });

TEST(Trees, EverySessionHasItsOwn) {
  const BaseKeyPairs pairs{SecretBlocks(kBaseOts, Block{}), SecretBlocks(kBaseOts, Block{})};
  const SecretBlocks chosen(kBaseOts, Block{});
  const OtSession one(spec_of(4, 1));
  const OtSession other(spec_of(4, 2));
  const GrownTrees grown = grow_trees(one, pairs, fastest_kernels(), OtPair::random());
  const SecretBlocks right = punctured_trees(one, {}, chosen, grown.message, fastest_kernels());
  const SecretBlocks wrong = punctured_trees(other, {}, chosen, grown.message, fastest_kernels());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < right.size(); ++i) equal += i % 16 != 0 && right[i] == wrong[i] ? 1 : 0;
  // The sister of the path at the top is sent as it is, for a tree of another session too; what grows from it differs.
  EXPECT_LE(equal, one.trees());
}

}  // namespace
}  // namespace blindfl::ot::trees_test
