#pragma once

#include <array>

#include "blindfl/net/step.h"

// What alignment sends.

namespace blindfl::protocol::steps {

inline constexpr net::StepInfo kIdCount{30, net::Protection::kPublic, "id count", "how many ids the sender has",
                                        "that number"};
inline constexpr net::StepInfo kBlindedIds{31, net::Protection::kBlinded, "blinded ids",
                                           "the sender's ids as points times a secret number of the sender's, shuffled",
                                           "how many there are"};
inline constexpr net::StepInfo kDoubleBlindedIds{
    32, net::Protection::kBlinded, "double-blinded ids",
    "the receiver's blinded ids times secret numbers of the sender's, in the order received",
    "which of the receiver's ids the sender has too; in a union nothing"};
inline constexpr net::StepInfo kShuffledIds{
    33, net::Protection::kBlinded, "shuffled ids",
    "the receiver's blinded ids times a secret number of the sender's, in another order",
    "how many ids both parties have"};
inline constexpr net::StepInfo kMissingIds{
    34, net::Protection::kBlinded, "missing ids",
    "points of the receiver's ids that the sender lacks, times secret numbers of the sender's, shuffled",
    "how many there are"};
inline constexpr net::StepInfo kNamedIds{
    35, net::Protection::kBlinded, "named ids",
    "the receiver's missing ids times a secret number of the sender's, in the order received",
    "the places, in the order of the union, of the ids that the receiver lacks"};
inline constexpr net::StepInfo kAlignedOrder{
    36, net::Protection::kPublic, "aligned order",
    "a digest of the order that both parties ended with; of rows taken as they are, of ids and session",
    "nothing; whoever can guess all ids of the other can try it out"};
inline constexpr net::StepInfo kKeptAlignments{
    37, net::Protection::kPublic, "kept alignments",
    "names of earlier alignments of the file to score that the sender has kept",
    "which earlier scorings were of the sender's same file"};

inline constexpr net::StepInfo kAlignmentNonces{110,
                                                net::Protection::kPublic,
                                                "alignment nonces",
                                                "to B, a random number of the sender's; to an A, those of all A's",
                                                "how many A's there are",
                                                true};
inline constexpr net::StepInfo kHiddenIds{
    111, net::Protection::kPadded, "hidden ids",
    "polynomials through a number for each of the sender's ids; the numbers of all A's are 0 in sum",
    "how many there are; with those of all other A's, which of the receiver's ids all have"};
inline constexpr net::StepInfo kAnsweredIds{
    112, net::Protection::kBlinded, "answered ids",
    "the receiver's blinded ids times a secret number of the sender's, in the order received",
    "where the sender's number for each of the receiver's ids is in the hidden ids, if there is one"};
inline constexpr net::StepInfo kCommonCount{113, net::Protection::kPublic, "common count",
                                            "how many ids all parties have", "that number"};
inline constexpr net::StepInfo kCommonIds{114, net::Protection::kBlinded, "common ids",
                                          "names, known to these two parties alone, of the ids that all parties have",
                                          "which of the receiver's ids all parties have, and their order"};
inline constexpr net::StepInfo kOrderProofs{115, net::Protection::kPadded, "order proofs",
                                            "digests of the order that an A ended with, under keys that pairs of A's "
                                            "have: to B, the sender's for each other A and "
                                            "one that is 0 in sum; to an A, the others' for it",
                                            "whether all A's ended with the same order"};

inline constexpr std::array<net::Step, 14> kOfAlignment = {
    kIdCount,        kBlindedIds,      kDoubleBlindedIds, kShuffledIds, kMissingIds,  kNamedIds,  kAlignedOrder,
    kKeptAlignments, kAlignmentNonces, kHiddenIds,        kAnsweredIds, kCommonCount, kCommonIds, kOrderProofs};

}  // namespace blindfl::protocol::steps
