#include "blindfl/prepare/file_format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "blindfl/data/number.h"
#include "blindfl/data/text_file.h"

namespace blindfl::prepare {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string ending_of(std::filesystem::path path) {
  constexpr std::array<std::string_view, 3> kCompressed = {".gz", ".xz", ".zst"};
  if (std::ranges::find(kCompressed, path.extension().string()) != kCompressed.end()) path = path.stem();
  return path.extension().string();
}

/// Whether a line reads `label index:value ...`. Without a label only the file's name, or its owner, tells that it is
/// one: `12:30 13:45` are times of day.
bool is_libsvm(std::string_view line) {
  line = line.substr(0, line.find('#'));
  bool has_label = false;
  bool has_entry = false;
  while (line.find_first_not_of(kBlanks) != std::string_view::npos) {
    line.remove_prefix(line.find_first_not_of(kBlanks));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    const std::string_view index = word.substr(0, word.find(':'));
    if (!has_label) {
      if (data::parse_real(word).first != data::Parsed::kFine) return false;
      has_label = true;
    } else {
      if (index == word || data::parse_number<std::uint64_t>(index).first != data::Parsed::kFine) return false;
      has_entry = true;
    }
  }
  return has_entry;
}

}  // namespace

FileFormat format_of(const std::filesystem::path& path) {
  const std::string ending = ending_of(path);
  if (ending == ".csv" || ending == ".tsv") return FileFormat::kCsv;
  if (ending == ".libsvm" || ending == ".svm" || ending == ".svmlight") return FileFormat::kLibsvm;
  data::LineReader reader(path);
  while (reader.next()) {
    const std::string_view line = reader.line();
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    return is_libsvm(line) ? FileFormat::kLibsvm : FileFormat::kCsv;
  }
  return FileFormat::kCsv;
}

}  // namespace blindfl::prepare
