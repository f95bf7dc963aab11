#pragma once

#include <array>

#include "blindfl/net/step.h"

// What sessions send, and outputs that are opened.

namespace blindfl::protocol::steps {

inline constexpr net::StepInfo kPublicKey{1, net::Protection::kPublic, "public key", "the sender's public key",
                                          "nothing"};
inline constexpr net::StepInfo kAgreement{2, net::Protection::kPublic, "agreement",
                                          "a digest of public settings that both parties must share", "nothing"};
inline constexpr net::StepInfo kHello{
    3,         net::Protection::kPublic,
    "hello",   "the sender's version, role and a random number, and a digest of scheme and parameters",
    "nothing", /*names_session=*/true};
inline constexpr net::StepInfo kSettings{4, net::Protection::kPublic, "settings",
                                         "public settings in words, sent only where the parties disagree about them",
                                         "nothing secret"};
inline constexpr net::StepInfo kScoringCoin{
    6, net::Protection::kPublic, "scoring coin",
    "the sender's part of the public randomness of keys that are the same whenever the same model scores",
    "whether the sender's key and model are those of an earlier scoring"};
inline constexpr net::StepInfo kObliviousHello{7, net::Protection::kPublic, "oblivious hello",
                                               "points of base OTs, both ways, uniformly random", "nothing"};
inline constexpr net::StepInfo kObliviousTrees{
    8, net::Protection::kPadded, "oblivious trees",
    "sums of the sender's trees of random numbers, each under a pad that the receiver has only one of two of",
    "nothing: of every tree one leaf stays unknown"};
inline constexpr net::StepInfo kObliviousTiles{
    9, net::Protection::kPadded, "oblivious tiles",
    "differences of pseudo-random streams, of each of which the receiver does not know one",
    "nothing: uniformly random bits"};
inline constexpr net::StepInfo kOutputShare{12, net::Protection::kShare, "output share", "A's share of Z, rounded",
                                            "Z, rounded, to B"};
inline constexpr net::StepInfo kLiftChoices{
    70, net::Protection::kPadded, "lift choices",
    "top bits of the sender's shares, each under a random choice of the sender's", "nothing: uniformly random bits"};
inline constexpr net::StepInfo kLiftWords{
    71, net::Protection::kPadded, "lift words",
    "top bits of the sender's shares, each under a pad that the receiver does not have or turns into its share",
    "nothing: uniformly random shares of products of two bits"};

// Where B has several A's: 100 to 106.
inline constexpr net::StepInfo kMaskOffer{
    100, net::Protection::kPublic, "mask offer",
    "an A's name, its run and what that began with, a random number and a public key, for the other A's",
    "that the sender takes part in that run"};
inline constexpr net::StepInfo kMaskOffers{101, net::Protection::kPublic, "mask offers",
                                           "those of all A's, relayed by B", "that these A's take part in that run"};
inline constexpr net::StepInfo kMaskProof{102, net::Protection::kPublic, "mask proof",
                                          "a signature of all these offers and of B's certificate by the sender's TLS "
                                          "identity, or which of them it refuses and why",
                                          "that the sender has the key of its certificate"};
inline constexpr net::StepInfo kMaskProofs{103, net::Protection::kPublic, "mask proofs",
                                           "those of all A's, relayed by B, and whether B refuses an A", "the same"};
inline constexpr net::StepInfo kMaskVerdict{104, net::Protection::kPublic, "mask verdict",
                                            "whether the sender accepts the proofs of the other A's", "that"};
inline constexpr net::StepInfo kMaskVerdicts{105, net::Protection::kPublic, "mask verdicts",
                                             "those of all A's, relayed by B", "that"};
inline constexpr net::StepInfo kMaskedOutputShare{
    106, net::Protection::kPadded, "masked output share",
    "A's share of Z, rounded, plus a random number that the other A's subtract from theirs",
    "Z, rounded, to B once it has those of all A's: the sum over them and not the part of one"};

inline constexpr std::array<net::Step, 18> kOfSession = {
    kPublicKey,      kAgreement,      kHello,       kSettings,    kScoringCoin,  kObliviousHello,
    kObliviousTrees, kObliviousTiles, kOutputShare, kLiftChoices, kLiftWords,    kMaskOffer,
    kMaskOffers,     kMaskProof,      kMaskProofs,  kMaskVerdict, kMaskVerdicts, kMaskedOutputShare};

}  // namespace blindfl::protocol::steps
