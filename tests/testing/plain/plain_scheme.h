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
  };

  PlainScheme() = default;
  explicit PlainScheme(const Options& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "plain"; }
  [[nodiscard]] std::string parameters() const override { return "plain, no encryption, ring 2^128"; }
  [[nodiscard]] std::uint64_t public_key_bytes() const override;
  [[nodiscard]] std::unique_ptr<he::KeyOwner> generate_keys(Random& random) const override;
  [[nodiscard]] std::unique_ptr<he::Multiplier> multiplier(ByteView public_key) const override;

 private:
  [[nodiscard]] std::shared_ptr<const he::Plan> do_plan(const he::ProductSpec& spec) const override;

  Options options_{};
};

}  // namespace blindfl::testing
