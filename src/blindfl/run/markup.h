#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blindfl::run {

/// A text with all that HTML takes for markup replaced, quotes too. What is not UTF-8, and control characters but for
/// line ends and tabs, become U+FFFD.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// HTML with SVG inside, written from top to bottom. Texts and values are escaped, and every element gets its end, so
/// that what comes out is well-formed whatever goes in. Tags and names of attributes are the program's own.
class Markup {
 public:
  /// Names and values; those without a value are left out.
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  Markup& open(std::string_view tag, Attributes attributes = {});
  /// Ends the element that was opened last. Throws InvalidArgument if none is open.
  Markup& close();
  Markup& text(std::string_view text);
  /// An element with nothing but a text in it.
  Markup& element(std::string_view tag, std::string_view text, Attributes attributes = {});
  /// An element that has no content and no end: <meta/>, <rect/>.
  Markup& leaf(std::string_view tag, Attributes attributes);
  /// The program's own markup, as it is.
  Markup& verbatim(std::string_view markup);

  /// What was written. Throws InvalidArgument if an element is still open.
  [[nodiscard]] std::string take();

 private:
  void begin(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace blindfl::run
