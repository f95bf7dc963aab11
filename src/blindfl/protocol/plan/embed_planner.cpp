#include "blindfl/protocol/plan/embed_planner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/protocol/layers/lookup_plan.h"

namespace blindfl::protocol {

namespace {

using Schemes = std::vector<const he::Scheme*>;

/// What is said of all tables, but where there is something of this party's.
TableChoices choices_for(const EmbedChoices& choices, Party party) {
  const TableChoices& own = party == Party::kA ? choices.tables_a : choices.tables_b;
  return {.scheme = own.scheme ? own.scheme : choices.tables.scheme,
          .update = own.update ? own.update : choices.tables.update};
}

/// Fills in what an option costs, or why it is not possible.
template <class Cost>
EmbedOption evaluate(const EmbedMatMulParams& params, const EmbedChoices& choices, std::string_view scheme,
                     Update update, const Cost& cost) {
  EmbedOption option;
  option.scheme = scheme;
  option.update = update;
  const std::string& layer = params.spec().name;
  try {
    option += cost();
    option.refused = memory_refusal(layer, option, choices.most_memory);
  } catch (const InvalidArgument& error) {
    option.refused = error.what();
    // A scheme does not know for which layer it is asked.
    if (!option.refused.starts_with("layer '")) option.refused = "layer '" + layer + "': " + option.refused;
  }
  return option;
}

EmbedPart evaluate_weights(const EmbedMatMulParams& params, const EmbedChoices& choices, const Schemes& schemes) {
  EmbedPart part;
  part.asked = choices.scheme.has_value();
  for (const he::Scheme* scheme : open_schemes(params.spec().name, choices.scheme, schemes)) {
    part.options.push_back(evaluate(params, choices, scheme->name(), Update::kExchanged,
                                    [&] { return cost_of_weights(params, *scheme); }));
  }
  return part;
}

/// Of all numbers of calls that which takes the least time; a field whose rows have one category has no choice.
EmbedOption evaluate_ot(const EmbedMatMulParams& params, Party party, EmbedField field, const EmbedChoices& choices,
                        const Link& link) {
  const std::size_t steps = counted_steps(params.spec().sgd);
  std::optional<EmbedOption> best;
  for (const std::size_t calls : call_counts(field.field.most)) {
    field.calls = field.field.most > 1 ? calls : 0;
    EmbedOption option =
        evaluate(params, choices, kByOt, field.update, [&] { return cost_of_ot_field(params, party, field); });
    option.calls = field.calls;
    const bool better = best && option.refused.empty() &&
                        (!best->refused.empty() || option.seconds(link, steps) < best->seconds(link, steps));
    if (!best || better) best = std::move(option);
  }
  return *best;
}

EmbedPart evaluate_field(const EmbedMatMulParams& params, Party party, std::size_t index, const EmbedChoices& choices,
                         const Schemes& schemes, const Link& link) {
  const TableChoices own = choices_for(choices, party);
  EmbedPart part;
  part.field = {party, index};
  part.asked = own.scheme || own.update;
  EmbedField field = params.fields(party)[index];
  const bool ot_asked = own.scheme == kByOt;
  if (!ot_asked) {
    for (const he::Scheme* scheme : open_schemes(params.spec().name, own.scheme, schemes)) {
      field.scheme = scheme->name();
      for (const Update update : open_updates(own.update, *scheme)) {
        field.update = update;
        part.options.push_back(evaluate(params, choices, scheme->name(), update,
                                        [&] { return cost_of_field(params, party, field, *scheme); }));
      }
    }
  }
  // It updates in one way only; where another is asked for with it, the reason is found.
  field.update = own.update.value_or(Update::kExchanged);
  if (ot_asked || (!own.scheme && field.update == Update::kExchanged)) {
    part.options.push_back(evaluate_ot(params, party, field, choices, link));
  }
  return part;
}

/// Without what it says of tables, which is not looked at and need not be possible.
EmbedMatMulSpec left_open(EmbedMatMulSpec spec) {
  for (std::vector<EmbedField>* fields : {&spec.fields_a, &spec.fields_b}) {
    for (EmbedField& field : *fields) {
      field.update = Update::kExchanged;
      field.scheme.clear();
      field.calls = 0;
    }
  }
  return spec;
}

/// The weights, A's fields, B's fields.
std::vector<EmbedPart> evaluate_all(const EmbedMatMulParams& params, const EmbedChoices& choices,
                                    const Schemes& schemes, const Link& link) {
  std::vector<EmbedPart> parts{evaluate_weights(params, choices, schemes)};
  for (const Party party : {Party::kA, Party::kB}) {
    for (std::size_t i = 0; i < params.fields(party).size(); ++i) {
      parts.push_back(evaluate_field(params, party, i, choices, schemes, link));
    }
  }
  return parts;
}

/// "the weights, A's fields 0, 2 and 3 and B's field 1".
std::string parts_in_words(const std::vector<EmbedPart>& parts) {
  std::vector<std::string> items;
  if (std::ranges::any_of(parts, [](const EmbedPart& part) { return !part.field; })) items.emplace_back("the weights");
  for (const Party party : {Party::kA, Party::kB}) {
    std::vector<std::size_t> fields;
    for (const EmbedPart& part : parts) {
      if (part.field && part.field->party == party) fields.push_back(part.field->index);
    }
    if (fields.empty()) continue;
    std::string& item = items.emplace_back(name_of(party));
    item.append(fields.size() == 1 ? "'s field " : "'s fields ").append(ranges_text(fields));
  }
  return listed(items);
}

/// Takes the cheapest option of each part, as long as there is memory.
class Chooser {
 public:
  Chooser(const EmbedMatMulSpec& spec, const Link& link, std::uint64_t most_memory)
      : layer_(spec.name), link_(link), steps_(counted_steps(spec.sgd)), most_memory_(most_memory) {}

