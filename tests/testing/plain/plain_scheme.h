#pragma once

#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"

namespace blindfl::testing {

/// No encryption at all: the oracle that tests compare the real schemes with. It does everything else that a scheme
/// does: keys with an id, plans, masks, validation of what arrives.
///
/// Reveals: everything, to whoever sees a message. Never part of a shipped program.
class PlainScheme final : public he::Scheme {
 public:
  struct Options {
    /// Off only to show that the tests of secrecy notice a missing mask.
    bool mask = true;
    /// Under another name, "noisy": a scheme without masks of its own, as the lattice is. It splits a product by what
    /// it draws from `random`, writes drawn bytes into every message, adds noise as far as a spec allows, draws ahead
    /// where it is told to, and has two sets of keys, for products of few rows and of many, which depend on the coin.
    /// Its messages may repeat.
    bool noisy = false;
    /// Of a noisy scheme: an owner that does not care what the coin is.
    bool ignore_coin = false;
  };
  /// Of a noisy scheme: products of at most this many rows have the first set of keys.
  static constexpr std::size_t kFewRows = 8;

  PlainScheme() = default;
  explicit PlainScheme(const Options& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return options_.noisy ? "noisy" : "plain"; }
  [[nodiscard]] std::string parameters() const override;
  [[nodiscard]] std::vector<std::string> key_sets() const override;
  [[nodiscard]] bool repeats_messages() const override { return options_.noisy; }
  [[nodiscard]] std::uint64_t public_key_bytes(const std::string& key_set) const override;
  [[nodiscard]] std::unique_ptr<he::KeyOwner> generate_keys(const he::KeySetup& setup, Random& random) const override;
  [[nodiscard]] std::unique_ptr<he::Multiplier> multiplier(const he::KeySetup& setup,
                                                           ByteView public_key) const override;

 private:
  [[nodiscard]] std::shared_ptr<const he::Plan> do_plan(const he::ProductSpec& spec) const override;

  Options options_{};
};

}  // namespace blindfl::testing
