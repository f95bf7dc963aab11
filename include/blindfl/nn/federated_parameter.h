#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/share/share_matrix.h"

namespace blindfl::protocol {
class Session;
struct Weight;
}  // namespace blindfl::protocol

namespace blindfl::nn {

/// This party's share of a weight matrix that nobody holds whole, with its gradient.
///
/// Not a tensor, and not among `Module::parameters()`: a plain optimizer neither sees nor changes it. A handle: copies
/// stand for the same parameter.
class FederatedParameter {
 public:
  /// `session` must outlive the parameter.
  FederatedParameter(protocol::Session& session, std::shared_ptr<protocol::Weight> weight);

  [[nodiscard]] protocol::Session& session() const;
  /// The share and the public facts about the weight; the weight itself is the sum of both parties' shares.
  [[nodiscard]] const protocol::Weight& weight() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const ShareMatrix& piece() const;

  /// This party's share of the gradient, times the weight's batch size; nothing before a backward pass, or where it has
  /// no share.
  [[nodiscard]] const std::optional<ShareMatrix>& grad() const;
  /// Backward passes since `zero_grad`, at both parties alike.
  [[nodiscard]] std::size_t passes() const;

  /// Called by a backward pass at both parties, also where this one has no share. Adds up, as torch's gradients do.
  void accumulate_grad(const std::optional<ShareMatrix>& share);
  void zero_grad();

  /// Subtracts `step` from this party's share. `both_change` says, at both parties alike, whether the share that is
  /// sent encrypted changes.
  void subtract(const ShareMatrix& step, bool both_change);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The sessions that parameters belong to, each once, in the order of the parameters: one for each peer.
[[nodiscard]] std::vector<protocol::Session*> sessions_of(std::span<const FederatedParameter> parameters);

}  // namespace blindfl::nn
