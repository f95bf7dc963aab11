// The steps towards a union at two parties, without a link.

#include "blindfl/protocol/align/psi_union.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace blindfl::protocol::psi_union_test {
namespace {

Points sorted(Points points) {
  std::ranges::sort(points);
  return points;
}

bool share_a_point(const Points& a, const Points& b) {
  Points common;
  std::ranges::set_intersection(sorted(a), sorted(b), std::back_inserter(common));
  return !common.empty();
}

class UnionOfTwo : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kOfA = 30;
  static constexpr std::uint64_t kOfB = 25;
  static constexpr std::uint64_t kCommon = 12;

  /// The first of B's are the last of A's.
  [[nodiscard]] Points hashed(std::uint64_t first, std::uint64_t count) {
    std::vector<std::string> ids(count);
    for (std::uint64_t i = 0; i < count; ++i) ids[i] = std::to_string(first + i);
    std::vector<std::uint32_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0U);
    return hash_to_points(ids, rows, pool_);
  }

  Random random_;
  ThreadPool pool_;
  BlindingKey key_a_{random_};
  BlindingKey key_b_{random_};
  Points blinded_a_ = key_a_.multiply(hashed(0, kOfA), pool_);
  Points blinded_b_ = key_b_.multiply(hashed(kOfA - kCommon, kOfB), pool_);
  UnionSteps a_{key_a_, blinded_b_, random_};
  UnionSteps b_{key_b_, blinded_a_, random_};
  // What each sends of the other's ids.
  Points labelled_b_ = a_.label_theirs(0, kOfB, pool_);
  Points labelled_a_ = b_.label_theirs(0, kOfA, pool_);
  Points shuffled_b_ = a_.shuffle_theirs(0, kOfB, pool_);
  Points shuffled_a_ = b_.shuffle_theirs(0, kOfA, pool_);
};

TEST_F(UnionOfTwo, GivesEveryIdOneName) {
  EXPECT_EQ(a_.compare(shuffled_a_, random_), kCommon);
  EXPECT_EQ(b_.compare(shuffled_b_, random_), kCommon);
  const Points asked_by_a = a_.veil_missing(0, kOfB - kCommon, pool_);
  const Points asked_by_b = b_.veil_missing(0, kOfA - kCommon, pool_);
  const Points own_a = a_.name(labelled_a_, pool_);
  const Points own_b = b_.name(labelled_b_, pool_);
  const Points lacked_by_a = a_.unveil(b_.name(asked_by_a, pool_), pool_);
  const Points lacked_by_b = b_.unveil(a_.name(asked_by_b, pool_), pool_);
  // In each party's own order, so that each knows its own: the first of B's are the last of A's.
  EXPECT_TRUE(std::equal(own_a.end() - kCommon, own_a.end(), own_b.begin()));
  EXPECT_EQ(sorted(lacked_by_a), sorted(Points(own_b.begin() + kCommon, own_b.end())));
  EXPECT_EQ(sorted(lacked_by_b), sorted(Points(own_a.begin(), own_a.end() - kCommon)));
  EXPECT_FALSE(share_a_point(own_a, lacked_by_a));
}

TEST_F(UnionOfTwo, ComparesInAnOrderThatTheOwnerDoesNotKnow) {
  const Points in_order = key_b_.multiply(blinded_a_, pool_);
  EXPECT_NE(shuffled_a_, in_order);
  EXPECT_EQ(sorted(shuffled_a_), sorted(in_order));
  // What tells the owner's order is under one more number: it cannot be compared.
  EXPECT_FALSE(share_a_point(labelled_a_, shuffled_a_));
  EXPECT_FALSE(share_a_point(labelled_a_, shuffled_b_));
}

TEST_F(UnionOfTwo, AsksForWhatIsMissingUnderAVeilAndInAnotherOrder) {
  (void)a_.compare(shuffled_a_, random_);
  const Points asked = a_.veil_missing(0, kOfB - kCommon, pool_);
  // B has its own ids labelled by A, in order: it must not find in them what A lacks.
  EXPECT_FALSE(share_a_point(asked, labelled_b_));
  EXPECT_FALSE(share_a_point(asked, shuffled_b_));
  // Without the veil, B would.
  const Points unveiled = a_.unveil(asked, pool_);
  Points lacked(labelled_b_.begin() + kCommon, labelled_b_.end());
  EXPECT_EQ(sorted(unveiled), sorted(lacked));
  EXPECT_NE(unveiled, lacked);
  Points in_shuffled_order;
  for (const Point& point : a_.name(shuffled_b_, pool_)) {
    if (std::ranges::find(lacked, point) != lacked.end()) in_shuffled_order.push_back(point);
  }
  EXPECT_NE(unveiled, in_shuffled_order);
}

}  // namespace
}  // namespace blindfl::protocol::psi_union_test
