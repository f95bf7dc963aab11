#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "blindfl/net/channel.h"

// How B and several A's come together. An A hears B alone: so B tells each A that is here whom it still waits for, then
// that all are, or why nothing begins. With one A there is none of this.

namespace blindfl::app {

/// What B says meanwhile.
struct GatheringWord {
  enum class Kind : std::uint8_t { kWaiting = 1, kAllHere = 2, kRefused = 3 };
  Kind kind = Kind::kWaiting;
  std::vector<std::string> names{};  ///< that it waits for; or of all, in the order that they are numbered in
  std::string words{};               ///< why nothing begins; or what all know this meeting by
};

/// All have met.
struct Gathered {
  std::vector<std::string> names{};  ///< of the A's, in the order that all number them in
  std::string id{};                  ///< of this meeting, and of no other
};

void write_word(const GatheringWord& word, ByteSink& out);
/// Throws ProtocolError if it is none, or out of all proportion.
[[nodiscard]] GatheringWord read_word(ByteSource& in);

/// Says it to one A. Cost: two messages. Reveals: what it says.
void say_word(net::Channel& channel, const GatheringWord& word);
/// The next that B says.
[[nodiscard]] GatheringWord hear_word(net::Channel& channel);

/// At A: listens until all are here. Their names must be `mine`, in whatever order. `waits` is told of each change of
/// whom B waits for.
/// Throws ConfigError, with B's words, if nothing begins; ProtocolError if these are not the A's of this job.
[[nodiscard]] Gathered await_all(net::Channel& channel, const std::vector<std::string>& mine,
                                 const std::function<void(const std::vector<std::string>&)>& waits);

/// The A's that B gathers.
struct GatheredPeers {
  std::vector<std::string> names;
  std::function<void(std::size_t)> arrive;            ///< meets the i-th and agrees with it, on a thread of its own
  std::function<void(std::size_t)> give_up;           ///< ends that, from another thread
  std::function<net::Channel&(std::size_t)> channel;  ///< to the i-th, once it has arrived
  std::function<std::string()> id;                    ///< of the meeting, once all have
};

/// How long those who are here hear nothing of those who are not.
constexpr std::chrono::milliseconds kGatheringGrace{1000};

/// At B: meets all of them, at the same time, and tells each how it goes. `waits` is told of whom B waits for.
/// Throws what the first failure threw, with the name of the A; those who are here have been told before.
void gather(const GatheredPeers& peers, const std::function<void(const std::vector<std::string>&)>& waits,
            std::chrono::milliseconds grace = kGatheringGrace);

}  // namespace blindfl::app
