#include "blindfl/run/measure.h"

#include <algorithm>
#include <array>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::run {

namespace {

constexpr std::array<std::string_view, 8> kWorkMeasures = {
    "rows_per_second", "seconds_per_step", "seconds_computing", "seconds_waiting",
    "bytes_sent",      "bytes_received",   "memory_bytes",      "learning_rate",
};

}  // namespace

std::span<const std::string_view> work_measures() {
  return kWorkMeasures;
}

void check_may_keep(Party party, std::string_view name, std::string_view where) {
  require<InvalidArgument>(party == Party::kB || std::ranges::find(kWorkMeasures, name) != kWorkMeasures.end(), where,
                           ": '", printable(name), "' may tell of labels or scores, and nothing of A's may");
}

void check_may_keep(Party party, std::span<const Measure> measures, std::string_view where) {
  std::set<std::string_view> names;
  for (const Measure& measure : measures) {
    check_may_keep(party, measure.name, where);
    require<InvalidArgument>(names.insert(measure.name).second, where, ": '", printable(measure.name),
                             "' is there twice");
  }
}

}  // namespace blindfl::run
