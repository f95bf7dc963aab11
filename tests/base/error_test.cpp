#include "blindfl/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace blindfl::error_test {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

struct CountsHowOftenItIsWritten {
  int* times;
};

std::ostream& operator<<(std::ostream& out, const CountsHowOftenItIsWritten& part) {
  ++*part.times;
  return out << "part";
}

template <class E>
class ErrorKind : public ::testing::Test {};

using Kinds = ::testing::Types<InvalidArgument, ConfigError, DataError, TransportError, ProtocolError>;
TYPED_TEST_SUITE(ErrorKind, Kinds);

TYPED_TEST(ErrorKind, IsThrownWithTheMessageByRequireAndFail) {
  EXPECT_THAT([] { require<TypeParam>(false, "row ", 3, " of ", std::string("five"), ':', ' ', 0.5); },
              ThrowsMessage<TypeParam>(StrEq("row 3 of five: 0.5")));
  EXPECT_THAT([] { fail<TypeParam>("no ", 2); }, ThrowsMessage<TypeParam>(StrEq("no 2")));
}

TYPED_TEST(ErrorKind, IsCaughtAsAnErrorOfThisLibrary) {
  EXPECT_THROW(fail<TypeParam>("x"), Error);
  static_assert(std::is_base_of_v<std::runtime_error, TypeParam>);
}

TYPED_TEST(ErrorKind, IsNotCaughtAsAnotherKind) {
  constexpr int kCatchable =
      std::is_convertible_v<TypeParam*, InvalidArgument*> + std::is_convertible_v<TypeParam*, ConfigError*> +
      std::is_convertible_v<TypeParam*, DataError*> + std::is_convertible_v<TypeParam*, TransportError*> +
      std::is_convertible_v<TypeParam*, ProtocolError*>;
  EXPECT_EQ(kCatchable, 1);
}

TEST(Require, WritesNoMessageWhileTheConditionHolds) {
  int times = 0;
  EXPECT_NO_THROW(require<Error>(true, CountsHowOftenItIsWritten{&times}));
  EXPECT_EQ(times, 0);
  EXPECT_THAT([&] { require<Error>(false, "a ", CountsHowOftenItIsWritten{&times}); },
              ThrowsMessage<Error>(StrEq("a part")));
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace blindfl::error_test
