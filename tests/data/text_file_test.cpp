#include "blindfl/data/text_file.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "scratch_file.h"
#include "testing/compressed.h"
#include "testing/thrown.h"

namespace blindfl::data::text_file_test {
namespace {

using blindfl::testing::gzip;
using blindfl::testing::message_of;
using blindfl::testing::ScratchFile;
using blindfl::testing::xz;
using blindfl::testing::zstd;

std::string many_lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "line " + std::to_string(i * i) + "\n";
  return text;
}

std::vector<std::string> lines_of(const ScratchFile& file) {
  LineReader reader(file.path());
  std::vector<std::string> lines;
  while (reader.next()) {
    lines.emplace_back(reader.line());
    EXPECT_EQ(reader.number(), lines.size());
  }
  return lines;
}

std::vector<std::string> lines_of(std::string_view content) {
  return lines_of(ScratchFile(content));
}

using Lines = std::vector<std::string>;

TEST(LineReader, SplitsPlainTextAtLineEnds) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\nb\n"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("a\r\n\r\nb\r"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("\n\na b"), (Lines{"", "", "a b"}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBFx\n\xEF\xBB\xBFy"), (Lines{"x", "\xEF\xBB\xBFy"}));
  EXPECT_EQ(lines_of(std::string_view("a\0b\nc", 5)), (Lines{std::string("a\0b", 3), "c"}));
}

