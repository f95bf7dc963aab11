#include "blindfl/protocol/planner.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/paillier_scheme.h"

namespace blindfl::protocol {

namespace {

using Schemes = std::vector<const he::Scheme*>;

/// An option, and each side's part in what it costs.
struct Candidate {
  LayerOption option;
  LayerCost a;
  LayerCost b;
};

void append(std::string& to, std::string_view separator, std::string_view what) {
  if (!to.empty()) to += separator;
  to += what;
}

/// Those that a choice leaves open for a party's features, the lattice first; one null if there are no features.
Schemes open_schemes(const MatMulSpec& spec, Party party, const std::optional<std::string>& choice,
                     const Schemes& schemes) {
  if ((party == Party::kA ? spec.in_a : spec.in_b) == 0) return {nullptr};
  Schemes open;
  std::string names;
  for (const he::Scheme* scheme : schemes) {
    append(names, ", ", scheme->name());
    if (!choice || *choice == scheme->name()) open.push_back(scheme);
  }
  require<ConfigError>(!open.empty(), "layer '", spec.name, "': the session has no scheme '", choice.value_or(""),
                       "', only: ", names);
  std::stable_partition(open.begin(), open.end(), [](const he::Scheme* scheme) { return scheme->name() == "lattice"; });
  return open;
}

/// Updates under encryption are tried where they can be, and where they are asked for, so that the reason is found.
std::vector<Update> open_updates(const MatMulSpec& spec, const PlannerChoices& choices, const he::Scheme* scheme_a) {
  if (scheme_a == nullptr) return {spec.update};
  if (choices.update) return {*choices.update};
  if (dynamic_cast<const he::PaillierScheme*>(scheme_a) == nullptr) return {Update::kExchanged};
  return {Update::kExchanged, Update::kEncrypted};
}

std::string gib(std::uint64_t bytes) {
  std::ostringstream text;
  text << std::ceil(static_cast<double>(bytes) / 0x1p30 * 10) / 10 << " GiB";
  return text.str();
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
  LayerCost sum = candidate.a;
  sum += candidate.b;
  option.setup = sum.setup;
  option.step = sum.step;
  option.memory_a = sum.memory_a;
  option.memory_b = sum.memory_b;
  const std::uint64_t most = std::max(sum.memory_a, sum.memory_b);
  if (most > choices.most_memory) {
    option.refused = "layer '" + spec.name + "': ciphertexts take " + gib(most) + " of memory at " +
                     (sum.memory_a == most ? "A" : "B") + ", and at most " + gib(choices.most_memory) + " are allowed";
  }
  return candidate;
}

std::vector<Candidate> evaluate_all(const MatMulSpec& wanted, const PlannerChoices& choices, const Schemes& schemes) {
  std::vector<Candidate> candidates;
  for (const he::Scheme* scheme_a : open_schemes(wanted, Party::kA, choices.scheme_a, schemes)) {
    for (const Update update : open_updates(wanted, choices, scheme_a)) {
      for (const he::Scheme* scheme_b : open_schemes(wanted, Party::kB, choices.scheme_b, schemes)) {
        candidates.push_back(evaluate(wanted, update, scheme_a, scheme_b, choices));
      }
    }
  }
  return candidates;
}

const Candidate& best_of(const std::vector<Candidate>& candidates, const MatMulSpec& wanted, const Link& link) {
  const std::size_t steps = wanted.sgd.steps > 0 ? wanted.sgd.steps : kStepsIfUndeclared;
  const Candidate* best = nullptr;
  std::vector<std::string> reasons;
  for (const Candidate& c : candidates) {
    const std::string& refused = c.option.refused;
    if (refused.empty()) {
      if (best == nullptr || c.option.seconds(link, steps) < best->option.seconds(link, steps)) best = &c;
    } else if (std::ranges::find(reasons, refused) == reasons.end()) {
      reasons.push_back(refused);
    }
  }
  if (best != nullptr) return *best;
  std::string all;
  for (const std::string& reason : reasons) append(all, "; ", reason);
  fail<ConfigError>("there is no way to run the layer as asked: ", all);
}

/// With two digits that count.
std::string in_unit(double value, const char* unit) {
  const double step = value >= 100 ? 10.0 : value >= 10 ? 1.0 : 0.1;
  std::ostringstream text;
  text.precision(12);
  text << std::round(value / step) * step << " " << unit;
  return text.str();
}

std::string time_in_words(double seconds) {
  if (seconds >= 1) return in_unit(seconds, "s");
  return seconds >= 1e-3 ? in_unit(seconds * 1e3, "ms") : in_unit(seconds * 1e6, "us");
}

std::string size_in_words(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return in_unit(b / 1e9, "GB");
  return b >= 1e6 ? in_unit(b / 1e6, "MB") : in_unit(b / 1e3, "kB");
}

std::string in_words(const LayerOption& option, Party party) {
  if (party == Party::kB) return "over " + option.scheme_b;
  return (option.update == Update::kEncrypted ? "updated under encryption with " : "exchanged over ") + option.scheme_a;
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
  const auto cost = [&](const Candidate& c) {
    const StepCost& step = (party == Party::kA ? c.a : c.b).step;
    return time_in_words(step.seconds(link)) + " and " + size_in_words(step.bytes());
  };
  std::ostringstream text;
  text << (party == Party::kA ? "A" : "B") << "'s " << params.in(party) << " features";
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
  require<InvalidArgument>(std::isfinite(link.bits_per_second) && link.bits_per_second > 0 &&
                               std::isfinite(link.round_trip) && link.round_trip >= 0,
                           "a link needs a speed above 0 and a round trip of at least 0 seconds");
  require<InvalidArgument>(!schemes.empty(), "a plan needs schemes to choose from");
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
