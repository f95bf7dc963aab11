#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace blindfl::bench {

struct EmbedReportOptions {
  std::vector<std::size_t> vocabularies{100, 10000, 1000000};
  std::optional<std::string> way{};  ///< only this one
  int key_bits = 2048;
  bool json = false;
};

/// Wide & Deep at 10 numeric features and 10 fields per party: what a batch costs, by the size of the vocabularies and
/// by how the tables learn.
void report_wide_deep(const EmbedReportOptions& options);

}  // namespace blindfl::bench