  void choose(std::vector<EmbedPart>& parts) const {
    std::vector<EmbedPart> impossible;
    for (EmbedPart& part : parts) {
      if (!choose(part)) impossible.push_back(part);
    }
    if (!impossible.empty()) fail_parts(impossible);
    for (bool more = true; more;) more = make_room(parts, Party::kA) || make_room(parts, Party::kB);
  }

 private:
  bool choose(EmbedPart& part) const {
    const EmbedOption* best = cheapest(part.options, link_, steps_);
    if (best == nullptr) return false;
    part.chosen = static_cast<std::size_t>(best - part.options.data());
    return true;
  }

  [[noreturn]] static void fail_parts(const std::vector<EmbedPart>& impossible) {
    std::vector<std::string> reasons;
    for (const EmbedPart& part : impossible) add_reasons(reasons, part.options);
    fail_plan(", for " + parts_in_words(impossible), reasons);
  }

  /// A part without the options that take as much memory as what was chosen, or more.
  [[nodiscard]] static EmbedPart smaller(EmbedPart part, Party party, const std::string& reason) {
    const std::uint64_t memory = part.taken().memory(party);
    for (EmbedOption& option : part.options) {
      if (option.refused.empty() && option.memory(party) >= memory) option.refused = reason;
    }
    return part;
  }

  /// Returns false if what was chosen is allowed at a party. Otherwise one part gives way, that which loses the least
  /// time for the memory.
  bool make_room(std::vector<EmbedPart>& parts, Party party) const {
    std::uint64_t memory = 0;
    for (const EmbedPart& part : parts) memory += part.taken().memory(party);
    if (memory <= most_memory_) return false;
    const std::string reason = too_much_memory(layer_, memory, party, most_memory_) + ", all tables together";
    std::optional<std::pair<std::size_t, EmbedPart>> best;
    double least = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EmbedPart other = smaller(parts[i], party, reason);
      if (!choose(other)) continue;
      const double lost = other.taken().seconds(link_, steps_) - parts[i].taken().seconds(link_, steps_);
      const auto won = static_cast<double>(parts[i].taken().memory(party) - other.taken().memory(party));
      if (best && lost / won >= least) continue;
      best.emplace(i, std::move(other));
      least = lost / won;
    }
    if (!best) fail_plan("", {reason});
    parts[best->first] = std::move(best->second);
    return true;
  }

