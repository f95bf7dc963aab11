#include "blindfl/run/strict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

namespace blindfl::run::strict_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::ordered_json;

TEST(StrictJson, WritesNumbersThatReadAsTheSame) {
  for (const double x :
       {0.0, -0.0, 0.1, -1.0 / 3, 1e300, 5e-324, 123456789.125, 1e21, 2.5e-7, -7.0, 9007199254740993.0}) {
    const std::string text = json_line(json_number<Json>(x));
    const auto read = parse_strictly<Json>(text).get<double>();
    EXPECT_EQ(read, x) << text;
    EXPECT_EQ(std::signbit(read), std::signbit(x)) << text;
  }
  EXPECT_EQ(json_line(json_number<Json>(1)), "1\n");
  EXPECT_EQ(json_line(json_number<Json>(100000)), "100000\n");
  EXPECT_EQ(json_line(json_number<Json>(std::nan(""))), "null\n");
  EXPECT_EQ(json_line(json_number<Json>(std::numeric_limits<double>::infinity())), "null\n");
}

TEST(StrictJson, WritesOneLineOfUtf8) {
  EXPECT_EQ(json_line(Json("\n\"\x01 \xC3\xA4 \xFF")), "\"\\n\\\"\\u0001 \xC3\xA4 \xEF\xBF\xBD\"\n");
}

TEST(StrictJson, FindsMembersOfObjectsOnly) {
  const Json json = parse_strictly<Json>(R"({"a":{"b":1},"c":[2]})");
  EXPECT_EQ(json_member(json_member(json, "a"), "b"), 1);
  EXPECT_TRUE(json_member(json, "b").is_null());
  EXPECT_TRUE(json_member(json_member(json, "c"), "a").is_null());
}

TEST(StrictJson, SaysWhereATextIsNotJsonAndNothingOfWhatIsThere) {
  for (const char* bad :
       {"",   " ",  "{",  "[1,]",    "[1] x",       "{\"a\":1,}", "{a:1}",        "nul",    "01",   "+1",  "1.",
        ".5", "1e", "\"", "\"\\x\"", "\"\\ud800\"", "\"\xFF\"",   "\"\xC0\x80\"", "\"\n\"", "// 1", "NaN", "'1'"}) {
    EXPECT_THAT([&] { (void)parse_strictly<Json>(bad); }, ThrowsMessage<DataError>(HasSubstr("not JSON at character")))
        << bad;
  }
  EXPECT_THAT([] { (void)parse_strictly<Json>(R"({"a":secret})"); },
              ThrowsMessage<DataError>("not JSON at character 6"));
  EXPECT_THAT([] { (void)parse_strictly<Json>("[1e999]"); }, ThrowsMessage<DataError>(HasSubstr("too large")));
}

TEST(StrictJson, RefusesANameTwiceInAnObject) {
  EXPECT_THAT([] { (void)parse_strictly<Json>(R"({"a":1,"b":2,"a":3})"); },
              ThrowsMessage<DataError>(HasSubstr("a name is in an object twice")));
  EXPECT_THAT([] { (void)parse_strictly<Json>(R"([{"x":{"a":1,"\u0061":2}}])"); },
              ThrowsMessage<DataError>(HasSubstr("twice")));
  EXPECT_NO_THROW((void)parse_strictly<Json>(R"({"a":{"a":[{"a":1},{"a":2}]}})"));
}

TEST(StrictJson, IsBounded) {
  const std::string deepest = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_NO_THROW((void)parse_strictly<Json>(deepest));
  for (const std::size_t levels : {kMaxJsonDepth + 1, std::size_t{100000}}) {
    EXPECT_THAT([&] { (void)parse_strictly<Json>(std::string(levels, '[')); },
                ThrowsMessage<DataError>(HasSubstr("deeper than 16 levels")));
  }
  std::string many = "{";
  for (std::size_t i = 0; i <= kMaxJsonMembers; ++i) many += "\"" + std::to_string(i) + "\":1,";
  EXPECT_THAT([&] { (void)parse_strictly<Json>(many); }, ThrowsMessage<DataError>(HasSubstr("more than 4096")));
}

}  // namespace
}  // namespace blindfl::run::strict_json_test
