#include "blindfl/protocol/plan/embed_plan_words.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "blindfl/base/number_text.h"
#include "blindfl/protocol/plan/plan_words.h"

namespace blindfl::protocol {

namespace {

/// "1", "1 and 2", "1, 2 and 3".
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) append(text, i + 1 < items.size() ? ", " : " and ", items[i]);
  return text;
}

/// "field 3", "fields 0, 2 and 3", "fields 0 to 12 and 20". Ascending.
std::string fields_in_words(const std::vector<std::size_t>& fields) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < fields.size();) {
    std::size_t end = i + 1;
    while (end < fields.size() && fields[end] == fields[end - 1] + 1) ++end;
    // Two in a row are not worth a range.
    if (end - i < 3) end = i + 1;
    std::string item = std::to_string(fields[i]);
    if (end - i > 1) item.append(" to ").append(std::to_string(fields[end - 1]));
    items.push_back(std::move(item));
    i = end;
  }
  return (fields.size() == 1 ? "field " : "fields ") + listed(items);
}

/// "100 categories", "4 to 1,000 categories, up to 3 a row".
std::string described(const std::vector<EmbedField>& all, const std::vector<std::size_t>& chosen) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t largest = 0;
  std::size_t most = 1;
  for (const std::size_t i : chosen) {
    least = std::min(least, all[i].field.categories);
    largest = std::max(largest, all[i].field.categories);
    most = std::max(most, all[i].field.most);
  }
  std::string text = least < largest ? count_text(least) + " to " : "";
  text += counted(largest, "category", "categories");
  return most == 1 ? text : text + ", up to " + count_text(most) + " a row";
}

/// Fields with the same choice, and the same reasons against others.
struct Group {
  std::vector<const EmbedPart*> parts;
  std::vector<std::size_t> fields;
};

bool are_alike(const EmbedPart& x, const EmbedPart& y) {
  const auto same_option = [](const EmbedOption& a, const EmbedOption& b) {
    return a.scheme == b.scheme && a.update == b.update && a.refused == b.refused;
  };
  return x.asked == y.asked && x.chosen == y.chosen && std::ranges::equal(x.options, y.options, same_option);
}

std::vector<Group> grouped(const std::vector<EmbedPart>& parts, Party party) {
  std::vector<Group> groups;
  for (const EmbedPart& part : parts) {
    if (!part.field || part.field->party != party) continue;
    auto same = std::ranges::find_if(groups, [&](const Group& group) { return are_alike(*group.parts.front(), part); });
    if (same == groups.end()) same = groups.insert(same, Group{});
    same->parts.push_back(&part);
    same->fields.push_back(part.field->index);
  }
  return groups;
}

/// One row for each option of parts that are alike, with the cost of all of them.
void add_rows(std::vector<PlanRow>& rows, const PlanRow& common, const std::vector<const EmbedPart*>& parts) {
  const EmbedPart& first = *parts.front();
  for (std::size_t i = 0; i < first.options.size(); ++i) {
    PlanRow row = common;
    if (first.field) row.update = first.options[i].update;
    row.scheme = first.options[i].scheme;
    for (const EmbedPart* part : parts) row.step += part->options[i].step;
    row.chosen = i == first.chosen;
    row.asked = row.chosen && first.asked;
    row.refused = first.options[i].refused;
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::string parts_in_words(const std::vector<EmbedPart>& parts) {
  std::vector<std::string> items;
  if (std::ranges::any_of(parts, [](const EmbedPart& part) { return !part.field; })) items.emplace_back("the weights");
  for (const Party party : {Party::kA, Party::kB}) {
    std::vector<std::size_t> fields;
    for (const EmbedPart& part : parts) {
      if (part.field && part.field->party == party) fields.push_back(part.field->index);
    }
    if (!fields.empty()) items.push_back(whose(party) + " " + fields_in_words(fields));
  }
  return listed(items);
}

std::vector<PlanRow> rows_of(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts) {
  std::vector<PlanRow> rows;
  for (const Party party : {Party::kA, Party::kB}) {
    for (const Group& group : grouped(parts, party)) {
      PlanRow row{.layer = params.spec().name, .party = party, .fields = group.fields.size()};
      row.part = fields_in_words(group.fields) + ", " + described(params.fields(party), group.fields);
      add_rows(rows, row, group.parts);
    }
  }
  for (const EmbedPart& part : parts) {
    if (part.field) continue;
    PlanRow row{.layer = params.spec().name};
    row.part = count_text(params.inputs()) + " x " + count_text(params.spec().out) + " weights";
    add_rows(rows, row, {&part});
  }
  return rows;
}

}  // namespace blindfl::protocol
