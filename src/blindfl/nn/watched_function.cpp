#include "blindfl/nn/watched_function.h"

#include "blindfl/mpc/top_parts.h"
#include "blindfl/protocol/session/room_lift.h"

namespace blindfl::nn {

// A multiplies, and B encrypts: A's part is the larger, and B has labels to work on.
WatchedFunction::WatchedFunction(protocol::Session& session, const mpc::FunctionSpec& spec,
                                 const SharedTopOptions& options)
    : session_(session),
      layer_(session.new_layer()),
      evaluation_(session, mpc::plan_function(session.scheme(options.scheme), spec, options), protocol::Party::kB),
      arguments_(session, spec.what, evaluation_.plan().function().low(), evaluation_.plan().function().high()) {}

std::vector<ShareMatrix> WatchedFunction::evaluate(const ShareMatrix& z) {
  arguments_.see(z);
  // A linear term takes shares that add up to the value, and not only modulo a smaller power of 2.
  const bool lifts = evaluation_.plan().function().needs_wide_shares() && z.ring_bits() < ShareMatrix::kMostRingBits;
  const ShareMatrix argument = lifts ? protocol::lift_with_room(session_, layer_, narrowed(z, mpc::kValueRing)) : z;
  return evaluation_.evaluate(rescale(argument, mpc::SmoothFunction::kFractionalBits));
}

}  // namespace blindfl::nn