TEST(LineReader, JoinsLinesThatSpanBuffers) {
  const std::string longer(300'000, 'x');
  EXPECT_EQ(lines_of("a\n" + longer + "\r\nb\n" + longer), (Lines{"a", longer, "b", longer}));
}

TEST(LineReader, ReadsConcatenatedAndPaddedXzStreams) {
  const std::string padding(8, '\0');
  EXPECT_EQ(lines_of(xz("a\nb") + xz("c\n") + padding + xz("d") + padding), (Lines{"a", "bc", "d"}));
}

TEST(LineReader, StopsAtALineThatIsTooLong) {
  const ScratchFile plain("12345\n123456\n");
  LineReader reader(plain.path(), 5);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), "12345");
  const std::string message = message_of<DataError>([&] { (void)reader.next(); });
  EXPECT_NE(message.find("line 2 is longer than 5 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find(plain.path().string()), std::string::npos) << message;
}

/// What every format must do.
struct Format {
  std::string name;
  std::string (*compress)(std::string_view);
  /// Bytes of the magic that a plain text may begin with.
  std::size_t plain = 0;
};

// gtest prints its parameters with this.
void PrintTo(const Format& format, std::ostream* out) {
  *out << format.name;
}

class CompressedLines : public ::testing::TestWithParam<Format> {
 protected:
  static std::string compressed(std::string_view text) { return GetParam().compress(text); }
};

TEST_P(CompressedLines, AreThoseOfThePlainText) {
  const std::string text = many_lines(50'000);
  EXPECT_EQ(lines_of(compressed(text)), lines_of(text));
  EXPECT_EQ(lines_of(compressed("")), Lines{});
  EXPECT_EQ(lines_of(compressed("a")), Lines{"a"});
}

TEST_P(CompressedLines, FillBuffersOfEverySize) {
  // Around the 64 KiB that are read and made at a time.
  for (std::size_t size = (std::size_t{64} << 10) - 2; size <= (std::size_t{64} << 10) + 2; ++size) {
    EXPECT_EQ(lines_of(compressed(std::string(size, 'x'))), Lines{std::string(size, 'x')});
  }
}

TEST_P(CompressedLines, GoOnInTheNextOfJoinedFiles) {
  const std::string text = many_lines(20'000);
  EXPECT_EQ(lines_of(compressed("a\nb") + compressed("") + compressed("c\n") + compressed(text)),
            lines_of("a\nbc\n" + text));
}

TEST_P(CompressedLines, AreNotUnpackedWholeIfHostile) {
  // A few kilobytes on disk, 4 MiB in one line.
  const ScratchFile bomb(compressed(std::string(std::size_t{4} << 20, 'x')));
  LineReader reader(bomb.path(), std::size_t{1} << 20);
  EXPECT_THROW((void)reader.next(), DataError);
}

TEST_P(CompressedLines, SayWhatIsWrongWithAFile) {
  const std::string whole = compressed(many_lines(20'000));
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 0x10;
  std::string checksum = whole;
  checksum[checksum.size() - (GetParam().name == "xz" ? 40 : 5)] ^= 0x10;
  struct Case {
    std::string what;
    std::string content;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"cut in half", whole.substr(0, whole.size() / 2), "data ends too early"},
      {"cut by one byte", whole.substr(0, whole.size() - 1), "data ends too early"},
      {"the beginning of the magic", whole.substr(0, GetParam().plain + 1), "data ends too early"},
      {"a flipped bit", damaged, "data is damaged"},
      {"a flipped bit near the end", checksum, "data is damaged"},
      {"bytes after the end", whole + "1 2:3 and more\n", "data is damaged"},
      {"a second one cut short", whole + whole.substr(0, 100), "data ends too early"},
  };
  for (const Case& c : cases) {
    const ScratchFile file(c.content);
    const std::string message = message_of<DataError>([&] { (void)lines_of(file); });
    EXPECT_NE(message.find("the " + GetParam().name + " " + c.expected), std::string::npos)
        << c.what << ": " << message;
    EXPECT_NE(message.find(file.path().string()), std::string::npos) << c.what << ": " << message;
  }
}

TEST_P(CompressedLines, AreRefusedAtEveryCut) {
  const std::string whole = compressed("1 2:3\n-1 4:5\n");
  for (std::size_t size = GetParam().plain + 1; size < whole.size(); ++size) {
    EXPECT_THROW((void)lines_of(whole.substr(0, size)), DataError) << "cut at " << size;
  }
  EXPECT_EQ(lines_of(whole.substr(0, GetParam().plain)).size(), GetParam().plain);
}

INSTANTIATE_TEST_SUITE_P(Formats, CompressedLines,
                         ::testing::Values(Format{"xz", [](std::string_view text) { return xz(text, 0); }},
                                           Format{"gzip", [](std::string_view text) { return gzip(text); }},
                                           Format{"zstd", [](std::string_view text) { return zstd(text); }, 1}),
                         [](const auto& test) { return test.param.name; });

TEST(LineReader, NamesOtherKindsOfCompression) {
  const std::string bzip2 = message_of<DataError>([] { (void)lines_of("BZh91AY&SY and so on"); });
  EXPECT_NE(bzip2.find("compressed with bzip2"), std::string::npos) << bzip2;
  const std::string zip = message_of<DataError>([] { (void)lines_of("PK\x03\x04 and so on"); });
  EXPECT_NE(zip.find("compressed with zip"), std::string::npos) << zip;
}

TEST(LineReader, TakesTextForWhatItIs) {
  // The first bytes of something, and then not.
  EXPECT_EQ(lines_of("(\n"), Lines{"("});
  EXPECT_EQ(lines_of("BZh is no magic"), Lines{"BZh is no magic"});
  EXPECT_EQ(lines_of("\x1F."), Lines{"\x1F."});
}

TEST(LineReader, HasMemoryForTheStrongestXz) {
  EXPECT_EQ(lines_of(xz("1 2:3\n", 9)), Lines{"1 2:3"});
}

TEST(LineReader, RefusesXzPaddingThatCannotBe) {
  EXPECT_THROW((void)lines_of(xz("1 2:3\n") + std::string(3, '\0')), DataError);
}

TEST(LineReader, RefusesZstdThatNeedsTooMuchMemory) {
  EXPECT_EQ(lines_of(zstd("1 2:3\n", 27)), Lines{"1 2:3"});
  // The encoder would take the whole window, so only the header claims it: its second byte after the magic.
  std::string file = zstd("1 2:3\n", 27);
  file[5] = static_cast<char>((28 - 10) << 3);
  const std::string message = message_of<DataError>([&] { (void)lines_of(file); });
  EXPECT_NE(message.find("more than 128 MiB"), std::string::npos) << message;
}

TEST(LineReader, RefusesXzThatNeedsTooMuchMemory) {
  lzma_options_lzma options;
  ASSERT_FALSE(lzma_lzma_preset(&options, 0));
  options.dict_size = std::uint32_t{1} << 30;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  // The encoder would fill the whole dictionary, so only the header claims it.
  std::string file = xz("1 2:3\n");
  lzma_block block{};
  block.check = LZMA_CHECK_CRC64;
  block.filters = filters;
  block.compressed_size = LZMA_VLI_UNKNOWN;
  block.uncompressed_size = LZMA_VLI_UNKNOWN;
  ASSERT_EQ(lzma_block_header_size(&block), LZMA_OK);
  std::string header(block.header_size, '\0');
  ASSERT_EQ(lzma_block_header_encode(&block, reinterpret_cast<std::uint8_t*>(header.data())), LZMA_OK);
  file.replace(LZMA_STREAM_HEADER_SIZE, header.size(), header);
  const std::string message = message_of<DataError>([&] { (void)lines_of(file); });
  EXPECT_NE(message.find("more than 256 MiB"), std::string::npos) << message;
}

TEST(LineReader, NamesAFileThatCannotBeOpened) {
  const std::string missing =
      message_of<DataError>([] { LineReader reader(std::filesystem::path(::testing::TempDir()) / "no_such.libsvm"); });
  EXPECT_NE(missing.find("no_such.libsvm: there is no such file"), std::string::npos) << missing;
  const std::string directory = message_of<DataError>([] { LineReader reader(::testing::TempDir()); });
  EXPECT_NE(directory.find("is a directory"), std::string::npos) << directory;
}

}  // namespace
}  // namespace blindfl::data::text_file_test
