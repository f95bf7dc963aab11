#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace blindfl::testing {

/// An element of a page: its name, its attributes, and the text directly in it. Names of those around it, outermost
/// first.
struct PageElement {
  std::string tag;
  std::map<std::string, std::string> attributes;
  std::string text;
  std::vector<std::string> around;
};

/// Takes a page apart, strictly: every element has its end in the right place, every attribute its quotes, and what
/// could be taken for markup is escaped. Failures say where. Independent of what wrote the page.
class Page {
 public:
  explicit Page(std::string_view text) : text_(text) {
    if (text_.starts_with("<!DOCTYPE html>")) at_ = text_.find('>') + 1;
    while (at_ < text_.size() && fine_) step();
    check(open_.empty(), "an element has no end");
  }

  [[nodiscard]] bool is_well_formed() const { return fine_; }
  [[nodiscard]] const std::vector<PageElement>& elements() const { return elements_; }
  [[nodiscard]] std::vector<PageElement> named(std::string_view tag) const {
    std::vector<PageElement> found;
    std::ranges::copy_if(elements_, std::back_inserter(found), [&](const PageElement& e) { return e.tag == tag; });
    return found;
  }

 private:
  void check(bool holds, const char* what) {
    if (holds || !fine_) return;
    fine_ = false;
    ADD_FAILURE() << what << " near: " << text_.substr(std::max<std::size_t>(at_, 40) - 40, 100);
  }

  void step() {
    if (text_[at_] != '<') {
      take_text();
    } else if (text_.substr(at_).starts_with("</")) {
      const std::size_t end = text_.find('>', at_);
      check(end != std::string_view::npos && !open_.empty() &&
                text_.substr(at_ + 2, end - at_ - 2) == elements_[open_.back()].tag,
            "an end without its beginning");
      if (!fine_) return;
      open_.pop_back();
      at_ = end + 1;
    } else {
      take_element();
    }
  }

  void take_text() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string_view words = text_.substr(at_, end - at_);
    const bool style = !open_.empty() && elements_[open_.back()].tag == "style";
    if (!style) check_words(words);
    check(!open_.empty() || words.find_first_not_of(" \n") == std::string_view::npos, "words outside of the page");
    if (!open_.empty()) elements_[open_.back()].text += words;
    at_ = end;
  }

  void check_words(std::string_view words) {
    check(words.find_first_of(">\"'") == std::string_view::npos, "a character that must be escaped");
    for (std::size_t i = words.find('&'); i != std::string_view::npos; i = words.find('&', i + 1)) {
      const std::string_view rest = words.substr(i);
      check(rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;") ||
                rest.starts_with("&quot;") || rest.starts_with("&#39;"),
            "an unknown entity");
    }
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      ++at_;
    check(at_ > begin, "a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  void take_element() {
    ++at_;
    PageElement element{.tag = std::string(take_name()), .attributes = {}, .text = {}, .around = {}};
    for (const std::size_t i : open_) element.around.push_back(elements_[i].tag);
    while (fine_ && text_.substr(at_).starts_with(" ")) {
      ++at_;
      const std::string name(take_name());
      check(text_.substr(at_).starts_with("=\""), "an attribute without a value in quotes");
      const std::size_t end = text_.find('"', at_ + 2);
      check(end != std::string_view::npos, "a value without its end");
      if (!fine_) return;
      const std::string_view value = text_.substr(at_ + 2, end - at_ - 2);
      check(value.find('<') == std::string_view::npos, "a value with markup");
      check_words(value);
      check(element.attributes.emplace(name, value).second, "an attribute twice");
      at_ = end + 1;
    }
    const bool leaf = text_.substr(at_).starts_with("/>");
    check(leaf || text_.substr(at_).starts_with(">"), "an element without its bracket");
    at_ += leaf ? 2 : 1;
    elements_.push_back(std::move(element));
    if (!leaf) open_.push_back(elements_.size() - 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool fine_ = true;
  std::vector<PageElement> elements_;
  std::vector<std::size_t> open_;
};

}  // namespace blindfl::testing
