#include "blindfl/run/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "blindfl/base/error.h"

namespace blindfl::run {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(JsonWriter, WritesObjectsAndArrays) {
  JsonWriter json;
  json.begin_object().key("a").integer(1).key("b").begin_array().number(0.5).text("x").null().boolean(true);
  json.begin_array().end_array().begin_object().end_object().end_array().key("c").boolean(false).end_object();
  EXPECT_EQ(json.take(), R"({"a":1,"b":[0.5,"x",null,true,[],{}],"c":false})");
}

TEST(JsonWriter, EscapesWhatAJsonTextMustNotHave) {
  JsonWriter json;
  json.text(std::string("\"\\/\b\f\n\r\t\x01\x1F\x7F\0.", 13));
  EXPECT_EQ(json.take(), R"("\"\\/\b\f\n\r\t\u0001\u001f\u007f\u0000.")");
  json.begin_object().key("\n\"").text("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80 \xFF \xC3").end_object();
  EXPECT_EQ(json.take(), "{\"\\n\\\"\":\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEF\xBF\xBD \xEF\xBF\xBD\"}");
}

TEST(JsonWriter, WritesNumbersThatReadAsTheSame) {
  for (const double x : {0.0, -0.0, 0.1, -1.0 / 3, 1e300, 5e-324, 123456789.125, 1e21, 2.5e-7}) {
    JsonWriter json;
    const std::string text = json.number(x).take();
    EXPECT_EQ(JsonValue::parse(text).as_number(), x) << text;
  }
  JsonWriter json;
  EXPECT_EQ(json.integer(std::numeric_limits<std::uint64_t>::max()).take(), "18446744073709551615");
}

TEST(JsonWriter, WritesNullForWhatIsNotFinite) {
  JsonWriter json;
  json.begin_array()
      .number(std::nan(""))
      .number(std::numeric_limits<double>::infinity())
      .number(-std::numeric_limits<double>::infinity())
      .end_array();
  EXPECT_EQ(json.take(), "[null,null,null]");
}

TEST(JsonWriter, MustCloseWhatItOpened) {
  JsonWriter open;
  open.begin_object();
  EXPECT_THROW((void)open.take(), InvalidArgument);
  EXPECT_THROW(JsonWriter().end_array(), InvalidArgument);
}

TEST(JsonValue, ReadsWhatIsThere) {
  const JsonValue json = JsonValue::parse(" {\"a\" : [1, -2.5e1,true ,false,null, \"x\"],\r\n\t\"b\":{\"c\":\"\"}} ");
  const JsonValue* const a = json.find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->elements().size(), 6U);
  EXPECT_EQ(a->elements()[0].as_integer(), 1U);
  EXPECT_EQ(a->elements()[1].as_number(), -25.0);
  EXPECT_EQ(a->elements()[2].as_boolean(), true);
  EXPECT_EQ(a->elements()[3].as_boolean(), false);
  EXPECT_EQ(a->elements()[4].kind(), JsonValue::Kind::kNull);
  EXPECT_EQ(a->elements()[5].as_text(), "x");
  ASSERT_NE(json.find("b"), nullptr);
  EXPECT_EQ(json.find("b")->members().front().first, "c");
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(a->find("a"), nullptr);
}

TEST(JsonValue, IsNothingOfAnotherKind) {
  const JsonValue text = JsonValue::parse("\"1\"");
  EXPECT_EQ(text.as_number(), std::nullopt);
  EXPECT_EQ(text.as_integer(), std::nullopt);
  EXPECT_EQ(text.as_boolean(), std::nullopt);
  EXPECT_EQ(JsonValue::parse("1").as_text(), std::nullopt);
  EXPECT_TRUE(JsonValue::parse("1").elements().empty());
}

TEST(JsonValue, ReadsIntegersExactly) {
  EXPECT_EQ(JsonValue::parse("18446744073709551615").as_integer(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(JsonValue::parse("9007199254740993").as_integer(), 9007199254740993U) << "beyond what a double holds";
  for (const char* text : {"18446744073709551616", "-1", "1.0", "1e2", "0.5"}) {
    EXPECT_EQ(JsonValue::parse(text).as_integer(), std::nullopt) << text;
  }
}

TEST(JsonValue, ReadsEscapes) {
  EXPECT_EQ(JsonValue::parse(R"("\"\\\/\b\f\n\r\t\u0041\u20ac\ud83d\ude00\u0000")").as_text(),
            std::string("\"\\/\b\f\n\r\tA\xE2\x82\xAC\xF0\x9F\x98\x80\0", 17));
}

TEST(JsonValue, RefusesWhatIsNotJson) {
  for (const std::string_view bad : {"",
                                     " ",
                                     "nul",
                                     "nulL",
                                     "tru",
                                     "truee",
                                     "+1",
                                     "01",
                                     "-",
                                     "1.",
                                     ".5",
                                     "1e",
                                     "1e+",
                                     "0x10",
                                     "NaN",
                                     "Infinity",
                                     "1 2",
                                     "[1,]",
                                     "[,]",
                                     "[1",
                                     "[1 2]",
                                     "{",
                                     "{\"a\"}",
                                     "{\"a\":}",
                                     "{\"a\":1,}",
                                     "{a:1}",
                                     "{1:1}",
                                     "{\"a\":1 \"b\":2}",
                                     "{\"a\":1,\"a\":2}",
                                     "{\"a\":1,\"\\u0061\":2}",
                                     "\"",
                                     "\"\\\"",
                                     "\"\\x\"",
                                     "\"\\u12\"",
                                     "\"\\u12G4\"",
                                     "\"\\u+123\"",
                                     "\"\\ud83d\"",
                                     "\"\\ud83d\\n\"",
                                     "\"\\ud83d\\ud83d\"",
                                     "\"\\ude00\"",
                                     "\"\n\"",
                                     "\"\x01\"",
                                     "\"\xFF\"",
                                     "\"\xC0\x80\"",
                                     "\"\xED\xA0\x80\"",
                                     "'a'",
                                     "//\n1",
                                     "\xEF\xBB\xBF 1",
                                     "1e999",
                                     "-1e999",
                                     "]",
                                     "}"}) {
    EXPECT_THAT([&] { (void)JsonValue::parse(bad); }, ThrowsMessage<DataError>(HasSubstr("not JSON at character ")))
        << ::testing::PrintToString(bad);
  }
  EXPECT_THROW((void)JsonValue::parse(std::string_view("1\0", 2)), DataError);
}

TEST(JsonValue, RefusesToNestWithoutEnd) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW((void)JsonValue::parse(nested(JsonValue::kMaxDepth)));
  EXPECT_THAT([&] { (void)JsonValue::parse(nested(JsonValue::kMaxDepth + 1)); },
              ThrowsMessage<DataError>(HasSubstr("nested deeper")));
  EXPECT_THROW((void)JsonValue::parse(std::string(1'000'000, '[')), DataError);
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  EXPECT_THROW((void)JsonValue::parse(objects), DataError);
}

}  // namespace
}  // namespace blindfl::run
