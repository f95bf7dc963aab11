#pragma once

#include "blindfl/net/step.h"

// What baselines send. Not among the steps of the program, which runs none of them: nothing here is hidden.

namespace blindfl::lab::baselines::steps {

inline constexpr net::StepInfo kBottomOutput{90, net::Protection::kPublic, "bottom output",
                                             "A's part of a split model's values, in the clear", "all of it"};
inline constexpr net::StepInfo kBottomDerivative{91, net::Protection::kPublic, "bottom derivative",
                                                 "the loss' derivatives by A's part, in the clear",
                                                 "all of it, and with it the labels"};
inline constexpr net::StepInfo kGradientShare{92, net::Protection::kShare, "gradient share",
                                              "B's share of the gradient of A's weights, without encryption",
                                              "that gradient"};

}  // namespace blindfl::lab::baselines::steps
