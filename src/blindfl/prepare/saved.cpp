#include "blindfl/prepare/saved.h"

#include <bit>
#include <cstdint>
#include <span>

#include "blindfl/base/error.h"

namespace blindfl::prepare {

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 16;

}  // namespace

void write_text(ByteSink& out, std::string_view text) {
  require<DataError>(text.size() <= kMaxTextBytes, "a name of more than ", kMaxTextBytes, " bytes cannot be saved");
  out.write_u32(static_cast<std::uint32_t>(text.size()));
  out.write(as_bytes(text));
}

std::string read_text(ByteSource& in) {
  const std::uint32_t length = in.read_u32();
  require<DataError>(length <= kMaxTextBytes && length <= in.remaining(), "the saved preparation has a text too long");
  std::string text(length, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  return text;
}

void write_texts(ByteSink& out, const std::vector<std::string>& texts) {
  out.write_u64(texts.size());
  for (const std::string& text : texts) write_text(out, text);
}

std::vector<std::string> read_texts(ByteSource& in, std::size_t most) {
  std::vector<std::string> texts;
  const std::size_t count = read_count(in, most);
  require<DataError>(count <= in.remaining() / sizeof(std::uint32_t), "the saved preparation is cut short");
  texts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) texts.push_back(read_text(in));
  return texts;
}

void write_real(ByteSink& out, double x) {
  out.write_u64(std::bit_cast<std::uint64_t>(x));
}

double read_real(ByteSource& in) {
  return std::bit_cast<double>(in.read_u64());
}

bool read_flag(ByteSource& in) {
  const std::uint8_t flag = in.read_u8();
  require<DataError>(flag <= 1, "the saved preparation has something else where it says yes or no");
  return flag == 1;
}

std::size_t read_count(ByteSource& in, std::size_t most) {
  const std::uint64_t count = in.read_u64();
  require<DataError>(count <= most, "the saved preparation has a number that cannot be");
  return count;
}

}  // namespace blindfl::prepare
