#pragma once

#include <array>

#include "blindfl/net/step.h"

// What source layers send: 10 to 18 for features, 19 to 29 for embeddings; under a shared top 16 and 17 for both. 72 to
// 75 are for embedding tables by oblivious transfer.

namespace blindfl::protocol::steps {

inline constexpr net::StepInfo kForwardOperand{
    10, net::Protection::kEncrypted, "forward operand",
    "the sender's share of the receiver's weights, encrypted under the sender's key", "the layer's shape"};
inline constexpr net::StepInfo kForwardProduct{
    11, net::Protection::kMasked, "forward product",
    "sender's features times receiver's matrix, plus a mask, encrypted under the receiver's key",
    "a uniformly random share"};
inline constexpr net::StepInfo kDerivativeOperand{13, net::Protection::kEncrypted, "derivative operand",
                                                  "dZ, encrypted under B's key", "the batch's shape"};
inline constexpr net::StepInfo kGradientProduct{
    14, net::Protection::kMasked, "gradient product",
    "A's features transposed times dZ, plus a mask, encrypted under B's key", "a uniformly random share"};
inline constexpr net::StepInfo kKeptProduct{
    15, net::Protection::kMasked, "kept product",
    "B's features of training rows times A's share of B's weights, plus a mask, encrypted under A's key",
    "a uniformly random share"};
inline constexpr net::StepInfo kSharedDerivative{16, net::Protection::kEncrypted, "shared derivative",
                                                 "the sender's share of dZ, encrypted under the sender's key",
                                                 "the batch's shape"};
inline constexpr net::StepInfo kSharedGradient{
    17, net::Protection::kMasked, "shared gradient",
    "the sender's features, or its share of embeddings, transposed, times the receiver's share of dZ, plus a mask, "
    "encrypted under the receiver's key",
    "a uniformly random share"};
inline constexpr net::StepInfo kPieceCorrection{
    19, net::Protection::kShare, "piece correction",
    "the sender's share of the embeddings of its fields, less pieces that it drew, modulo 2^64",
    "pieces that add up with the sender's to the embeddings, which they hide as noise of 60 bits does"};
inline constexpr net::StepInfo kTableOperand{
    20, net::Protection::kEncrypted, "table operand",
    "the sender's share of the receiver's embedding table, encrypted under the sender's key", "the table's shape"};
inline constexpr net::StepInfo kLookupProduct{
    21, net::Protection::kMasked, "lookup product",
    "the rows that the sender looks up in the receiver's share of a table, plus a mask, encrypted under the "
    "receiver's key",
    "a random share of the embeddings"};
inline constexpr net::StepInfo kWeightOperand{
    22, net::Protection::kEncrypted, "weight operand",
    "the sender's share of the weights behind embeddings, encrypted under the sender's key", "the layer's shape"};
inline constexpr net::StepInfo kEmbeddingProduct{
    23, net::Protection::kMasked, "embedding product",
    "the sender's share of the embeddings times the receiver's share of the weights, plus a mask, encrypted "
    "under the receiver's key",
    "a uniformly random share"};
inline constexpr net::StepInfo kEmbeddingOperand{24, net::Protection::kEncrypted, "embedding operand",
                                                 "A's share of the embeddings, encrypted under A's key",
                                                 "the batch's shape"};
inline constexpr net::StepInfo kWeightGradient{
    25, net::Protection::kMasked, "weight gradient",
    "dZ transposed times A's share of the embeddings, plus a mask, encrypted under A's key",
    "a uniformly random share"};
inline constexpr net::StepInfo kBackwardOperand{
    26, net::Protection::kEncrypted, "backward operand",
    "the sender's share of the weights behind embeddings, transposed, encrypted under the sender's key",
    "the layer's shape"};
inline constexpr net::StepInfo kEmbeddingDerivative{
    27, net::Protection::kMasked, "embedding derivative",
    "dZ, or the sender's share of it, times the receiver's share of the weights, transposed, plus a mask, encrypted "
    "under the receiver's key",
    "a uniformly random share of the embeddings' derivative"};
inline constexpr net::StepInfo kDerivativeShare{
    28, net::Protection::kEncrypted, "derivative share",
    "the sender's share of the derivative of the receiver's embeddings, encrypted under the sender's key",
    "the batch's shape"};
inline constexpr net::StepInfo kTableGradient{
    29, net::Protection::kMasked, "table gradient",
    "the sender's categories, transposed, times the receiver's share of the derivative, plus a mask, "
    "encrypted under the receiver's key",
    "a uniformly random share of the whole table's gradient"};

inline constexpr net::StepInfo kLookupAsk{72, net::Protection::kPadded, "lookup ask",
                                          "for each look-up of the sender's in a table by oblivious transfer, its "
                                          "choices, each under a random bit; of a large "
                                          "table, the seed, drawn by the sender, of how categories are dealt into bins",
                                          "nothing: uniformly random bits, as many whatever the categories, and a "
                                          "random seed, which categories have a say in "
                                          "with a chance below 2^-61 only"};
inline constexpr net::StepInfo kLookupKeys{
    73, net::Protection::kPadded, "lookup keys",
    "sums of the levels of random trees, under pads of which the receiver has one of each two",
    "random keys of the receiver's look-ups, but for the one place of each tree that it looks up"};
inline constexpr net::StepInfo kPaddedTable{
    74, net::Protection::kPadded, "padded table",
    "the sender's share of the receiver's embedding table, rounded, each row under a pad of these keys; in a scoring "
    "that repeats, a keyed digest of it, too",
    "a uniformly random share of the embeddings that the receiver looks up; in a scoring that repeats, whether the "
    "table is that of an earlier one"};
inline constexpr net::StepInfo kPaddedDerivative{
    75, net::Protection::kPadded, "padded derivative",
    "the sender's share of the derivative of the receiver's embeddings, each row under a pad of these keys",
    "a uniformly random share of the whole table's gradient"};

inline constexpr std::array<net::Step, 22> kOfLayers = {
    kForwardOperand,   kForwardProduct,  kDerivativeOperand, kGradientProduct,     kKeptProduct,     kSharedDerivative,
    kSharedGradient,   kPieceCorrection, kTableOperand,      kLookupProduct,       kWeightOperand,   kEmbeddingProduct,
    kEmbeddingOperand, kWeightGradient,  kBackwardOperand,   kEmbeddingDerivative, kDerivativeShare, kTableGradient,
    kLookupAsk,        kLookupKeys,      kPaddedTable,       kPaddedDerivative};

}  // namespace blindfl::protocol::steps
