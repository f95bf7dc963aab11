#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace blindfl::net {

/// Every kind of message there is. Numbers are part of the wire format: never reuse one.
enum class Step : std::uint16_t {
  kPublicKey = 1,
  kAgreement = 2,
  kHello = 3,
  kSettings = 4,
  kPing = 5,
  kForwardOperand = 10,
  kForwardProduct = 11,
  kOutputShare = 12,
  kDerivativeOperand = 13,
  kGradientProduct = 14,
  kTableOperand = 20,
  kLookupProduct = 21,
  kWeightOperand = 22,
  kEmbeddingProduct = 23,
  kEmbeddingOperand = 24,
  kWeightGradient = 25,
  kBackwardOperand = 26,
  kEmbeddingDerivative = 27,
  kDerivativeShare = 28,
  kTableGradient = 29,
  kIdCount = 30,
  kBlindedIds = 31,
  kDoubleBlindedIds = 32,
  kShuffledIds = 33,
  kMissingIds = 34,
  kNamedIds = 35,
  kAlignedOrder = 36,
  kKeptAlignments = 37,
  kFeatureShape = 40,
  kRunOffer = 41,
  kStopVote = 42,
};

/// What keeps a message's content from its receiver, for programs that read ledgers.
enum class Protection : std::uint8_t {
  kPublic,     ///< nothing: it holds no secret
  kEncrypted,  ///< under the sender's key: the receiver computes with it and cannot read it
  kMasked,     ///< a mask, then encryption under the receiver's key: the receiver opens a random share
  kShare,      ///< a share without encryption: on purpose, the receiver adds its own and learns the value
  kBlinded,    ///< ids as points times secret numbers: the receiver can compare some of them, and cannot read them
};

/// "public", "encrypted", "masked", "share" or "blinded".
[[nodiscard]] std::string_view name_of(Protection protection);

/// What a message of a step is, in words for ledgers, reports and reviewers.
struct StepInfo {
  Step step;
  Protection protection;
  std::string_view name;
  std::string_view contains;
  std::string_view reveals;  ///< to its receiver; nobody else can read any of it
};

/// All steps, in the order of their numbers.
[[nodiscard]] std::span<const StepInfo> all_steps();

/// Throws InvalidArgument if there is no such step.
[[nodiscard]] const StepInfo& describe(Step step);

/// The step of that name; nullptr if there is none.
[[nodiscard]] const StepInfo* find_step(std::string_view name);

/// The step's name, or "unknown" for a number that is not a step: for errors about what a peer sent.
[[nodiscard]] std::string_view name_of(Step step);

}  // namespace blindfl::net
