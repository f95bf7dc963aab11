#pragma once

#include <array>

#include "blindfl/net/step.h"

// What SecureML's parties send: all of it shares, or numbers less random ones that the receiver does not have.

namespace blindfl::lab::secureml::steps {

inline constexpr net::StepInfo kInputShare{
    80, net::Protection::kPadded, "input share",
    "the sender's features, labels or initial weights, less random numbers that it keeps, modulo 2^64",
    "nothing: uniformly random shares; the shape is public"};
inline constexpr net::StepInfo kMatrixDifference{
    81, net::Protection::kPadded, "matrix difference",
    "the sender's share of a matrix, less its share of random numbers that nobody knows, modulo 2^64",
    "nothing: the matrix less uniformly random numbers"};
inline constexpr net::StepInfo kWordChoices{82, net::Protection::kPadded, "word choices",
                                            "the sender's share of random numbers, each bit under a random choice",
                                            "nothing: uniformly random bits"};
inline constexpr net::StepInfo kWordProducts{
    83, net::Protection::kPadded, "word products",
    "the sender's share of random numbers, each under a pad that the receiver does not have or turns into its share",
    "nothing: uniformly random shares of products"};
inline constexpr net::StepInfo kTripletOperand{84, net::Protection::kEncrypted, "triplet operand",
                                               "the sender's share of random numbers, encrypted under the sender's key",
                                               "nothing: the shape is public"};
inline constexpr net::StepInfo kTripletProduct{
    85, net::Protection::kMasked, "triplet product",
    "the sender's share of random numbers times the receiver's of others, plus a mask, encrypted under the receiver's "
    "key",
    "nothing: a uniformly random share"};
inline constexpr net::StepInfo kTripletRequest{
    86, net::Protection::kPublic, "triplet request",
    "A to the third party: which random matrices it needs next, their shapes, and the numbers of a batch's rows",
    "nothing secret: the order of batches is public"};
inline constexpr net::StepInfo kDealtSeed{87, net::Protection::kPublic, "dealt seed",
                                          "the third party to each: what its shares of random matrices are grown from",
                                          "the receiver's own shares"};
inline constexpr net::StepInfo kDealtCorrection{
    88, net::Protection::kShare, "dealt correction",
    "the third party to B: the product of random matrices, less A's share of it", "B's share of the product"};

inline constexpr std::array<net::Step, 9> kAll = {kInputShare,     kMatrixDifference, kWordChoices,
                                                  kWordProducts,   kTripletOperand,   kTripletProduct,
                                                  kTripletRequest, kDealtSeed,        kDealtCorrection};

}  // namespace blindfl::lab::secureml::steps
