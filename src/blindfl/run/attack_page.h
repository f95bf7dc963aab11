#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/run/summary.h"

// `attacks.html`: what a party's own view of a finished run gives away, measured by attacks on it. A page beside the
// report, and like it: it needs nothing else, runs no script and loads nothing.

namespace blindfl::run {

/// Which numbers of an attack say that it works.
enum class Works { kAbove, kBelow, kBothWays };

/// An attack that was run, and what the same attack makes of random numbers in the place of what was seen.
struct AttackFigure {
  std::string attack;   ///< "columns of zeros and ones in one opening"
  std::string of = {};  ///< what was looked at: "source layer 'source', 300 rows"
  std::string tries;    ///< what it tries, a sentence
  std::string measure;  ///< what the number is: "share of A's columns"
  double value = 0;
  double chance = 0;          ///< the number's mean for somebody who sees nothing
  double standard_error = 0;  ///< and how far the number of one such try is from it
  Works works = Works::kAbove;
  std::string advice = {};  ///< what to change where it works
};

/// Further from chance than this many standard errors, on the side where the attack works, is no accident.
constexpr double kErrorsOfChance = 3;

/// Whether what the party saw gives more away than chance does.
[[nodiscard]] bool gives_away(const AttackFigure& figure);

struct UntriedAttack {
  std::string attack;
  std::string why;
};

/// What came of all attacks.
struct AttackResults {
  std::vector<AttackFigure> figures{};
  std::vector<UntriedAttack> untried{};
};

struct AttackPage {
  RunSummary summary{};     ///< whose view it is, of which run
  std::string seen = {};    ///< a sentence: what the view is
  bool with_truth = false;  ///< whether the peer's folder was there to compare with
  AttackResults results{};
};

/// In a sentence: how many attacks there were, and which gave something away.
[[nodiscard]] std::string words_of(const AttackResults& results);

/// The whole page, well-formed as HTML and as XML. All texts are escaped.
[[nodiscard]] std::string attacks_html(const AttackPage& page);

/// A report with a link to the page of attacks where `report_html` left a place for it, or where an earlier link is,
/// and `words` beside it. Nothing if there is no such place: the report is of an earlier release.
[[nodiscard]] std::optional<std::string> with_attacks_link(std::string_view report, std::string_view words);

/// What `report_html` leaves where the link goes: a paragraph that says how to get the page.
[[nodiscard]] std::string place_of_attacks_link();

}  // namespace blindfl::run
