#include "blindfl/protocol/embed_plan_words.h"

#include <algorithm>
#include <utility>

#include "blindfl/protocol/plan_words.h"

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

/// "100 categories, the mean of up to 3".
std::string described(const CategoryField& field) {
  std::string text = std::to_string(field.categories) + " categories";
  if (field.most == 1) return text;
  return text.append(field.pooling == Pooling::kSum ? ", the sum of up to " : ", the mean of up to ")
      .append(std::to_string(field.most));
}

/// "5 ms and 1 MB a step each; exchanged over paillier 2 s and 3 MB", with what is possible and no more.
std::string costs_in_words(const EmbedPart& part, const std::string& a_step, const Link& link) {
  std::string text = cost_in_words(part.taken().step, link) + a_step;
  for (const EmbedOption& option : part.options) {
    if (&option == &part.taken() || !option.refused.empty()) continue;
    text += "; " + (part.field ? way_in_words(option.update, option.scheme) : "over " + option.scheme) + " " +
            cost_in_words(option.step, link);
  }
  return text;
}

std::string weights_sentence(const EmbedMatMulParams& params, const EmbedPart& part, const Link& link) {
  std::string text = "Products with the " + std::to_string(params.inputs()) + " x " +
                     std::to_string(params.spec().out) + " weights, over " + part.taken().scheme +
                     (part.asked ? " as asked" : "") + ", take " + costs_in_words(part, " a step", link);
  for (const EmbedOption& option : part.options) {
    if (!option.refused.empty()) text += "; over " + option.scheme + " is not possible (" + option.refused + ")";
  }
  return text + ".";
}

/// Fields that the same can be said of.
struct Group {
  const EmbedPart* first;
  std::vector<std::size_t> fields;
  std::string said;  ///< but for how many they are
};

std::vector<Group> grouped(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts, Party party,
                           const Link& link) {
  std::vector<Group> groups;
  for (const EmbedPart& part : parts) {
    if (!part.field || part.field->party != party) continue;
    const CategoryField& field = params.fields(party)[part.field->index].field;
    const std::string said = described(field) + way_in_words(part.taken().update, part.taken().scheme) +
                             (part.asked ? " as asked" : "") + costs_in_words(part, "", link);
    const auto same = std::ranges::find(groups, said, &Group::said);
    if (same == groups.end()) {
      groups.push_back({&part, {part.field->index}, said});
    } else {
      same->fields.push_back(part.field->index);
    }
  }
  return groups;
}

/// "A's fields 0, 2 and 3 (100 categories), exchanged over lattice, take ..."
std::string sentence(const EmbedMatMulParams& params, Party party, const Group& group, const Link& link) {
  const EmbedPart& part = *group.first;
  const bool one = group.fields.size() == 1;
  return whose(party) + " " + fields_in_words(group.fields) + " (" +
         described(params.fields(party)[group.fields.front()].field) + "), " +
         way_in_words(part.taken().update, part.taken().scheme) + (part.asked ? " as asked" : "") + ", " +
         (one ? "takes " : "take ") + costs_in_words(part, one ? " a step" : " a step each", link) + ".";
}

/// "A's fields 0 to 12 cannot be updated under encryption with paillier (...)."
std::string refusals(const std::vector<EmbedPart>& parts) {
  std::vector<std::pair<std::string, std::vector<EmbedPart>>> refused;
  for (const EmbedPart& part : parts) {
    if (!part.field) continue;
    for (const EmbedOption& option : part.options) {
      if (option.refused.empty()) continue;
      const std::string what = way_in_words(option.update, option.scheme) + " (" + option.refused + ")";
      auto same = std::ranges::find(refused, what, &std::pair<std::string, std::vector<EmbedPart>>::first);
      if (same == refused.end()) same = refused.insert(same, {what, {}});
      same->second.push_back({.field = part.field});
    }
  }
  std::string text;
  for (const auto& [what, fields] : refused) append(text, " ", parts_in_words(fields) + " cannot be " + what + ".");
  return text;
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

std::string why_in_words(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts, const Link& link) {
  std::string why;
  for (const Party party : {Party::kA, Party::kB}) {
    for (const Group& group : grouped(params, parts, party, link)) {
      append(why, " ", sentence(params, party, group, link));
    }
  }
  StepCost sum;
  for (const EmbedPart& part : parts) {
    sum += part.taken().step;
    if (!part.field) append(why, " ", weights_sentence(params, part, link));
  }
  const std::string refused = refusals(parts);
  if (!refused.empty()) append(why, " ", refused);
  return why + " All together a step takes " + cost_in_words(sum, link) + ".";
}

}  // namespace blindfl::protocol
