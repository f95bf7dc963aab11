#include "blindfl/protocol/plan/planner.h"

#include <utility>

#include "blindfl/base/error.h"

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

/// Under an open top B's weights learn in one way.
std::vector<Update> updates_for_b(const MatMulSpec& spec, const PlannerChoices& choices, const he::Scheme* scheme_b) {
  if (scheme_b == nullptr || spec.top == Top::kOpen) return {spec.update_b};
  return open_updates(choices.update_b, *scheme_b);
}

/// How both parties' weights learn.
struct Updates {
  Update a;
  Update b;
};

Candidate evaluate(MatMulSpec spec, const Updates& updates, const he::Scheme* scheme_a, const he::Scheme* scheme_b,
                   const PlannerChoices& choices) {
  Candidate candidate;
  LayerOption& option = candidate.option;
  option.update = spec.update = updates.a;
  option.update_b = spec.update_b = updates.b;
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
        for (const Update update_b : updates_for_b(wanted, choices, scheme_b)) {
          candidates.push_back(evaluate(wanted, {update, update_b}, scheme_a, scheme_b, choices));
        }
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

/// Whether two options differ for this party's features only.
bool is_alternative(const LayerOption& chosen, const LayerOption& other, Party party) {
  const bool same_a = chosen.scheme_a == other.scheme_a && chosen.update == other.update;
  const bool same_b = chosen.scheme_b == other.scheme_b && chosen.update_b == other.update_b;
  return party == Party::kA ? !same_a && same_b : same_a && !same_b;
}

/// The ways for one party's features, with what was chosen for the other's.
void add_rows(std::vector<PlanRow>& rows, const std::vector<Candidate>& candidates, const Candidate& chosen,
              const MatMulParams& params, Party party, bool asked) {
  for (const Candidate& c : candidates) {
    const bool is_chosen = &c == &chosen;
    if (!is_chosen && !is_alternative(chosen.option, c.option, party)) continue;
    PlanRow row{.layer = params.spec().name, .party = party};
    row.part = FeaturesPart{.features = params.in(party), .most_nonzeros = params.most_nonzeros(party)};
    row.scheme = party == Party::kA ? c.option.scheme_a : c.option.scheme_b;
    if (party == Party::kA) row.update = c.option.update;
    if (party == Party::kB && params.shared()) row.update = c.option.update_b;
    row.step = (party == Party::kA ? c.a : c.b).step;
    row.chosen = is_chosen;
    row.asked = is_chosen && asked;
    row.refused = c.option.refused;
    rows.push_back(std::move(row));
  }
}

}  // namespace

LayerPlan plan_layer(const MatMulSpec& wanted, const PlannerChoices& choices, const Schemes& schemes,
                     const Link& link) {
  check_plan_facts(schemes, link);
  const std::vector<Candidate> candidates = evaluate_all(wanted, choices, schemes);
  const Candidate& best = best_of(candidates, wanted, link);

  LayerPlan plan{wanted, {}, {}};
  plan.spec.update = best.option.update;
  plan.spec.update_b = best.option.update_b;
  if (wanted.in_a > 0) plan.spec.scheme_a = best.option.scheme_a;
  if (wanted.in_b > 0) plan.spec.scheme_b = best.option.scheme_b;
  for (const Candidate& c : candidates) plan.considered.push_back(c.option);
  const MatMulParams params(plan.spec);
  for (const Party party : {Party::kA, Party::kB}) {
    if (params.in(party) == 0) continue;
    const bool asked = party == Party::kA ? choices.scheme_a || choices.update : choices.scheme_b || choices.update_b;
    add_rows(plan.rows, candidates, best, params, party, asked);
  }
  return plan;
}

}  // namespace blindfl::protocol