  std::string layer_;
  Link link_;
  std::size_t steps_;
  std::uint64_t most_memory_;
};

/// Fields with the same choice, and the same reasons against others.
bool are_alike(const EmbedPart& x, const EmbedPart& y) {
  const auto same_option = [](const EmbedOption& a, const EmbedOption& b) {
    return a.scheme == b.scheme && a.update == b.update && a.refused == b.refused;
  };
  return x.asked == y.asked && x.chosen == y.chosen && std::ranges::equal(x.options, y.options, same_option);
}

using Parts = std::vector<const EmbedPart*>;

/// A party's fields, those that are alike together.
std::vector<Parts> grouped(const std::vector<EmbedPart>& parts, Party party) {
  std::vector<Parts> groups;
  for (const EmbedPart& part : parts) {
    if (!part.field || part.field->party != party) continue;
    auto same = std::ranges::find_if(groups, [&](const Parts& group) { return are_alike(*group.front(), part); });
    if (same == groups.end()) same = groups.insert(same, Parts{});
    same->push_back(&part);
  }
  return groups;
}

FieldsPart part_of(const std::vector<EmbedField>& all, const Parts& group) {
  FieldsPart part{.fewest_categories = all[group.front()->field->index].field.categories};
  for (const EmbedPart* each : group) {
    const CategoryField& field = all[each->field->index].field;
    part.fields.push_back(each->field->index);
    part.fewest_categories = std::min(part.fewest_categories, field.categories);
    part.most_categories = std::max(part.most_categories, field.categories);
    part.most_per_row = std::max(part.most_per_row, field.most);
  }
  return part;
}

/// One row for each option of parts that are alike, with the cost of all of them.
void add_rows(std::vector<PlanRow>& rows, const PlanRow& common, const Parts& parts) {
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

/// A's fields, B's fields and the weights, with all that was weighed.
std::vector<PlanRow> rows_of(const EmbedMatMulParams& params, const std::vector<EmbedPart>& parts) {
  std::vector<PlanRow> rows;
  const std::string& layer = params.spec().name;
  for (const Party party : {Party::kA, Party::kB}) {
    for (const Parts& group : grouped(parts, party)) {
      add_rows(rows, {.layer = layer, .party = party, .part = part_of(params.fields(party), group)}, group);
    }
  }
  for (const EmbedPart& part : parts) {
    if (part.field) continue;
    add_rows(rows, {.layer = layer, .part = WeightsPart{params.inputs(), params.spec().out}}, {&part});
  }
  return rows;
}

/// With what was chosen of schemes and updates.
EmbedMatMulSpec filled_in(EmbedMatMulSpec spec, const std::vector<EmbedPart>& parts) {
  for (const EmbedPart& part : parts) {
    const EmbedOption& taken = part.taken();
    if (!part.field) {
      spec.scheme = taken.scheme;
      continue;
    }
    auto& fields = part.field->party == Party::kA ? spec.fields_a : spec.fields_b;
    fields[part.field->index].scheme = taken.scheme;
    fields[part.field->index].update = taken.update;
    fields[part.field->index].calls = taken.calls;
  }
  return spec;
}

/// Tables by oblivious transfer leave more of what a run may give away to products, which then cost less: what they
/// cost beside what was chosen.
void take_costs(std::vector<EmbedPart>& parts, const std::vector<EmbedPart>& of_chosen) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::size_t i = 0; i < parts[p].options.size(); ++i) {
      EmbedOption& option = parts[p].options[i];
      if (!option.refused.empty()) continue;
      static_cast<LayerCost&>(option) = of_chosen[p].options[i];
    }
  }
}

}  // namespace

EmbedPlan plan_embed(const EmbedMatMulSpec& wanted, const EmbedChoices& choices, const Schemes& schemes,
                     const Link& link) {
  check_plan_facts(schemes, link);
  std::vector<EmbedPart> parts = evaluate_all(EmbedMatMulParams(left_open(wanted)), choices, schemes, link);
  Chooser(wanted, link, choices.most_memory).choose(parts);

  EmbedPlan plan{filled_in(wanted, parts), {}, {}, {}};
  const EmbedMatMulParams params(plan.spec);
  take_costs(parts, evaluate_all(params, choices, schemes, link));
  plan.considered = std::move(parts);
  plan.rows = rows_of(params, plan.considered);
  for (const EmbedPart& part : plan.considered) plan.cost += part.taken();
  return plan;
}

}  // namespace blindfl::protocol
