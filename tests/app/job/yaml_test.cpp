#include "blindfl/app/job/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/thrown.h"

namespace blindfl::app::job::yaml_test {
namespace {

using blindfl::testing::message_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::string& text) {
  return message_of<ConfigError>([&] { (void)parse_yaml(text, "x"); });
}

TEST(Yaml, HasMapsListsAndScalarsWithTheirPlaces) {
  const YamlNode root = parse_yaml("a:\n  - 1\n  - '2'\nb: {c: x y, d: }\n# a comment\ne: ~\n", "x");
  ASSERT_EQ(root.kind, YamlNode::Kind::kMap);
  ASSERT_EQ(root.keys.size(), 3U);
  EXPECT_EQ(root.keys[1].text, "b");
  EXPECT_EQ(root.keys[1].position.line, 4);
  EXPECT_EQ(root.keys[1].position.column, 1);

  const YamlNode& list = root.items[0];
  ASSERT_EQ(list.kind, YamlNode::Kind::kList);
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].text, "1");
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(list.items[1].position.line, 3);
  EXPECT_EQ(list.items[1].position.column, 5);

  const YamlNode& map = root.items[1];
  ASSERT_EQ(map.items.size(), 2U);
  EXPECT_EQ(map.items[0].text, "x y");
  EXPECT_EQ(map.items[1].kind, YamlNode::Kind::kNull);
  EXPECT_EQ(map.items[1].position.line, 4) << "what is not there is where its key is";
  EXPECT_EQ(root.items[2].kind, YamlNode::Kind::kNull);
}

TEST(Yaml, OfNothingIsNothing) {
  for (const std::string text : {"", "\n\n", "# only a comment\n", "---\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(parse_yaml(text, "x").kind, YamlNode::Kind::kNull) << text;
  }
}

TEST(Yaml, MayHaveWindowsLineEndsAndAByteOrderMark) {
  const YamlNode root = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: \"caf\xC3\xA9\"\r\n",
      "x");
  ASSERT_EQ(root.items.size(), 2U);
  EXPECT_EQ(root.items[0].text, "1");
  EXPECT_EQ(root.items[1].text, "caf\xC3\xA9");
  EXPECT_EQ(root.keys[1].position.line, 2);
}

TEST(Yaml, IsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"a: 1\nb: 2\na: 3\n", "x:3:1: 'a' is already in line 1; remove one of the two"},
      {"a: {b: 1, 'b': 2}\n", "x:1:11: 'b' is already in line 1; remove one of the two"},
      {"a: &x 1\n", "x:1:4: job files have no anchors (&) and aliases (*); write it out"},
      {"a: *x\n", "x:1:4: job files have no anchors (&) and aliases (*); write it out"},
      {"a: !!str 5\n", "x:1:4: job files have no tags (!); put text in quotes if it must be text"},
      {"a: !mine [1]\n", "x:1:4: job files have no tags (!); put text in quotes if it must be text"},
      {"a: 1\n---\nb: 2\n", "x:2:1: another document begins here, and a job file is one; is the indentation right?"},
      {"  a: 1\n b: 2\n", "x:2:2: another document begins here, and a job file is one; is the indentation right?"},
      {", x", "x:1:1: another document begins here, and a job file is one; is the indentation right?"},
      {"? [a]\n: 1\n", "x:1:3: a list or a map cannot be a key"},
      {"? {a: 1}\n: 1\n", "x:1:3: a list or a map cannot be a key"},
      {"~: 1\n", "x:1:1: a key is missing here"},
      {": : : : ", "x:1:1: a key is missing here"},
      {"[64", "x:1:1: there is a '[' without its ']', or a ',' is missing"},
      {"a:\n\tb: 1\n", "x:2:1: this line is indented with a tab; use spaces"},
      {"a:\n  \t b: 1\n", "x:2:3: this line is indented with a tab; use spaces"},
      {"a: 'x\nb: 1\n", "x:1:4: the quote that begins here has no end"},
      {"a: 'it''s\n", "x:1:4: the quote that begins here has no end"},
      {"a: \"x\\\"\n", "x:1:4: the quote that begins here has no end"},
      {"a: [1, 2\nb: 3\n", "x:2:2: there is a '[' without its ']', or a ',' is missing"},
      {"a: {b: 1\n", "x:2:1: there is a '{' without its '}', or a ',' is missing"},
      {"a: 1\n}\n", "x:2:1: there is a ']' or '}' without its beginning"},
      {"a: 1\n- b\n", "x:2:1: this does not fit the lines above; is it indented like them?"},
      {"a: \"\\q\"\n", "x:1:7: there is no such escape after '\\'. In single quotes a backslash is a backslash"},
      {"a: @x\n", "x:1:4: no value can begin with this character; put it in quotes"},
      {"a: `x\n", "x:1:4: no value can begin with this character; put it in quotes"},
      {std::string("a: 1\nb\0: 2\n", 11), "x:2:2: there is a zero byte. Is this a text file, saved as UTF-8?"},
      {"a: \x04\n", "x:1:4: there is a control character; remove it"},
      {"a: 1\rb: 2\n", "x:1:5: there is a control character; remove it"},
      {"a: caf\xE9\n", "x:1:7: this is not UTF-8; save the file as UTF-8"},
      {"a: \xC0\x80\n", "x:1:4: this is not UTF-8; save the file as UTF-8"},
      {"a: \xED\xA0\x80\n", "x:1:4: this is not UTF-8; save the file as UTF-8"},
      {"a: \xF5\x80\x80\x80\n", "x:1:4: this is not UTF-8; save the file as UTF-8"},
      {"a: \xE2\x82", "x:1:4: this is not UTF-8; save the file as UTF-8"},
      {"%TAG ! a\n%TAG ! b\n", "x:2:1: this is not YAML"},
  };
  for (const auto& [text, message] : table) EXPECT_EQ(refusal(text), message) << text;
}

