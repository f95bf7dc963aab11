#include "blindfl/prepare/file_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "blindfl/data/libsvm.h"
#include "blindfl/data/text_file.h"

namespace blindfl::prepare {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string ending_of(std::filesystem::path path) {
  constexpr std::array<std::string_view, 3> kCompressed = {".gz", ".xz", ".zst"};
  if (std::ranges::find(kCompressed, path.extension().string()) != kCompressed.end()) path = path.stem();
  return path.extension().string();
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
    // Without a label only the file's name, or its owner, tells that it is one: `12:30 13:45` are times of day.
    const auto parsed = data::parse_libsvm_line(line);
    return parsed && !parsed->entries.empty() ? FileFormat::kLibsvm : FileFormat::kCsv;
  }
  return FileFormat::kCsv;
}

}  // namespace blindfl::prepare
