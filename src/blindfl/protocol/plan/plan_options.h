#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/he/scheme.h"
#include "blindfl/protocol/layers/sgd_plan.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/protocol/plan/step_cost.h"

// What planners weigh, and the rules that they share: what is open, what is refused, which is taken.

namespace blindfl::protocol {

/// Steps that are counted on where `sgd.steps` does not say.
constexpr std::size_t kStepsIfUndeclared = 1000;

/// One way to run a layer or a part of it, and what it costs.
struct PlanOption : LayerCost {
  std::string refused;  ///< why it is not possible; empty if it is
};

[[nodiscard]] constexpr std::size_t counted_steps(const SgdOptions& sgd) {
  return sgd.steps > 0 ? sgd.steps : kStepsIfUndeclared;
}

/// Throws InvalidArgument for a link without speed, or if there are no schemes.
void check_plan_facts(const std::vector<const he::Scheme*>& schemes, const Link& link);

/// Those that a choice leaves open, the preferred ones first.
/// Throws ConfigError, naming the layer and the schemes there are, if there is none of that name.
[[nodiscard]] std::vector<const he::Scheme*> open_schemes(const std::string& layer,
                                                          const std::optional<std::string>& choice,
                                                          const std::vector<const he::Scheme*>& schemes);
/// Updates under encryption are tried where they can be, and where they are asked for, so that the reason is found.
[[nodiscard]] std::vector<Update> open_updates(const std::optional<Update>& choice, const he::Scheme& scheme);

/// Why ciphertexts of so many bytes cannot stay with a party.
[[nodiscard]] std::string too_much_memory(const std::string& layer, std::uint64_t memory, Party party,
                                          std::uint64_t most);
/// The same for the party that a cost takes more memory at; empty if it is allowed.
[[nodiscard]] std::string memory_refusal(const std::string& layer, const LayerCost& cost, std::uint64_t most);

/// That which takes the least time over `steps` steps, the first if several take the same; null if all are refused.
/// `option_of` finds the option in a `T`.
template <class T, class OptionOf = std::identity>
[[nodiscard]] const T* cheapest(const std::vector<T>& all, const Link& link, std::size_t steps,
                                OptionOf option_of = {}) {
  const T* best = nullptr;
  for (const T& one : all) {
    const PlanOption& option = std::invoke(option_of, one);
    if (!option.refused.empty()) continue;
    if (best == nullptr || option.seconds(link, steps) < std::invoke(option_of, *best).seconds(link, steps)) {
      best = &one;
    }
  }
  return best;
}

/// Adds the reasons why options are refused, each once.
template <class T, class OptionOf = std::identity>
void add_reasons(std::vector<std::string>& reasons, const std::vector<T>& all, OptionOf option_of = {}) {
  for (const T& one : all) {
    const std::string& refused = std::invoke(option_of, one).refused;
    if (!refused.empty() && std::ranges::find(reasons, refused) == reasons.end()) reasons.push_back(refused);
  }
}

/// Throws ConfigError with all reasons. `what` is what there is no way for: "" or ", for ...".
[[noreturn]] void fail_plan(const std::string& what, const std::vector<std::string>& reasons);

}  // namespace blindfl::protocol
