#include "blindfl/data/text_file.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "scratch_file.h"
#include "testing/thrown.h"

namespace blindfl::data {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFile;

std::string xz(std::string_view text, std::uint32_t preset = 6) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  const lzma_ret result =
      lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                              text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  EXPECT_EQ(result, LZMA_OK);
  out.resize(size);
  return out;
}

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

TEST(LineReader, ReadsXzLikePlainText) {
  const std::string text = many_lines(50'000);
  EXPECT_EQ(lines_of(xz(text)), lines_of(text));
  EXPECT_EQ(lines_of(xz(text, 9)), lines_of(text));
  EXPECT_EQ(lines_of(xz("")), Lines{});
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

TEST(LineReader, DoesNotUnpackAHostileLineWhole) {
  // A few kilobytes on disk, 65 MiB in one line.
  const ScratchFile bomb(xz(std::string(std::size_t{65} << 20, 'x')));
  LineReader reader(bomb.path());
  EXPECT_THROW((void)reader.next(), DataError);
}

TEST(LineReader, SaysWhatIsWrongWithAFile) {
  const std::string whole = xz(many_lines(20'000));
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 0x10;
  struct Case {
    std::string what;
    std::string content;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"cut in half", whole.substr(0, whole.size() / 2), "ends too early"},
      {"cut by one byte", whole.substr(0, whole.size() - 1), "ends too early"},
      {"cut within the magic", whole.substr(0, 4), "ends too early"},
      {"the magic alone", whole.substr(0, 6), "ends too early"},
      {"a flipped bit", damaged, "damaged"},
      {"bytes after the end", whole + "1 2:3 and more\n", "damaged"},
      {"a second stream cut short", whole + whole.substr(0, 100), "ends too early"},
      {"padding that is not a multiple of four", whole + std::string(3, '\0'), "damaged"},
      {"gzip", "\x1F\x8B\x08 and so on", "compressed with gzip"},
      {"bzip2", "BZh91AY&SY and so on", "compressed with bzip2"},
      {"zip", "PK\x03\x04 and so on", "compressed with zip"},
      {"zstd", "\x28\xB5\x2F\xFD and so on", "compressed with zstd"},
  };
  for (const Case& c : cases) {
    const ScratchFile file(c.content);
    const std::string message = message_of<DataError>([&] { (void)lines_of(file); });
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.what << ": " << message;
    EXPECT_NE(message.find(file.path().string()), std::string::npos) << c.what << ": " << message;
  }
}

TEST(LineReader, RefusesEveryCutOfAnXzFile) {
  const std::string whole = xz("1 2:3\n-1 4:5\n");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_THROW((void)lines_of(whole.substr(0, size)), DataError) << "cut at " << size;
  }
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
}  // namespace blindfl::data
