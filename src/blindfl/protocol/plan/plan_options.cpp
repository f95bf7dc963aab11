#include "blindfl/protocol/plan/plan_options.h"

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

void check_plan_facts(const std::vector<const he::Scheme*>& schemes, const Link& link) {
  require<InvalidArgument>(std::isfinite(link.bits_per_second) && link.bits_per_second > 0 &&
                               std::isfinite(link.round_trip) && link.round_trip >= 0,
                           "a link needs a speed above 0 and a round trip of at least 0 seconds");
  require<InvalidArgument>(!schemes.empty(), "a plan needs schemes to choose from");
}

std::vector<const he::Scheme*> open_schemes(const std::string& layer, const std::optional<std::string>& choice,
                                            const std::vector<const he::Scheme*>& schemes) {
  std::vector<const he::Scheme*> open;
  std::string names;
  for (const he::Scheme* scheme : schemes) {
    append(names, ", ", scheme->name());
    if (!choice || *choice == scheme->name()) open.push_back(scheme);
  }
  require<ConfigError>(!open.empty(), "layer '", layer, "': the session has no scheme '", choice.value_or(""),
                       "', only: ", names);
  std::ranges::stable_sort(open, std::ranges::greater(), &he::Scheme::preference);
  return open;
}

std::vector<Update> open_updates(const std::optional<Update>& choice, const he::Scheme& scheme) {
  if (choice) return {*choice};
  if (scheme.updates() == nullptr) return {Update::kExchanged};
  return {Update::kExchanged, Update::kEncrypted};
}

std::string too_much_memory(const std::string& layer, std::uint64_t memory, Party party, std::uint64_t most) {
  return "layer '" + layer + "': ciphertexts and keys take " + memory_text(memory) + " of memory at " +
         std::string(name_of(party)) + ", and at most " + memory_text(most) + " are allowed";
}

std::string memory_refusal(const std::string& layer, const LayerCost& cost, std::uint64_t most) {
  const Party party = cost.memory_a >= cost.memory_b ? Party::kA : Party::kB;
  return cost.memory(party) <= most ? "" : too_much_memory(layer, cost.memory(party), party, most);
}

void fail_plan(const std::string& what, const std::vector<std::string>& reasons) {
  std::string all;
  for (const std::string& reason : reasons) append(all, "; ", reason);
  fail<ConfigError>("there is no way to run the layer as asked", what, ": ", all);
}

}  // namespace blindfl::protocol
