#include "blindfl/app/init/acceptance.h"

#include <algorithm>
#include <ostream>

#include "blindfl/base/error.h"

namespace blindfl::app::init {

job::Acceptance read_acceptance(const Arguments& arguments, Questions& questions, std::ostream& out) {
  if (!arguments.has("accept") && questions.are_answered()) {
    out << "With an open top, the only one there is today, B sees the outputs of the source layers, and could recover "
           "A's\nfeatures that are 0 or 1, one-hot ones too, exactly (SECURITY.md). Training does not start unless A "
           "accepts it.\n";
  }
  const auto find = [](std::string_view answer) {
    const auto names = job::names_of(job::Acceptance{});
    const auto known = std::ranges::find(names, answer, &job::Name<job::Acceptance>::name);
    require<UsageError>(known != names.end(), "--accept must be open_top or nothing, not '", answer, "'");
    return known->value;
  };
  return find(questions.said_or_asked(arguments, "accept", "What A accepts: open_top, or nothing", "nothing",
                                      [&](const std::string& answer) { (void)find(answer); }));
}

void tell_acceptance(job::Acceptance accepted, const std::filesystem::path& file, std::ostream& out) {
  if (accepted == job::Acceptance::kOpenTop) return;
  out << "\nNothing is accepted: with an open top B could recover A's features that are 0 or 1 exactly, and `train` "
         "at A will\nnot start. "
      << file.string() << " explains it at #accept; to accept it, write accept: open_top there.\n";
}

}  // namespace blindfl::app::init
