#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace blindfl::net {

/// What keeps a message's content from its receiver, for programs that read ledgers.
enum class Protection : std::uint8_t {
  kPublic,     ///< nothing: it holds no secret
  kEncrypted,  ///< under the sender's key: the receiver computes with it and cannot read it
  kMasked,     ///< a mask, then encryption under the receiver's key: the receiver opens a random share
  kShare,      ///< a share without encryption: on purpose, the receiver adds its own and learns the value
  kBlinded,    ///< ids as points times secret numbers: the receiver can compare some of them, and cannot read them
  kPadded,     ///< random bits that its receiver does not know: all of it is uniform, and tells nothing by itself
};

/// "public", "encrypted", "masked", "share", "blinded" or "padded".
[[nodiscard]] std::string_view name_of(Protection protection);

/// A kind of message, in words for ledgers, reports and reviewers. Each room has a `steps.h` with constants for what it
/// sends. Numbers are part of the wire format: never reuse one.
struct StepInfo {
  constexpr StepInfo(std::uint16_t number, Protection protection, std::string_view name, std::string_view contains,
                     std::string_view reveals, bool names_session = false)
      : number(number),
        protection(protection),
        name(name),
        contains(contains),
        reveals(reveals),
        names_session(names_session) {}
  // Steps point to it.
  StepInfo(const StepInfo&) = delete;
  StepInfo& operator=(const StepInfo&) = delete;

  std::uint16_t number;
  Protection protection;
  std::string_view name;
  std::string_view contains;
  std::string_view reveals;  ///< to its receiver; nobody else can read any of it
  bool names_session;        ///< whether it holds random numbers that no two sessions have alike
};

/// A kind of message: a number, and what the room that sends it says of it. Only the number travels.
class Step {
 public:
  constexpr Step() = default;
  /// `info` must outlive this: a room's constant. Implicit: the constant is the step.
  constexpr Step(const StepInfo& info) : number_(info.number), info_(&info) {}
  Step(const StepInfo&&) = delete;
  /// As it arrives: of a number alone nobody knows whether it is a step.
  [[nodiscard]] static constexpr Step numbered(std::uint16_t number) {
    Step step;
    step.number_ = number;
    return step;
  }

  [[nodiscard]] constexpr std::uint16_t number() const { return number_; }
  /// nullptr for a number alone.
  [[nodiscard]] constexpr const StepInfo* info() const { return info_; }

  friend constexpr bool operator==(const Step& a, const Step& b) { return a.number_ == b.number_; }
  friend constexpr auto operator<=>(const Step& a, const Step& b) { return a.number_ <=> b.number_; }

 private:
  std::uint16_t number_ = 0;
  const StepInfo* info_ = nullptr;
};

/// Throws InvalidArgument for a number alone.
[[nodiscard]] const StepInfo& describe(Step step);

/// The step's name, or "unknown" for a number alone: for errors about what a peer sent.
[[nodiscard]] std::string_view name_of(Step step);

/// The steps of several rooms, for whoever has to find one by its number or name.
class StepTable {
 public:
  StepTable() = default;
  /// Throws InvalidArgument if two steps have the same number or the same name.
  StepTable(std::initializer_list<std::span<const Step>> rooms);

  /// In the order of their numbers.
  [[nodiscard]] std::span<const Step> steps() const { return steps_; }
  /// The step of that name; nullptr if there is none.
  [[nodiscard]] const StepInfo* find(std::string_view name) const;
  /// The step with its words, if it is in the table.
  [[nodiscard]] Step known(Step step) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace blindfl::net