TEST(Yaml, SaysWhatIsWrongWithColonsAndIndentation) {
  constexpr const char* kAdvice =
      ": a value cannot begin here. Write 'key: value' with a space after the colon, indent with spaces, and put text "
      "that has ': ' in quotes";
  EXPECT_EQ(refusal("a: b: c\n"), std::string("x:1:5") + kAdvice);
  EXPECT_EQ(refusal("a:1\nb: 2\n"), std::string("x:2:2") + kAdvice);
  EXPECT_EQ(refusal("a: 1\n  b: 2\n"), std::string("x:2:4") + kAdvice);
}

TEST(Yaml, IsBoundedWhateverItSays) {
  EXPECT_THAT(refusal(std::string(kMaxYamlBytes + 1, ' ')), StartsWith("x: is longer than 1 MiB"));
  // Too deep, in every way that YAML has.
  for (const std::string piece : {"[", "{", "- ", "? ", "{a: ", "[a,"}) {
    std::string text;
    while (text.size() < 5000) text += piece;
    EXPECT_THAT(refusal(text), HasSubstr("lists and maps are inside each other too often")) << piece;
  }
  std::string stairs;
  for (std::size_t i = 0; i < 100; ++i) stairs.append(i, ' ').append("a:\n");
  EXPECT_THAT(refusal(stairs), HasSubstr("lists and maps are inside each other too often"));
  std::string many = "[";
  for (std::size_t i = 0; i < kMaxYamlNodes; ++i) many += "1,";
  EXPECT_THAT(refusal(many + "1]"), HasSubstr("this is too much for a job file"));
}

TEST(Yaml, OfABillionLaughsIsRefusedAtTheFirst) {
  std::string text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    std::ostringstream line;
    line << "a" << i << ": &a" << i << " [*a" << i - 1 << ", *a" << i - 1 << ", *a" << i - 1 << "]\n";
    text += line.str();
  }
  EXPECT_EQ(refusal(text), "x:1:5: job files have no anchors (&) and aliases (*); write it out");
}

TEST(Yaml, IsReadInNoTimeWhateverItSays) {
  const std::clock_t begin = std::clock();  // of this process: others may be busy
  for (const std::string piece :
       {"a ", "- a\n", "a: ", "'", "\"", "#", "\n", "? a\n", "[", "x:y ", "\\", "|\n", "!t "}) {
    std::string text;
    while (text.size() < kMaxYamlBytes / 8) text += piece;
    try {
      (void)parse_yaml(text, "x");
    } catch (const ConfigError&) {  // most are; that nothing else is thrown is the point
    }
  }
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

TEST(YamlText, ReadsBackAsTheSameText) {
  const std::string all_ascii = [] {
    std::string text;
    for (char c = 1; c < 127; ++c) text += c;
    return text;
  }();
  for (const std::string& text : std::vector<std::string>{
           "",    "word", "a/b.csv", "two words", "-x",          "- x", "null",   "NULL", "~",  "true",
           "5",   "1e3",  ".5",      "a: b",      "a:b",         "#x",  "[x]",    "it's", "\"", "\\",
           "\\n", "\t",   " x ",     "\n",        "caf\xC3\xA9", ",",   "*x",     "&x",   "!x", "%x",
           "@x",  "?",    "|",       ">",         "---",         "...", all_ascii}) {
    for (const std::string& yaml : {"k: " + yaml_text(text) + "\n", "k: [" + yaml_text(text) + ", 1]\n"}) {
      const YamlNode root = parse_yaml(yaml, "x");
      const YamlNode& value =
          root.items.at(0).kind == YamlNode::Kind::kList ? root.items[0].items.at(0) : root.items[0];
      EXPECT_EQ(value.kind, YamlNode::Kind::kScalar) << yaml;
      EXPECT_EQ(value.text, text) << yaml;
      EXPECT_EQ(yaml.find('\n'), yaml.size() - 1) << "on one line";
    }
  }
}

TEST(Excerpt, IsShortAndPrintable) {
  EXPECT_EQ(excerpt("word"), "word");
  EXPECT_EQ(excerpt("\x1B[2J\n"), "?[2J?");
  EXPECT_EQ(excerpt(std::string(kMaxExcerpt, 'x')), std::string(kMaxExcerpt, 'x'));
  EXPECT_EQ(excerpt(std::string(kMaxExcerpt + 1, 'x')), "...");
}

}  // namespace
}  // namespace blindfl::app::job::yaml_test
