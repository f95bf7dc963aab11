#include "blindfl/run/several_as.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "blindfl/base/text.h"

namespace blindfl::run {

namespace {

/// A source layer, and what its features are called.
struct NamedLayer {
  const LayerFacts& facts;
  std::string features;

  [[nodiscard]] bool opens_one() const { return facts.of && facts.of->size() == 1; }
  [[nodiscard]] bool opens_sum() const { return facts.of && facts.of->size() > 1; }
  [[nodiscard]] bool is_bs_too() const { return facts.in_b.value_or(true); }
};

std::vector<NamedLayer> layers_of(const DisclosureFacts& model) {
  std::vector<NamedLayer> layers;
  if (model.numeric) layers.push_back({model.numeric_layer, "numeric features"});
  if (model.categorical) layers.push_back({model.category_layer, "categories"});
  return layers;
}

/// Of one A; "this A's" at that A.
std::string whose(const DisclosureFacts& model, const std::string& name) {
  return name == model.own_name ? "this A's" : name + "'s";
}

std::optional<std::string> lone_part_of_several(const DisclosureFacts& model, const NamedLayer& layer) {
  const bool is_a = !model.own_name.empty();
  const std::string& features = layer.features;
  if (is_a && layer.facts.in_a == 0) return std::nullopt;
  if (!layer.facts.of) {
    if (!is_a) return std::nullopt;
    return "if no other A has " + features + ", B sees this A's part of their layer alone, and no sum over A's";
  }
  if (!layer.opens_one()) return std::nullopt;
  const std::string& name = layer.facts.of->front();
  const std::string part = whose(model, name) + " part";
  if (is_a) {
    return layer.is_bs_too()
               ? "no other A has " + features + ": of their layer B sees " + part +
                     " beside its own, and no sum over A's"
               : "neither B nor another A has " + features + ": what B sees of their layer is " + part + " outright";
  }
  return layer.is_bs_too() ? "of the A's only " + name + " has " + features + ": of their layer B sees " + part +
                                 " beside its own, and no sum over A's"
                           : "of the A's only " + name + " has " + features +
                                 ", and B has none: what B sees of their layer is " + part + " outright";
}

/// "the other A", "the other 3 A's".
std::string others_of(const DisclosureFacts& model) {
  return model.as == 2 ? "the other A" : "the other " + std::to_string(model.as - 1) + " A's";
}

void add_several_at_a(const DisclosureFacts& model, Disclosure& all) {
  const std::string others = others_of(model);
  all.learned.push_back("Of " + others +
                        ": that they take part, how many features each has and how these are encoded, and how many "
                        "rows all have in common.");
  bool is_known = false;
  for (const NamedLayer& layer : layers_of(model)) {
    if (!layer.facts.of) continue;
    is_known = true;
    if (layer.facts.in_a == 0 || !layer.opens_sum()) continue;
    std::vector<std::string> who;
    std::ranges::copy_if(*layer.facts.of, std::back_inserter(who),
                         [&](const std::string& name) { return name != model.own_name; });
    all.could_work_out.push_back(
        "Of the layer of " + layer.features + " B sees the sum over this A and " + listed(who) +
        ". Whatever is said here of this A's " + layer.features + " is so where " + listed(who) +
        (who.size() == 1 ? " tells B its own part" : " tell B their own parts") + ": then B sees this A's alone.");
  }
  if (!is_known) {
    all.could_work_out.push_back(
        "B sees the sum of what all A's put into Z. Whatever is said here of this A's features is so where " + others +
        " tell B their own parts: then B sees this A's alone.");
  }
  for (const std::string& words : lone_parts(model)) all.could_work_out.push_back(as_sentence(words));
  all.never_saw.push_back("What " + others + " sent to B, but for what all A's agree on to hide their parts.");
}

void add_several_at_b(const DisclosureFacts& model, Disclosure& all) {
  const std::string over_all =
      "only the sum over all " + std::to_string(model.as) + " A's, unless all others tell theirs";
  bool is_known = false;
  for (const NamedLayer& layer : layers_of(model)) {
    if (!layer.facts.of) continue;
    is_known = true;
    if (!layer.opens_sum()) continue;
    const bool all_have = layer.facts.of->size() == model.as;
    if (!layer.is_bs_too()) {
      all.could_work_out.push_back("B has no " + layer.features + ": what it sees of their layer is the sum over " +
                                   listed(*layer.facts.of) + " outright.");
    }
    all.never_saw.push_back(
        "The part of one A in the layer of " + layer.features + ": " +
        (all_have ? over_all
                  : "only the sum over " + listed(*layer.facts.of) + ", unless all others of them tell theirs") +
        ".");
  }
  if (!is_known) {
    all.never_saw.push_back("The part of one A in a layer that several have features for: " + over_all + ".");
  }
}

}  // namespace

std::vector<std::string> lone_parts(const DisclosureFacts& model) {
  std::vector<std::string> parts;
  if (model.shared_top) return parts;
  for (const NamedLayer& layer : layers_of(model)) {
    if (model.as > 1) {
      if (auto words = lone_part_of_several(model, layer)) parts.push_back(std::move(*words));
    } else if (layer.facts.in_a > 0 && !layer.is_bs_too() && model.b_has_features.value_or(false)) {
      parts.push_back("B has no " + layer.features + ": what it sees of their layer is A's part outright");
    }
  }
  return parts;
}

std::vector<std::string> outright_layers(const DisclosureFacts& model) {
  std::vector<std::string> names;
  for (const NamedLayer& layer : layers_of(model)) {
    const bool is_one = model.as == 1 ? layer.facts.in_a > 0 : layer.opens_one();
    if (is_one && !layer.is_bs_too()) names.push_back(layer.features);
  }
  return names;
}

void add_several(Party party, const DisclosureFacts& model, Disclosure& all) {
  if (model.as < 2) return;
  party == Party::kA ? add_several_at_a(model, all) : add_several_at_b(model, all);
}

std::string as_sentence(std::string words) {
  if (!words.empty() && words.front() >= 'a' && words.front() <= 'z') {
    words.front() = static_cast<char>(words.front() - 'a' + 'A');
  }
  return words + ".";
}

}  // namespace blindfl::run
