#include "blindfl/lab/paper/page.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "blindfl/run/markup.h"
#include "blindfl/run/report_parts.h"
#include "blindfl/run/svg_file.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::string_view kPageTitle = "BlindFL: the paper's tables and figures, measured";

std::vector<std::pair<std::string, std::string>> rows_of(const PageFacts& facts) {
  return {{"machine", facts.machine},
          {"data", facts.data},
          {"size", facts.size},
          {"command", facts.command + facts.options}};
}

/// That measures this one alone, as it stands on the page.
std::string command_of(const Measured& measured, const PageFacts& facts) {
  return facts.command + (measured.exhibit->quick ? " --quick" : "") + " --only " + measured.exhibit->name;
}

void write_table(run::Markup& out, const ShownTable& shown) {
  const std::vector<std::string_view> headings(shown.headings.begin(), shown.headings.end());
  run::Table table(out, shown.words, headings);
  for (const auto& row : shown.rows) table.row(row);
  table.end();
}

void write_refusals(run::Markup& out, const Measured& measured) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < measured.results.size(); ++i) {
    if (measured.results[i].measured()) continue;
    lines.push_back(measured.exhibit->cells[i].name + ": " + measured.results[i].refused);
  }
  if (lines.empty()) return;
  out.element("h3", "Not measured").open("ul");
  for (const std::string& line : lines) out.element("li", line);
  out.close();
}

void write_exhibit(run::Markup& out, const Measured& measured, const PageFacts& facts) {
  const Shown shown = measured.exhibit->show(measured.results);
  out.element("h2", measured.exhibit->title, {{"id", measured.exhibit->name}});
  for (const ShownTable& table : shown.tables) write_table(out, table);
  if (!shown.lines.empty() || !shown.bars.empty()) {
    out.open("div", {{"class", "grid2"}});
    for (const run::LineChart& chart : shown.lines) run::figure(out, chart);
    for (const run::BarChart& chart : shown.bars) run::figure(out, chart);
    out.close();
  }
  out.element("p", shown.sentence);
  for (const std::string& note : shown.notes) out.element("p", note, {{"class", "note"}});
  write_refusals(out, measured);
  out.element("p", "Command: " + command_of(measured, facts), {{"class", "note"}});
}

/// A cell of a Markdown table: on one line, and without what would end the cell.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

void add_row(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) out += "| " + markdown_cell(cell) + " ";
  out += "|\n";
}

void add_table(std::string& out, const ShownTable& shown) {
  add_row(out, shown.headings);
  for (std::size_t i = 0; i < shown.headings.size(); ++i) out += "|---";
  out += "|\n";
  for (const auto& row : shown.rows) add_row(out, row);
  out += "\n";
}

void add_exhibit(std::string& out, const Measured& measured, const PageFacts& facts) {
  const Shown shown = measured.exhibit->show(measured.results);
  out += "## " + measured.exhibit->title + "\n\n";
  out += "`" + command_of(measured, facts) + "`\n\n" + shown.sentence + "\n\n";
  if (!shown.claims.empty()) {
    ShownTable claims{.words = 2, .headings = {"the paper", "measured here"}, .rows = {}};
    for (const Claim& claim : shown.claims) claims.rows.push_back({claim.paper, claim.ours});
    add_table(out, claims);
  }
  for (const ShownTable& table : shown.tables) add_table(out, table);
  for (const std::string& note : shown.notes) out += note + "\n\n";
  bool any = false;
  for (std::size_t i = 0; i < measured.results.size(); ++i) {
    if (measured.results[i].measured()) continue;
    if (!any) out += "Not measured:\n\n";
    any = true;
    out += "- " + measured.exhibit->cells[i].name + ": " + measured.results[i].refused + "\n";
  }
  if (any) out += "\n";
}

}  // namespace

std::string page_html(const PageFacts& facts, std::span<const Measured> measured) {
  run::Markup out;
  out.verbatim("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  run::write_head(out, kPageTitle);
  out.open("body");
  out.element("p", "BlindFL: very large vertical federated machine learning without peeking (SIGMOD 2022)",
              {{"class", "lead"}});
  out.element("h1", kPageTitle);
  run::Table table(out, 2, {});
  for (const auto& [name, value] : rows_of(facts)) table.row({name, value});
  table.end();
  for (const Measured& each : measured) write_exhibit(out, each, facts);
  out.element("footer", "Written by BlindFL " + facts.release + ". This page loads nothing and runs no script.");
  out.close().close();
  return out.take();
}

std::string page_markdown(const PageFacts& facts, std::span<const Measured> measured) {
  std::string out = "# The paper, measured\n\n";
  out += "What the paper claims, and what this program measures of it. Written by `" + facts.command + facts.options +
         "`, which also leaves the figures, and all numbers as CSV, in its folder; each section has the command for it "
         "alone. Mend the program and not this page.\n\n";
  for (const auto& [name, value] : rows_of(facts)) {
    if (name != "command") out.append("- ").append(name).append(": ").append(value).append("\n");
  }
  out += "\n";
  for (const Measured& each : measured) add_exhibit(out, each, facts);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::vector<std::string> drawings_of(const Measured& measured) {
  const Shown shown = measured.exhibit->show(measured.results);
  std::vector<std::string> files;
  for (const run::LineChart& chart : shown.lines) files.push_back(run::svg_file(chart));
  for (const run::BarChart& chart : shown.bars) files.push_back(run::svg_file(chart));
  std::erase_if(files, [](const std::string& file) { return file.empty(); });
  return files;
}

}  // namespace blindfl::lab::paper
