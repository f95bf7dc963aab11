#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "blindfl/base/party.h"
#include "blindfl/he/exposure.h"

// What messages and computing cost before there is a layer: bytes exactly, from the plans that messages follow; seconds
// as the schemes expect them, on one core. docs/appendix/planner.md has the model and how far it is off.

namespace blindfl::he {
class Plan;
class Scheme;
}  // namespace blindfl::he

namespace blindfl::protocol {

class EncryptedUpdateParams;
struct PartyCost;

/// The line between the parties: public, and the same at both.
struct Link {
  double bits_per_second = 1e9;
  double round_trip = 1e-3;  ///< seconds
};

/// What one training step costs, or what comes once before the first.
struct StepCost {
  double seconds_a = 0;  ///< of computing, at each party
  double seconds_b = 0;
  std::uint64_t bytes_to_a = 0;
  std::uint64_t bytes_to_b = 0;
  int rounds = 0;       ///< round trips
  double together = 0;  ///< of the seconds of both, what they compute at the same time

  [[nodiscard]] std::uint64_t bytes() const { return bytes_to_a + bytes_to_b; }
  /// As if the parties and the line took turns but where they work `together`; those of source layers also send at the
  /// same time now and then.
  [[nodiscard]] double seconds(const Link& link) const;
  StepCost& operator+=(const StepCost& other);
  bool operator==(const StepCost&) const = default;
};

/// What a layer, or a part of it, costs.
struct LayerCost {
  StepCost setup;  ///< what is sent once; keys are not in it
  StepCost step;   ///< a full batch, forward, backward and update; opening Z is not in it, which is the same for all
  /// Bytes of ciphertexts that stay with a party between passes.
  std::uint64_t memory_a = 0;
  std::uint64_t memory_b = 0;
  /// What all shares and messages of the run give away of what they hide, at most: a sum over all values.
  he::Exposure exposure{};
  /// Bytes of the public keys that the products take of a scheme with several sets, by scheme and set: each once in a
  /// session, in both directions.
  std::map<std::string, std::uint64_t> keys{};

  void take_keys(const he::Scheme& scheme, const he::Plan& plan);
  [[nodiscard]] std::uint64_t memory(Party party) const { return party == Party::kA ? memory_a : memory_b; }
  /// Of a run of `steps` steps, setup included.
  [[nodiscard]] double seconds(const Link& link, std::size_t steps) const {
    return setup.seconds(link) + step.seconds(link) * static_cast<double>(steps);
  }
  LayerCost& operator+=(const LayerCost& other);
};

/// A whole product: the peer of `multiplier` encrypts its matrix for it, and gets the reply. `nonzeros` values of what
/// is multiplied with are not 0. Round trips are left to the caller: messages of several products travel together.
[[nodiscard]] StepCost cost_of_product(const he::Plan& plan, Party multiplier, double nonzeros);

/// Lifts with room, all in the same messages: their bytes, with `ot_bytes` of the random OTs that each party uses up.
/// Round trips are left to the caller.
[[nodiscard]] StepCost cost_of_lifts(const PartyCost& lifts);
/// What so many random OTs take of tiles, which travel whole and not in every step: on average, rounded up.
[[nodiscard]] std::uint64_t ot_bytes(std::uint64_t ots);

/// Updates under encryption at `holder`, and the products with what it holds; round trips are left to the caller. Rows
/// are taken to have all the non-zero values that they may have.
[[nodiscard]] LayerCost cost_of_updates(const EncryptedUpdateParams& update, Party holder);

}  // namespace blindfl::protocol
