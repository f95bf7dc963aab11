#pragma once

#include <array>

#include "blindfl/net/step.h"

// What two runs tell each other.

namespace blindfl::run::steps {

inline constexpr net::StepInfo kFeatureShape{
    40, net::Protection::kPublic, "feature shape",
    "how many features the sender has, how they are encoded, and the sizes of its categorical fields", "these numbers"};
inline constexpr net::StepInfo kRunOffer{
    41, net::Protection::kPublic, "run offer",
    "the name of the sender's run and the steps that it has checkpoints or models of", "these"};
inline constexpr net::StepInfo kStopVote{
    42, net::Protection::kPublic, "stop vote",
    "whether the sender wants to stop; from B also whether validation got better, and whether training stops "
    "early",
    "that"};

inline constexpr net::StepInfo kGathering{
    43, net::Protection::kPublic, "gathering",
    "from B with several A's: whom it still waits for, that all are here and in which order, or why it will not begin",
    "that"};
inline constexpr net::StepInfo kShapeOfOther{44, net::Protection::kPublic, "feature shape of another A",
                                             "what an A said of its features, passed on by B to the other A's",
                                             "how many features that A has, and their encoding"};

inline constexpr std::array<net::Step, 5> kAll = {kFeatureShape, kRunOffer, kStopVote, kGathering, kShapeOfOther};

}  // namespace blindfl::run::steps
