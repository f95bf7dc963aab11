#include "blindfl/app/job/template.h"

#include "blindfl/app/job/lines.h"
#include "blindfl/app/job/reference.h"

namespace blindfl::app::job {

namespace {

constexpr std::size_t kCommentWidth = 100;

class Page {
 public:
  [[nodiscard]] std::string take() { return std::move(text_); }

  void line(std::size_t indent, std::string_view text) {
    if (!text.empty()) text_.append(indent, ' ').append(text);
    text_ += '\n';
  }
  void comment(std::size_t indent, std::string_view text, std::string_view hanging = "") {
    std::string begin = "# ";
    for (const std::string& each : broken_into_lines(text, kCommentWidth - indent - 2 - hanging.size())) {
      line(indent, begin + each);
      begin = std::string("# ").append(hanging);
    }
  }

 private:
  std::string text_;
};

/// Above a list: what its items may say.
void describe_items(Page& page, std::size_t indent, const Entries& entries, const std::string& prefix) {
  for (const Entry& entry : entries.all) {
    const std::string name = joined(prefix, entry.name);
    if (entry.form == Entry::Form::kSection) {
      describe_items(page, indent, entry.entries, name);
    } else {
      page.comment(indent, "- " + name + ": " + explanation(entry), "  ");
    }
  }
}

void render_list(Page& page, std::size_t indent, const Entry& entry) {
  for (const Entries& item : entry.items()) {
    std::string begin = "- ";
    for (const auto& [name, text] : set_texts(item, entry.entries)) {
      page.line(indent + 2, std::string(begin).append(name).append(": ").append(text));
      begin = "  ";
    }
  }
}

void render_option(Page& page, std::size_t indent, const Entry& entry, bool set, const std::string& remark) {
  page.line(0, {});
  page.comment(indent, explanation(entry));
  if (!remark.empty()) page.comment(indent, remark);
  if (entry.form == Entry::Form::kList) describe_items(page, indent, entry.entries, {});
  const std::string name = std::string(set ? "" : "#").append(entry.name).append(":");
  if (set && entry.form == Entry::Form::kList) {
    page.line(indent, name);
    render_list(page, indent, entry);
    return;
  }
  const std::string text = flow_text(entry);
  page.line(indent, text.empty() ? name : name + " " + text);
}

void render_section(Page& page, std::size_t indent, const Entries& section, const Entries& unset,
                    const Remarks& remarks, const std::string& key) {
  for (std::size_t i = 0; i < section.all.size(); ++i) {
    const Entry& entry = section.all[i];
    const std::string inner = joined(key, entry.name);
    if (entry.form != Entry::Form::kSection) {
      const auto remark = remarks.find(inner);
      render_option(page, indent, entry, is_set(entry, unset.all[i]),
                    remark == remarks.end() ? std::string() : remark->second);
      continue;
    }
    page.line(0, {});
    page.comment(indent, entry.meaning);
    page.line(indent, std::string(entry.name) + ":");
    render_section(page, indent + 2, entry.entries, unset.all[i].entries, remarks, inner);
  }
}

}  // namespace

std::string render_job(const Job& job, const Remarks& remarks) {
  Job copy = job;
  Job unset;
  Page page;
  page.comment(0,
               "A job file of BlindFL, for one of the two parties. What is written as a comment is as it says if left "
               "out: remove the # to change it. Relative paths begin at the folder of this file.");
  render_section(page, 0, entries_of(copy), entries_of(unset), remarks, {});
  return page.take();
}

}  // namespace blindfl::app::job
