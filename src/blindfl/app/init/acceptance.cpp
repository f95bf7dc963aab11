#include "blindfl/app/init/acceptance.h"

#include <algorithm>
#include <ostream>

#include "blindfl/base/error.h"

namespace blindfl::app::init {

job::Acceptance read_acceptance(const Arguments& arguments, Questions& questions, const job::Model& model,
                                std::ostream& out) {
  const auto find = [](std::string_view answer) {
    const auto names = job::names_of(job::Acceptance{});
    const auto known = std::ranges::find(names, answer, &job::Name<job::Acceptance>::name);
    require<UsageError>(known != names.end(), "--accept must be open_top, fine_scores or nothing, not '", answer, "'");
    return known->value;
  };
  // Under a shared top nothing needs to be accepted; that scores are finer than usual, nobody accepts by pressing
  // Enter.
  if (model.shared_top()) return arguments.has("accept") ? find(arguments.text("accept")) : job::Acceptance::kNothing;
  if (!arguments.has("accept") && questions.are_answered()) {
    out << "With an open top B sees the outputs of the source layers, and could recover A's features that are 0 or 1, "
           "one-hot\nones too, exactly (SECURITY.md). Training does not start unless A accepts it.\n";
  }
  return find(questions.said_or_asked(arguments, "accept", "What A accepts: open_top, or nothing", "nothing",
                                      [&](const std::string& answer) { (void)find(answer); }));
}

void tell_acceptance(job::Acceptance accepted, const job::Model& model, const std::filesystem::path& file,
                     std::ostream& out) {
  if (model.shared_top() ? model.score_bits <= job::kCoarseScoreBits || accepted == job::Acceptance::kFineScores
                         : accepted == job::Acceptance::kOpenTop) {
    return;
  }
  if (model.shared_top()) {
    out << "\nNothing is accepted: scores of " << model.score_bits
        << " fractional bits tell B of A's features, and `train` at A will not start. " << file.string()
        << " explains it at #accept; to accept it, write accept: fine_scores there.\n";
    return;
  }
  out << "\nNothing is accepted: with an open top B could recover A's features that are 0 or 1 exactly, and `train` "
         "at A will\nnot start. "
      << file.string() << " explains it at #accept; to accept it, write accept: open_top there.\n";
}

}  // namespace blindfl::app::init
