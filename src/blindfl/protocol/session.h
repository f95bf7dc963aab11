#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/he/scheme.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/settings.h"

namespace blindfl::protocol {

/// A holds features; B holds features and the labels.
enum class Party { kA, kB };

[[nodiscard]] constexpr Party peer_of(Party party) {
  return party == Party::kA ? Party::kB : Party::kA;
}

/// One party's own choices: private, and different at the two parties.
struct SessionOptions {
  std::size_t threads = 1;  ///< for this party's own computing, the caller's thread included
  /// For the initial weights that this party draws. Never the same at both: a seed that both know tells each what the
  /// other holds. Without one: fresh randomness.
  std::optional<std::uint64_t> weight_seed = std::nullopt;
};

/// One party's side of a joint computation with one peer: its role, its keys, the peer's public key, its randomness.
class Session {
 public:
  /// Makes fresh keys and exchanges public keys with the peer, who must do the same. `channel` and `scheme` must
  /// outlive the session. A session that ends by an exception closes the channel, so that the peer does not wait.
  /// Throws ProtocolError if what the peer sends is not a public key of this scheme; ConfigError, saying which, if it
  /// has another version, another scheme or the same role.
  Session(Party party, net::Channel& channel, const he::Scheme& scheme, const SessionOptions& options = {});

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] Party party() const { return party_; }
  [[nodiscard]] net::Channel& channel() { return channel_; }
  [[nodiscard]] const he::Scheme& scheme() const { return scheme_; }
  /// This party's own keys.
  [[nodiscard]] const he::KeyOwner& key_owner() const { return *key_owner_; }
  /// Computes under the peer's public key.
  [[nodiscard]] const he::Multiplier& peer_multiplier() const { return *peer_multiplier_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }

  /// Reproducible randomness for the pieces of a layer that this party draws, private to it.
  [[nodiscard]] SeededRandom weight_random(std::uint32_t layer) const;

  /// Says that both parties must have the same public settings here. Sends a digest of them at once; the peer's is
  /// compared by the next `settle()`. `what` names them in the error.
  void agree(const std::string& what, const Settings& settings);
  /// Compares all that was to be agreed on. Layers call it before they send anything that depends on it.
  /// Throws ConfigError, naming the settings that differ with both values, if the parties do not agree; at both sides.
  void settle();

  /// A number that only these two parties' session has: both drew a part of it.
  [[nodiscard]] const std::string& id() const { return id_; }

  /// A number for a new layer or opening: both parties create them in the same order, and so agree.
  [[nodiscard]] std::uint32_t new_layer() { return next_layer_++; }

  /// Sends `bytes` bytes through `send` and receives through `receive`: one after the other where the channel takes
  /// that much without waiting for the peer, at the same time where it does not, so that two parties cannot block each
  /// other.
  void exchange(std::uint64_t bytes, const std::function<void()>& send, const std::function<void()>& receive);

 private:
  Party party_;
  net::Channel& channel_;
  const he::Scheme& scheme_;
  Random random_;
  ThreadPool pool_;
  std::unique_ptr<he::KeyOwner> key_owner_;
  std::unique_ptr<he::Multiplier> peer_multiplier_;
  std::uint64_t weight_seed_;
  std::uint32_t next_layer_ = 0;
  std::uint32_t next_agreement_ = 0;
  struct Agreement {
    std::uint32_t number;
    std::string what;
    Settings settings;
  };
  void open();
  void greet();
  [[noreturn]] void disagree(const std::string& what, std::uint32_t number, const Settings& mine);
  std::string id_;
  std::vector<Agreement> unsettled_;
  int exceptions_at_start_;
};

}  // namespace blindfl::protocol
