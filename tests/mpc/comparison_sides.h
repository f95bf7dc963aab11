#pragma once

#include "blindfl/mpc/comparison.h"
#include "mpc/dealt_pools.h"

namespace blindfl::mpc {

/// Both sides of a comparison, ready to start.
struct ComparisonSides {
  ComparisonSides(const ComparisonPlan& plan, DealtPools& pools, Random& random)
      : sender(material(plan, Role::kSender, pools, random)),
        receiver(material(plan, Role::kReceiver, pools, random)) {}

  static ComparisonMaterial material(const ComparisonPlan& plan, Role role, DealtPools& pools, Random& random) {
    if (role == Role::kSender) pools.extend_to(plan.cost());
    return {plan, role, pools.sender_pool(role), pools.receiver_pool(role), random};
  }

  Comparison sender;
  Comparison receiver;
};

}  // namespace blindfl::mpc
