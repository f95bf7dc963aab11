#include "blindfl/run/attack_page.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/run/markup.h"
#include "blindfl/run/report_parts.h"

namespace blindfl::run {

namespace {

constexpr std::string_view kPlaceBegin = R"(<p id="attacks">)";
constexpr std::string_view kPlaceEnd = "</p>";

std::string title_of(const AttackPage& page) {
  return "What your own view gives away: party " + std::string(name_of(page.summary.party));
}

std::string verdict_of(const AttackFigure& figure) {
  return gives_away(figure) ? "gives away" : "no more than chance";
}

/// "0.500 ± 0.012"
std::string chance_text(const AttackFigure& figure) {
  return fixed_text(figure.chance, 3) + " \xC2\xB1 " + fixed_text(figure.standard_error, 3);
}

void write_figures(Markup& out, const std::vector<AttackFigure>& figures) {
  if (figures.empty()) return;
  out.element("h2", "What was tried");
  Table table(out, 3, {"attack", "what it tries", "verdict", "number", "by chance"});
  for (const AttackFigure& figure : figures) {
    table.row({figure.of.empty() ? figure.attack : figure.attack + " (" + figure.of + ")",
               figure.tries + " The number: " + figure.measure + ".", verdict_of(figure), decimal_text(figure.value, 3),
               chance_text(figure)},
              gives_away(figure) ? "sum" : "");
  }
  table.end();
  out.element("p",
              "By chance is what the same attack makes of random numbers, or what guessing gets, with the standard "
              "error of one such try. What is further from it than three standard errors, on the side where the attack "
              "works, gives something away. An attack that finds nothing proves nothing: there may be a better one.",
              {{"class", "note"}});
}

void write_advice(Markup& out, const std::vector<AttackFigure>& figures) {
  out.element("h2", "What to change");
  std::vector<std::string> advice;
  for (const AttackFigure& figure : figures) {
    const bool is_new = std::ranges::find(advice, figure.advice) == advice.end();
    if (gives_away(figure) && !figure.advice.empty() && is_new) advice.push_back(figure.advice);
  }
  if (advice.empty()) {
    out.element("p", "Nothing that these attacks know of.");
    return;
  }
  out.open("ul");
  for (const std::string& line : advice) out.element("li", line);
  out.close();
}

void write_untried(Markup& out, const std::vector<UntriedAttack>& untried) {
  if (untried.empty()) return;
  out.element("h2", "What could not be tried");
  Table table(out, 2, {"attack", "why"});
  for (const UntriedAttack& each : untried) table.row({each.attack, each.why});
  table.end();
}

void write_truth(Markup& out, const AttackPage& page) {
  const std::string text =
      page.with_truth
          ? "The truth was there to compare with: the peer's folder of the same run, as in a rehearsal on one machine. "
            "This page tells of the peer's data how well it is hidden; where the peer's data is real, the page is the "
            "peer's, too."
          : "There was nothing to compare with: a party does not have its peer's columns. What needs them is listed "
            "below as not tried; a rehearsal with both folders on one machine has them (--truth).";
  out.element("p", text, {{"class", "note"}});
}

}  // namespace

bool gives_away(const AttackFigure& figure) {
  const double above = figure.value - figure.chance;
  const double distance = figure.works == Works::kAbove   ? above
                          : figure.works == Works::kBelow ? -above
                                                          : std::abs(above);
  return distance > kErrorsOfChance * figure.standard_error;
}

std::string words_of(const AttackResults& results) {
  std::vector<std::string> names;
  for (const AttackFigure& figure : results.figures) {
    const bool is_new = std::ranges::find(names, figure.attack) == names.end();
    if (gives_away(figure) && is_new) names.push_back(figure.attack);
  }
  if (results.figures.empty()) return "No attack could be tried.";
  const std::string all = plainly_counted(results.figures.size(), "attack") + " tried: ";
  return all +
         (names.empty() ? "none gave away more than chance." : "these gave something away: " + listed(names) + ".");
}

std::string attacks_html(const AttackPage& page) {
  Markup out;
  out.verbatim("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  write_head(out, title_of(page) + " - BlindFL");
  out.open("body");
  out.element("p", "BlindFL audit", {{"class", "lead"}});
  out.element("h1", title_of(page));
  out.element("p", "Run " + page.summary.run + ", after step " + count_text(page.summary.steps) + ". " + page.seen);
  out.open("p").element("a", "The report of the run", {{"href", "report.html"}}).close();
  out.element("p", words_of(page.results));
  write_truth(out, page);
  write_figures(out, page.results.figures);
  if (!page.results.figures.empty()) write_advice(out, page.results.figures);
  write_untried(out, page.results.untried);
  out.element("footer", "Written by BlindFL " + page.summary.release + ". This page loads nothing and runs no script.");
  out.close().close();
  return out.take();
}

std::string place_of_attacks_link() {
  return std::string(kPlaceBegin) +
         html_escaped(
             "What this party's own view gives away, `blindfl audit --attacks FOLDER` measures, FOLDER being the one "
             "that this page is in.") +
         std::string(kPlaceEnd);
}

std::optional<std::string> with_attacks_link(std::string_view report, std::string_view words) {
  const std::size_t begin = report.find(kPlaceBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t inside = begin + kPlaceBegin.size();
  const std::size_t end = report.find(kPlaceEnd, inside);
  if (end == std::string_view::npos) return std::nullopt;
  Markup link;
  link.text("What this party's own view gives away: ").text(words).text(" ");
  link.element("a", "All attacks, and what to change", {{"href", "attacks.html"}});
  return std::string(report.substr(0, inside)).append(link.take()).append(report.substr(end));
}

}  // namespace blindfl::run
