#pragma once

#include <cstdint>
#include <memory>

#include "blindfl/he/elements.h"
#include "blindfl/mpc/party_cost.h"

namespace blindfl::mpc {

/// Those of `scheme`. Throws ConfigError if it has none.
[[nodiscard]] std::shared_ptr<const he::Elements> elements_of(const he::Scheme& scheme);

/// Of one element-wise product, whose `owner` encrypts.
[[nodiscard]] PartyCost element_cost(const he::ElementPlan& plan, Party owner);

/// Element-wise products of two shared matrices between the parties of a session (he/elements.h), exact modulo
/// 2^ring_bits.
class SharedElements {
 public:
  /// The same spec and owner, who encrypts, at both parties, which compare a digest. `session` must outlive it.
  /// Throws ConfigError if the session's scheme of that name (without one, the default) has no such products;
  /// InvalidArgument as `he::Elements::plan` does.
  SharedElements(Session& session, const he::ElementSpec& spec, Party owner, std::string_view scheme = {});

  [[nodiscard]] const he::ElementPlan& plan() const { return *plan_; }
  [[nodiscard]] PartyCost cost() const { return element_cost(*plan_, owner_); }

  /// This party's share of x y at the sum of their scales, modulo 2^ring_bits; factors may be in wider rings.
  /// Cost: `cost()`, one round trip. Reveals: nothing. Wrong with a chance that `he::ElementPlan::failures_of_run`
  /// bounds. Throws InvalidArgument if a factor has another shape or a narrower ring, before anything is sent;
  /// ProtocolError if the peer's bytes are not what they must be.
  [[nodiscard]] ShareMatrix product(const ShareMatrix& x, const ShareMatrix& y);

 private:
  Session& session_;
  std::shared_ptr<const he::Elements> elements_;
  std::shared_ptr<const he::ElementPlan> plan_;
  Party owner_;
  std::uint32_t layer_;
};

}  // namespace blindfl::mpc
