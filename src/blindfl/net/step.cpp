#include "blindfl/net/step.h"

#include <algorithm>
#include <array>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

constexpr std::array kSteps = {
    StepInfo{Step::kPublicKey, Protection::kPublic, "public key", "the sender's public key", "nothing"},
    StepInfo{Step::kAgreement, Protection::kPublic, "agreement",
             "a digest of public settings that both parties must share", "nothing"},
    StepInfo{Step::kHello, Protection::kPublic, "hello",
             "the sender's version, role and a random number, and a digest of scheme and parameters", "nothing"},
    StepInfo{Step::kSettings, Protection::kPublic, "settings",
             "public settings in words, sent only where the parties disagree about them", "nothing secret"},
    StepInfo{Step::kPing, Protection::kPublic, "ping",
             "random bytes, to try the link; release, clock and measured speed", "nothing secret"},
    StepInfo{Step::kForwardOperand, Protection::kEncrypted, "forward operand",
             "the sender's share of the receiver's weights, encrypted under the sender's key", "the layer's shape"},
    StepInfo{Step::kForwardProduct, Protection::kMasked, "forward product",
             "sender's features times receiver's matrix, plus a mask, encrypted under the receiver's key",
             "a uniformly random share"},
    StepInfo{Step::kOutputShare, Protection::kShare, "output share", "A's share of Z, rounded", "Z, rounded, to B"},
    StepInfo{Step::kDerivativeOperand, Protection::kEncrypted, "derivative operand", "dZ, encrypted under B's key",
             "the batch's shape"},
    StepInfo{Step::kGradientProduct, Protection::kMasked, "gradient product",
             "A's features transposed times dZ, plus a mask, encrypted under B's key", "a uniformly random share"},
    StepInfo{Step::kTableOperand, Protection::kEncrypted, "table operand",
             "the sender's share of the receiver's embedding table, encrypted under the sender's key",
             "the table's shape"},
    StepInfo{Step::kLookupProduct, Protection::kMasked, "lookup product",
             "the rows that the sender looks up in the receiver's share of a table, plus a mask, encrypted under the "
             "receiver's key",
             "a random share of the embeddings"},
    StepInfo{Step::kWeightOperand, Protection::kEncrypted, "weight operand",
             "the sender's share of the weights behind embeddings, encrypted under the sender's key",
             "the layer's shape"},
    StepInfo{Step::kEmbeddingProduct, Protection::kMasked, "embedding product",
             "the sender's share of the embeddings times the receiver's share of the weights, plus a mask, encrypted "
             "under the receiver's key",
             "a uniformly random share"},
    StepInfo{Step::kEmbeddingOperand, Protection::kEncrypted, "embedding operand",
             "A's share of the embeddings, encrypted under A's key", "the batch's shape"},
    StepInfo{Step::kWeightGradient, Protection::kMasked, "weight gradient",
             "dZ transposed times A's share of the embeddings, plus a mask, encrypted under A's key",
             "a uniformly random share"},
    StepInfo{Step::kBackwardOperand, Protection::kEncrypted, "backward operand",
             "A's share of the weights behind embeddings, transposed, encrypted under A's key", "the layer's shape"},
    StepInfo{Step::kEmbeddingDerivative, Protection::kMasked, "embedding derivative",
             "dZ times A's share of the weights, transposed, plus a mask, encrypted under A's key",
             "a uniformly random share of the embeddings' derivative"},
    StepInfo{Step::kDerivativeShare, Protection::kEncrypted, "derivative share",
             "the sender's share of the derivative of the receiver's embeddings, encrypted under the sender's key",
             "the batch's shape"},
    StepInfo{Step::kTableGradient, Protection::kMasked, "table gradient",
             "the sender's categories, transposed, times the receiver's share of the derivative, plus a mask, "
             "encrypted under the receiver's key",
             "a uniformly random share of the whole table's gradient"},
    StepInfo{Step::kIdCount, Protection::kPublic, "id count", "how many ids the sender has", "that number"},
    StepInfo{Step::kBlindedIds, Protection::kBlinded, "blinded ids",
             "the sender's ids as points times a secret number of the sender's, shuffled", "how many there are"},
    StepInfo{Step::kDoubleBlindedIds, Protection::kBlinded, "double-blinded ids",
             "the receiver's blinded ids times secret numbers of the sender's, in the order received",
             "which of the receiver's ids the sender has too; in a union nothing"},
    StepInfo{Step::kShuffledIds, Protection::kBlinded, "shuffled ids",
             "the receiver's blinded ids times a secret number of the sender's, in another order",
             "how many ids both parties have"},
    StepInfo{Step::kMissingIds, Protection::kBlinded, "missing ids",
             "points of the receiver's ids that the sender lacks, times secret numbers of the sender's, shuffled",
             "how many there are"},
    StepInfo{Step::kNamedIds, Protection::kBlinded, "named ids",
             "the receiver's missing ids times a secret number of the sender's, in the order received",
             "the places, in the order of the union, of the ids that the receiver lacks"},
    StepInfo{Step::kAlignedOrder, Protection::kPublic, "aligned order",
             "a digest of the order that both parties ended with; of rows taken as they are, of ids and session",
             "nothing; whoever can guess all ids of the other can try it out"},
    StepInfo{Step::kKeptAlignments, Protection::kPublic, "kept alignments",
             "names of earlier alignments of the file to score that the sender has kept",
             "which earlier scorings were of the sender's same file"},
    StepInfo{Step::kFeatureShape, Protection::kPublic, "feature shape",
             "how many features the sender has, how they are encoded, and the sizes of its categorical fields",
             "these numbers"},
    StepInfo{Step::kRunOffer, Protection::kPublic, "run offer",
             "the name of the sender's run and the steps that it has checkpoints or models of", "these"},
    StepInfo{Step::kStopVote, Protection::kPublic, "stop vote",
             "whether the sender wants to stop; from B also whether validation got better, and whether training stops "
             "early",
             "that"},
};

const StepInfo* find(Step step) {
  const auto* const found = std::ranges::find(kSteps, step, &StepInfo::step);
  return found == kSteps.end() ? nullptr : found;
}

}  // namespace

std::string_view name_of(Protection protection) {
  switch (protection) {
    case Protection::kPublic:
      return "public";
    case Protection::kEncrypted:
      return "encrypted";
    case Protection::kMasked:
      return "masked";
    case Protection::kShare:
      return "share";
    case Protection::kBlinded:
      return "blinded";
  }
  fail<InvalidArgument>("there is no protection number ", static_cast<unsigned>(protection));
}

std::span<const StepInfo> all_steps() {
  return kSteps;
}

const StepInfo& describe(Step step) {
  const StepInfo* info = find(step);
  require<InvalidArgument>(info != nullptr, "there is no step number ", static_cast<unsigned>(step));
  return *info;
}

const StepInfo* find_step(std::string_view name) {
  const auto* const found = std::ranges::find(kSteps, name, &StepInfo::name);
  return found == kSteps.end() ? nullptr : found;
}

std::string_view name_of(Step step) {
  const StepInfo* info = find(step);
  return info != nullptr ? info->name : "unknown";
}

}  // namespace blindfl::net
