#include "blindfl/protocol/planner.h"

#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/protocol/plan_words.h"

namespace blindfl::protocol {

namespace {

using Schemes = std::vector<const he::Scheme*>;

/// An option, and each side's part in what it costs.
struct Candidate {
  LayerOption option;
  LayerCost a;
  LayerCost b;
};

/// Those that a choice leaves open for a party's features; one null if there are no features.
Schemes schemes_for(const MatMulSpec& spec, Party party, const std::optional<std::string>& choice,
                    const Schemes& schemes) {
  if ((party == Party::kA ? spec.in_a : spec.in_b) == 0) return {nullptr};
  return open_schemes(spec.name, choice, schemes);
}

std::vector<Update> updates_for(const MatMulSpec& spec, const PlannerChoices& choices, const he::Scheme* scheme_a) {
  if (scheme_a == nullptr) return {spec.update};
  return open_updates(choices.update, *scheme_a);
}

Candidate evaluate(MatMulSpec spec, Update update, const he::Scheme* scheme_a, const he::Scheme* scheme_b,
                   const PlannerChoices& choices) {
  Candidate candidate;
  LayerOption& option = candidate.option;
  option.update = spec.update = update;
  if (scheme_a != nullptr) option.scheme_a = scheme_a->name();
  if (scheme_b != nullptr) option.scheme_b = scheme_b->name();
  const MatMulParams params(spec);
  try {
    if (scheme_a != nullptr) candidate.a = cost_of(params, Party::kA, *scheme_a);
    if (scheme_b != nullptr) candidate.b = cost_of(params, Party::kB, *scheme_b);
  } catch (const InvalidArgument& error) {
    option.refused = error.what();
    return candidate;
  }
  option += candidate.a;
  option += candidate.b;
  option.refused = memory_refusal(spec.name, option, choices.most_memory);
  return candidate;
}

std::vector<Candidate> evaluate_all(const MatMulSpec& wanted, const PlannerChoices& choices, const Schemes& schemes) {
  std::vector<Candidate> candidates;
  for (const he::Scheme* scheme_a : schemes_for(wanted, Party::kA, choices.scheme_a, schemes)) {
    for (const Update update : updates_for(wanted, choices, scheme_a)) {
      for (const he::Scheme* scheme_b : schemes_for(wanted, Party::kB, choices.scheme_b, schemes)) {
        candidates.push_back(evaluate(wanted, update, scheme_a, scheme_b, choices));
      }
    }
  }
  return candidates;
}

const Candidate& best_of(const std::vector<Candidate>& candidates, const MatMulSpec& wanted, const Link& link) {
  const Candidate* best = cheapest(candidates, link, counted_steps(wanted.sgd), &Candidate::option);
  if (best != nullptr) return *best;
  std::vector<std::string> reasons;
  add_reasons(reasons, candidates, &Candidate::option);
  fail_plan("", reasons);
}

std::string in_words(const LayerOption& option, Party party) {
  return party == Party::kA ? way_in_words(option.update, option.scheme_a) : "over " + option.scheme_b;
}

/// Whether two options differ for this party's features only.
bool is_alternative(const LayerOption& chosen, const LayerOption& other, Party party) {
  const bool same_a = chosen.scheme_a == other.scheme_a && chosen.update == other.update;
  const bool same_b = chosen.scheme_b == other.scheme_b;
  return party == Party::kA ? !same_a && same_b : same_a && !same_b;
}

/// "A's 500000 features, 7 a row: ..."
std::string sentence(const std::vector<Candidate>& candidates, const Candidate& chosen, const MatMulParams& params,
                     Party party, bool asked, const Link& link) {
  const auto cost = [&](const Candidate& c) { return cost_in_words((party == Party::kA ? c.a : c.b).step, link); };
  std::ostringstream text;
  text << whose(party) << " " << params.in(party) << " features";
  if (params.most_nonzeros(party) < params.in(party)) text << ", " << params.most_nonzeros(party) << " a row";
  text << ", " << in_words(chosen.option, party) << (asked ? " as asked" : "") << ", take " << cost(chosen)
       << " a step";
  for (const Candidate& c : candidates) {
    if (!is_alternative(chosen.option, c.option, party)) continue;
    text << "; " << in_words(c.option, party) << " ";
    if (c.option.refused.empty()) {
      text << cost(c);
    } else {
      text << "is not possible (" << c.option.refused << ")";
    }
  }
  text << ".";
  return text.str();
}

}  // namespace

LayerPlan plan_layer(const MatMulSpec& wanted, const PlannerChoices& choices, const Schemes& schemes,
                     const Link& link) {
  check_plan_facts(schemes, link);
  const std::vector<Candidate> candidates = evaluate_all(wanted, choices, schemes);
  const Candidate& best = best_of(candidates, wanted, link);

  LayerPlan plan{wanted, {}, {}};
  plan.spec.update = best.option.update;
  if (wanted.in_a > 0) plan.spec.scheme_a = best.option.scheme_a;
  if (wanted.in_b > 0) plan.spec.scheme_b = best.option.scheme_b;
  for (const Candidate& c : candidates) plan.considered.push_back(c.option);
  const MatMulParams params(plan.spec);
  for (const Party party : {Party::kA, Party::kB}) {
    if (params.in(party) == 0) continue;
    const bool asked = party == Party::kA ? choices.scheme_a || choices.update : choices.scheme_b.has_value();
    append(plan.why, " ", sentence(candidates, best, params, party, asked, link));
  }
  return plan;
}

}  // namespace blindfl::protocol
