#include "blindfl/prepare/saved.h"

#include <cstdint>

#include "blindfl/base/error.h"

namespace blindfl::prepare {

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 16;

}  // namespace

void write_text(ByteSink& out, std::string_view text) {
  require<DataError>(text.size() <= kMaxTextBytes, "a name of more than ", kMaxTextBytes, " bytes cannot be saved");
  out.write_text(text);
}

std::string read_text(ByteSource& in) {
  return in.read_text(kMaxTextBytes);
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

std::size_t read_count(ByteSource& in, std::size_t most) {
  const std::uint64_t count = in.read_u64();
  require<DataError>(count <= most, "the saved preparation has a number that cannot be");
  return count;
}

}  // namespace blindfl::prepare
