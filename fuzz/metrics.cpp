// What a run wrote, read again for a report. Input: which (even: lines of metrics, odd: a summary), then the text.

#include <sstream>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/run/metrics_log.h"
#include "blindfl/run/report.h"
#include "blindfl/run/summary.h"
#include "input.h"

using namespace blindfl;

namespace {

void read_lines(const std::string& text) {
  std::istringstream in(text);
  const run::MetricsFile metrics = run::read_metrics(in, "input");
  run::RunReport report;
  report.summary.party = Party::kB;
  report.curves = run::curves_of(metrics);
  fuzz::check(run::report_html(report).ends_with("</html>\n"), "whatever was measured, there is a report");
}

void read_summary(const std::string& text) {
  const run::RunSummary summary = run::parse_summary(text, "input");
  const std::string again = run::summary_text(summary);
  fuzz::check(run::summary_text(run::parse_summary(again, "again")) == again, "written again, it is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const bool summary = input.take_byte() % 2 != 0;
  const ByteView rest = input.rest();
  const std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());
  try {
    summary ? read_summary(text) : read_lines(text);
  } catch (const DataError&) {
  }
  return 0;
}
