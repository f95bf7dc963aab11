#pragma once

#include <array>

#include "blindfl/net/step.h"

// What functions of shared values send. But for openings nothing is learnt: what travels is uniformly random, or
// encrypted.

namespace blindfl::mpc::steps {

inline constexpr net::StepInfo kComparison{
    50, net::Protection::kPadded, "comparison",
    "indices of tables, tables, or bits that are multiplied, each under random bits of the sender's",
    "nothing: uniformly random bits"};
inline constexpr net::StepInfo kChoices{
    51, net::Protection::kPadded, "choices",
    "the sender's shares of bits, or bits of its factors, each under a random choice",
    "nothing: uniformly random bits"};
inline constexpr net::StepInfo kSelection{
    52, net::Protection::kPadded, "selection",
    "the sender's shares of values, each under a pad that the receiver does not have or turns into its share",
    "nothing: uniformly random shares of what was selected"};
inline constexpr net::StepInfo kBitProducts{53, net::Protection::kPadded, "bit products",
                                            "the sender's shares of bits, each under a random bit of the sender's",
                                            "nothing: uniformly random bits"};
inline constexpr net::StepInfo kFunctionOperand{
    54, net::Protection::kEncrypted, "function operand",
    "phases of the sender's share, encrypted under a key that is made for this message and travels with it",
    "nothing: the shape is public"};
inline constexpr net::StepInfo kFunctionReply{
    55, net::Protection::kMasked, "function reply",
    "products of both parties' phases, masked by a fresh encryption of 0, encrypted under the operand's key",
    "nothing: a share of the functions' values"};
inline constexpr net::StepInfo kSharedOperand{56, net::Protection::kEncrypted, "shared operand",
                                              "the sender's share of a matrix, encrypted under the sender's key",
                                              "nothing: the shape is public"};
inline constexpr net::StepInfo kSharedProduct{
    57, net::Protection::kMasked, "shared product",
    "the sender's share of a matrix times the receiver's share of another, plus a mask, encrypted under the "
    "receiver's key",
    "nothing: a uniformly random share"};
inline constexpr net::StepInfo kElementOperand{
    58, net::Protection::kEncrypted, "element operand",
    "the sender's shares of two matrices, encrypted under a key that is made for this message and travels with it",
    "nothing: the shape is public"};
inline constexpr net::StepInfo kElementReply{
    59, net::Protection::kMasked, "element reply",
    "products of shares, element by element, masked by a fresh encryption of 0, encrypted under the operand's key",
    "nothing: a share of the products"};
inline constexpr net::StepInfo kSumShare{60, net::Protection::kShare, "sum share",
                                         "A's share of a sum over many rows, with noise, rounded",
                                         "the sum, with noise and rounded, to B"};
inline constexpr net::StepInfo kScoreShare{61, net::Protection::kShare, "score share", "A's share of scores, rounded",
                                           "the scores, rounded, to B"};
inline constexpr net::StepInfo kRangeShare{62, net::Protection::kShare, "range share",
                                           "the sender's share of one bit: all values are in range",
                                           "that bit, of all values together"};

inline constexpr net::StepInfo kInputDifference{
    63, net::Protection::kPadded, "input difference",
    "the sender's share of values, less its share of random numbers that nobody knows, modulo 2^32",
    "nothing: values less uniformly random numbers"};

inline constexpr std::array<net::Step, 14> kAll = {
    kComparison,    kChoices,        kSelection,    kBitProducts, kFunctionOperand, kFunctionReply, kSharedOperand,
    kSharedProduct, kElementOperand, kElementReply, kSumShare,    kScoreShare,      kRangeShare,    kInputDifference};

}  // namespace blindfl::mpc::steps
