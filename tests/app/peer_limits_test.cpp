#include "blindfl/app/plan/peer_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::app::peer_limits_test {
namespace {

using blindfl::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PeerIds, AreBoundedInNumber) {
  const job::Limits limits{.peer_ids = 5000, .peer_ratio = 1e9};
  EXPECT_NO_THROW(check_peer_ids(limits, 10, 5000));
  EXPECT_THAT(message_of<ConfigError>([&] { check_peer_ids(limits, 10, 5001); }),
              AllOf(HasSubstr("announces 5001 ids"), HasSubstr("private.limits.peer_ids is 5000")));
  EXPECT_THROW(check_peer_ids(limits, 10, ~std::uint64_t{0}), ConfigError);
}

TEST(PeerIds, AreBoundedByThisPartysOwn) {
  const job::Limits limits{.peer_ratio = 2.5};
  EXPECT_NO_THROW(check_peer_ids(limits, 4000, 10000));
  EXPECT_THAT(message_of<ConfigError>([&] { check_peer_ids(limits, 4000, 10001); }),
              AllOf(HasSubstr("announces 10001 ids and this party has 4000"), HasSubstr("private.limits.peer_ratio")));
  EXPECT_NO_THROW(check_peer_ids(limits, 0, 2500)) << "a short list counts as 1000";
  EXPECT_THROW(check_peer_ids(limits, 0, 2501), ConfigError);
}

TEST(PeerIds, OfOrdinaryPartiesPassTheDefaults) {
  EXPECT_NO_THROW(check_peer_ids({}, 24, 100'000));
  EXPECT_NO_THROW(check_peer_ids({}, 100'000, 10'000'000));
  EXPECT_THROW(check_peer_ids({}, 1'000'000, std::uint64_t{1} << 26), ConfigError) << "an hour of computing";
}

TEST(PeerShape, IsBoundedInFeaturesAndCategories) {
  const job::Limits limits{.peer_features = 100, .peer_categories = 1000};
  PartyShape shape{.numeric = 100, .fields = {{.name = "f1", .categories = 400}, {.name = "f2", .categories = 600}}};
  EXPECT_NO_THROW(check_peer_shape(limits, shape));
  shape.fields[1].categories = 601;
  EXPECT_THAT(message_of<ConfigError>([&] { check_peer_shape(limits, shape); }),
              AllOf(HasSubstr("announces 1001 categories"), HasSubstr("private.limits.peer_categories is 1000")));
  shape.numeric = 101;
  EXPECT_THAT(message_of<ConfigError>([&] { check_peer_shape(limits, shape); }),
              HasSubstr("announces 101 numeric features, and private.limits.peer_features is 100"));
}

TEST(PeerShape, OfTheLargestNumbersIsRefusedWithoutOverflow) {
  PartyShape shape;
  shape.fields.assign(kMostFields, {.name = "f", .categories = 0xFFFFFFFF});
  EXPECT_THROW(check_peer_shape({}, shape), ConfigError);
  EXPECT_NO_THROW(check_peer_shape({}, {.numeric = 3'231'961})) << "url, a public data set";
}

}  // namespace
}  // namespace blindfl::app::peer_limits_test
