#include "blindfl/data/delimited.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "scratch_file.h"
#include "testing/real_data.h"
#include "testing/thrown.h"

namespace blindfl::data::delimited_test {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFile;
using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

Rows rows_of(DelimitedReader& reader) {
  Rows rows;
  while (reader.next()) rows.emplace_back(reader.cells().begin(), reader.cells().end());
  return rows;
}

Rows rows_of(std::string_view text, DelimitedOptions options = {.header = false}) {
  const ScratchFile file(text);
  DelimitedReader reader(file.path(), std::move(options));
  return rows_of(reader);
}

TEST(Delimited, SplitsRowsIntoCells) {
  EXPECT_EQ(rows_of("a,b\nc,d\n"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(rows_of("a,b\r\nc,d"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(rows_of(",\n, \n"), (Rows{{"", ""}, {"", " "}}));
  EXPECT_EQ(rows_of("a\n\nb\n\n"), (Rows{{"a"}, {"b"}}));
  EXPECT_EQ(rows_of(""), Rows{});
  EXPECT_EQ(rows_of("a\tb,c\n", {.delimiter = '\t', .header = false}), (Rows{{"a", "b,c"}}));
  EXPECT_EQ(rows_of("a b\n", {.delimiter = ' ', .header = false, .trim = true}), (Rows{{"a", "b"}}));
}

TEST(Delimited, TakesNamesFromTheHeaderOrTheOptions) {
  const ScratchFile file("\xEF\xBB\xBF\"na,me\",age\n1,2\n");
  DelimitedReader with(file.path());
  EXPECT_EQ(with.names(), (Row{"na,me", "age"}));
  EXPECT_EQ(rows_of(with), (Rows{{"1", "2"}}));
  DelimitedReader given(file.path(), {.header = false, .names = {"x", "y"}});
  EXPECT_EQ(given.names(), (Row{"x", "y"}));
  EXPECT_EQ(rows_of(given), (Rows{{"na,me", "age"}, {"1", "2"}}));
  DelimitedReader without(file.path(), {.header = false});
  EXPECT_EQ(without.names(), (Row{"1", "2"}));
  EXPECT_EQ(rows_of(without).size(), 2U);
  const ScratchFile only_header("a,b\n");
  DelimitedReader empty(only_header.path());
  EXPECT_EQ(empty.names(), (Row{"a", "b"}));
  EXPECT_FALSE(empty.next());
  EXPECT_FALSE(empty.next());
}

TEST(Delimited, UnderstandsQuotes) {
  EXPECT_EQ(rows_of("\"a,b\",\"c \"\"d\"\"\"\n"), (Rows{{"a,b", "c \"d\""}}));
  EXPECT_EQ(rows_of("\"\",x,\"\"\"\"\n"), (Rows{{"", "x", "\""}}));
  EXPECT_EQ(rows_of("x,\"\"\n"), (Rows{{"x", ""}}));
  EXPECT_EQ(rows_of("\"x\",\n"), (Rows{{"x", ""}}));
  EXPECT_EQ(rows_of("\"\"\n\"b\"\n"), (Rows{{""}, {"b"}}));
  EXPECT_EQ(rows_of("5\" pipe,\"x\n", {.header = false, .quotes = false}), (Rows{{"5\" pipe", "\"x"}}));
}

TEST(Delimited, JoinsQuotedCellsThatSpanLines) {
  const ScratchFile file("a,b\n1,\"x\r\n\r\ny, \"\"z\"\"\n\"\n\"2\",w\n");
  DelimitedReader reader(file.path());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 2U);
  EXPECT_EQ(reader.cells()[0], "1");
  EXPECT_EQ(reader.cells()[1], "x\n\ny, \"z\"\n");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 6U);
  EXPECT_EQ(reader.cells()[0], "2");
  EXPECT_EQ(reader.cells()[1], "w");
}

TEST(Delimited, TrimsIfAsked) {
  EXPECT_EQ(rows_of(" a ,\tb\n"), (Rows{{" a ", "\tb"}}));
  const DelimitedOptions trim{.header = false, .trim = true};
  EXPECT_EQ(rows_of(" a ,\tb c\t\n  \n", trim), (Rows{{"a", "b c"}}));
  EXPECT_EQ(rows_of("a, \" b \" , c \n", trim), (Rows{{"a", " b ", "c"}}));
  EXPECT_EQ(rows_of(" , \" \",\n", trim), (Rows{{"", " ", ""}}));
  // A tab that separates cells is no blank.
  EXPECT_EQ(rows_of("\t b\n\t\n", {.delimiter = '\t', .header = false, .trim = true}), (Rows{{"", "b"}, {"", ""}}));
}

TEST(Delimited, SkipsComments) {
  const DelimitedOptions options{.header = false, .comment = "|"};
  EXPECT_EQ(rows_of("|a comment, with \"a quote\nx,y\n|,\n z,|\n", options), (Rows{{"x", "y"}, {" z", "|"}}));
  // Within quotes a line is part of a cell, whatever it begins with.
  EXPECT_EQ(rows_of("x,\"\n|y\"\n", options), (Rows{{"x", "\n|y"}}));
  EXPECT_EQ(rows_of("//x\n/y\n", {.header = false, .comment = "//"}), (Rows{{"/y"}}));
}

TEST(Delimited, SaysWhereAndWhatIsWrongAndNeverTheValue) {
  struct Case {
    std::string row;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"777", ": 1 cells instead of 3"},
      {"777,777", ": 2 cells instead of 3"},
      {"777,777,777,777", ": more than 3 cells"},
      {"777,777,777,", ": more than 3 cells"},
      {"\"777\",777", ": 2 cells instead of 3"},
      {"\"777\",777,777,777", ": more than 3 cells"},
      {"1,777\"777,3", ": column 2 ('age'): a quote within a cell"},
      {"1, \"777\",3", ": column 2 ('age'): a quote within a cell"},
      {"1,\"777\"777,3", ": column 2 ('age'): text after a closing quote"},
      {"1,\"777\" ,3", ": column 2 ('age'): text after a closing quote"},
      {"1,2,\"777", ": column 3 ('?[2J'): a quote is opened here and never closed"},
      {"1,2,\"777\"\"", ": column 3 ('?[2J'): a quote is opened here and never closed"},
      {std::string("1,777\0,3", 8), ": a NUL byte"},
      {"777," + std::string(600, '7'), " is longer than 500 bytes"},
  };
  for (const Case& c : cases) {
    const ScratchFile file("name,age,\x1B[2J\n1,2,3\n" + c.row + "\n" + (c.row.size() < 100 ? "1,2,3\n" : ""));
    DelimitedReader reader(file.path(), {.max_row_bytes = 500});
    const std::string message = message_of<DataError>([&] { (void)rows_of(reader); });
    const std::string where = file.path().string() + ": line 3";
    ASSERT_TRUE(message.starts_with(where)) << c.row << " gave: " << message;
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.row << " gave: " << message;
    EXPECT_EQ(message.find("777", where.size()), std::string::npos) << c.row << " gave: " << message;
  }
}

TEST(Delimited, BoundsWhatAnOpenQuoteSwallows) {
  std::string text = "1,2\n\"";
  for (int i = 0; i < 1000; ++i) text += "\n";
  const ScratchFile file(text);
  DelimitedReader reader(file.path(), {.header = false, .max_row_bytes = 100});
  ASSERT_TRUE(reader.next());
  const std::string message = message_of<DataError>([&] { (void)reader.next(); });
  EXPECT_NE(message.find("line 2: the row is longer than 100 bytes"), std::string::npos) << message;
}

TEST(Delimited, TakesTimeInProportionToHostileLines) {
  // Quoted cells before a long tail of blanks, and a cell of very many lines: quadratic code would not end here.
  std::string blanks;
  for (int i = 0; i < 100'000; ++i) blanks += "\"\",";
  blanks += std::string(4'000'000, ' ');
  EXPECT_EQ(rows_of(blanks, {.header = false, .trim = true}).front().size(), 100'001U);
  EXPECT_EQ(rows_of("\"" + std::string(1'000'000, '\n') + "\"").front().front().size(), 1'000'000U);
}

TEST(Delimited, BoundsTheNumberOfColumns) {
  const ScratchFile file(std::string(DelimitedReader::kMaxColumns, ','));
  const std::string message = message_of<DataError>([&] { DelimitedReader reader(file.path(), {.header = false}); });
  EXPECT_NE(message.find("line 1: more than 1048576 cells"), std::string::npos) << message;
}

TEST(Delimited, RefusesHeadersThatNameNothing) {
  for (const std::string_view text : {"", "\n\n"}) {
    const std::string message = message_of<DataError>([&] { (void)rows_of(text, {}); });
    EXPECT_NE(message.find("a header was expected"), std::string::npos) << message;
  }
  const std::string twice = message_of<DataError>([&] { (void)rows_of("777,x,777\n1,2,3\n", {}); });
  EXPECT_NE(twice.find("line 1: two columns have the same name"), std::string::npos) << twice;
  EXPECT_EQ(twice.find("777"), std::string::npos) << twice;
}

TEST(Delimited, RefusesOptionsThatMakeNoSense) {
  for (const char delimiter : {'\n', '\r', '\0', '"'}) {
    EXPECT_THROW((void)rows_of("a\n", {.delimiter = delimiter}), InvalidArgument);
  }
  EXPECT_THROW((void)rows_of("a\n", {.names = {"x"}}), InvalidArgument);
  EXPECT_THROW((void)rows_of("a,b\n", {.header = false, .names = {"x", "x"}}), InvalidArgument);
  EXPECT_EQ(rows_of("a\"b\n", {.delimiter = '"', .header = false, .quotes = false}), (Rows{{"a", "b"}}));
}

TEST(Delimited, ReadsTheRawAdultFiles) {
  BLINDFL_NEEDS_DATA("adult.test.xz");
  DelimitedReader reader(blindfl::testing::real_data("adult.test.xz"), {.header = false, .trim = true, .comment = "|"});
  EXPECT_EQ(reader.names().size(), 15U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 2U);
  EXPECT_EQ(reader.cells()[1], "Private");
  EXPECT_EQ(rows_of(reader).size(), 16'280U);
}

}  // namespace
}  // namespace blindfl::data::delimited_test
