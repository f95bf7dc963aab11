#pragma once

#include <span>
#include <string>
#include <vector>

#include "blindfl/lab/paper/exhibit.h"

namespace blindfl::lab::paper {

/// What stands above all tables and figures.
struct PageFacts {
  std::string machine{};
  std::string data{};     ///< where data sets come from, and which are not there
  std::string size{};     ///< whether this was a quick run
  std::string command{};  ///< that makes this page whole: "blindfl_lab paper --out FOLDER"
  std::string options{};  ///< with which it was called: " --quick --whole table:efficiency"
  std::string release{};  ///< of the program
};

/// All on one page that loads nothing and runs no script, well-formed as HTML and as XML.
[[nodiscard]] std::string page_html(const PageFacts& facts, std::span<const Measured> measured);

/// The same claims and tables as Markdown, for the project's documents.
[[nodiscard]] std::string page_markdown(const PageFacts& facts, std::span<const Measured> measured);

/// Drawings of an exhibit as SVG files, in their order on the page.
[[nodiscard]] std::vector<std::string> drawings_of(const Measured& measured);

}  // namespace blindfl::lab::paper
