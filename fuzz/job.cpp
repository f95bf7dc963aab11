// A job file: not from a peer, but perhaps from somebody else, and typed by hand. Input: the file, and after zero bytes
// what stands behind `--set`.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/template.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "input.h"

namespace {

using namespace blindfl;
using app::job::Job;

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> all;
  while (true) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    all.emplace_back(text.substr(0, end));
    if (end == text.size()) return all;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words = pieces({reinterpret_cast<const char*>(data), size});
  const std::string file = words.front();
  words.erase(words.begin());
  Job job;
  try {
    job = app::job::parse_job(file, {.source = "job.yaml"}, words);
  } catch (const ConfigError& error) {
    const std::string_view message = error.what();
    fuzz::check(message.starts_with("job.yaml") || message.starts_with("--set"), "an error says where");
    fuzz::check(is_printable(message), "an error is fit for a screen");
    return 0;
  }
  const std::string text = app::job::render_job(job);
  fuzz::check(app::job::parse_job(text, {.source = "again"}) == job, "a job that is written down is the same job");
  const protocol::Settings settings = app::job::shared_settings(job.shared);
  fuzz::check(settings.text().size() <= 4096, "the words of shared settings fit into a message");
  fuzz::check(protocol::Settings::differences(settings, settings).empty(), "alike is alike");
  return 0;
}
