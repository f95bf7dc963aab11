#include "blindfl/app/commands/hand_over.h"

#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "blindfl/app/job/job_options.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "blindfl-torch";

}  // namespace

fs::path torch_program(const fs::path& program) {
  const fs::path folder = program.parent_path();
  fs::path beside = folder / kName;
  fs::path installed = (folder / BLINDFL_LIBEXEC / kName).lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(beside, ignored)) return beside;
  require<Error>(fs::is_regular_file(installed, ignored), "this command is the work of another program, ", kName,
                 ", which is neither ", beside.string(), " nor ", installed.string(),
                 "; install the package again, or copy both programs");
  return installed;
}

void hand_over(const Arguments& arguments, std::ostream& out) {
  std::error_code problem;
  const fs::path self = fs::read_symlink("/proc/self/exe", problem);
  require<Error>(!problem, "/proc/self/exe: cannot be read (", problem.message(), "), so that ", kName,
                 " is not found; mount /proc");
  const fs::path program = torch_program(self);

  std::vector<std::string> words = {"blindfl", arguments.command()};
  words.insert(words.end(), arguments.words().begin(), arguments.words().end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  out.flush();
  ::execv(program.c_str(), pointers.data());
  fail<Error>(program.string(), ": cannot be run (", std::generic_category().message(errno), ")");
}

void hand_over_job(const Arguments& arguments, std::ostream& out) {
  // A pipe can be read only once.
  std::error_code ignored;
  if (fs::is_regular_file(arguments.text("job"), ignored)) (void)read_job_options(arguments);
  hand_over(arguments, out);
}

}  // namespace blindfl::app
