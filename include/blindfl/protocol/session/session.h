#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/party.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/base/stopwatch.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/protocol/session/mask_key.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::he {
class KeyOwner;
class Multiplier;
class Scheme;
}  // namespace blindfl::he

namespace blindfl::net {
class Channel;
}

namespace blindfl::protocol {

struct OwnKeys;
using blindfl::Party;
using blindfl::peer_of;

/// One party's own choices: private, and different at the two parties.
struct SessionOptions {
  std::size_t threads = 1;  ///< for this party's own computing, the caller's thread included
  /// For the initial weights that this party draws. Never the same at both: a seed that both know tells each what the
  /// other holds. Without one: fresh randomness.
  std::optional<std::uint64_t> weight_seed = std::nullopt;
  /// What `Session::save_keys` wrote in an earlier session: these keys are used instead of fresh ones. For the state of
  /// layers whose weights are encrypted, which only they can open.
  std::shared_ptr<const SecretVector<std::byte>> saved_keys = nullptr;
  /// What the error calls the schemes' settings if they differ from the peer's: where a user set them.
  std::string scheme_settings_name = "the scheme";
};

/// What products under one scheme need.
struct SchemeKeys {
  const he::Scheme& scheme;
  std::unique_ptr<he::KeyOwner> owner;   ///< this party's own keys
  std::unique_ptr<he::Multiplier> peer;  ///< computes under the peer's public key
};

/// One party's side of a joint computation with one peer: its role, its keys, the peer's public keys, its randomness.
class Session {
 public:
  /// Makes fresh keys and exchanges public keys with the peer, who must do the same. `channel` and `scheme` must
  /// outlive the session. A session that ends by an exception closes the channel, so that the peer does not wait.
  /// Throws ProtocolError if what the peer sends is not a public key of this scheme; ConfigError, saying which, if it
  /// has another version, another scheme or the same role; DataError, before anything is sent, if saved keys are
  /// damaged or of other parameters.
  Session(Party party, net::Channel& channel, const he::Scheme& scheme, const SessionOptions& options = {})
      : Session(party, channel, std::vector<const he::Scheme*>{&scheme}, options) {}
  /// The same with several schemes, from which layers choose; the first is the default. Both parties must pass the same
  /// ones in the same order. Keys of the others are made and exchanged when they are first used.
  /// Throws InvalidArgument if there is none, or if two have the same name.
  Session(Party party, net::Channel& channel, const std::vector<const he::Scheme*>& schemes,
          const SessionOptions& options = {});

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] Party party() const { return party_; }
  [[nodiscard]] net::Channel& channel() { return channel_; }
  /// The default scheme.
  [[nodiscard]] const he::Scheme& scheme() const { return keys().scheme; }
  /// The scheme of that name; without a name, the default. Throws ConfigError, naming those there are, if there is
  /// none.
  [[nodiscard]] const he::Scheme& scheme(std::string_view name) const { return keys_[index_of(name)].scheme; }

  /// All schemes, the default first.
  [[nodiscard]] std::vector<const he::Scheme*> schemes() const;

  /// Those of the default scheme. Like all keys, they stay where they are until the session ends.
  [[nodiscard]] const SchemeKeys& keys() const { return keys_.front(); }
  /// Those of the scheme of that name; without a name, of the default. Both parties must call it at the same point: the
  /// first call for a scheme settles what was to be agreed on, makes keys and exchanges public ones.
  /// Cost: at the first call one message each way, of `Scheme::public_key_bytes()`.
  /// Throws as `scheme(name)` and `settle()` do; ProtocolError if what the peer sends is not a public key of that
  /// scheme.
  [[nodiscard]] const SchemeKeys& keys(std::string_view scheme_name);
  /// This party's own keys of the default scheme.
  [[nodiscard]] const he::KeyOwner& key_owner() const { return *keys().owner; }
  /// Computes under the peer's public key of the default scheme.
  [[nodiscard]] const he::Multiplier& peer_multiplier() const { return *keys().peer; }
  /// Writes this party's own secret keys, of all schemes whose keys it has and that can be saved
  /// (`KeyOwner::can_be_saved`): for its own files, which only it may read. The others are made afresh each time.
  void save_keys(ByteSink& out) const;
  /// How many keys that would be.
  [[nodiscard]] std::size_t keys_to_save() const;
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  /// The time that layers and openings took so far, waiting for the peer and the line included.
  [[nodiscard]] Stopwatch& protocol_time() { return protocol_time_; }

  // Masks are fresh, and while a finished model scores they may repeat: see `RepeatableScoring`.

  /// Where the masks of a product with `x` come from.
  [[nodiscard]] Random masks(const MaskedProduct& product, const IntMatrix& x);
  /// From here on, masks are those of `key`. Throws InvalidArgument if they are those of a key already.
  void repeat_masks(MaskKey key);
  /// From here on, masks are fresh.
  void fresh_masks() { mask_key_.reset(); }
  [[nodiscard]] bool repeats_masks() const { return mask_key_.has_value(); }
  /// Layers call it before a backward pass. Throws InvalidArgument, naming the layer, while masks repeat.
  void check_training(std::string_view layer_name) const;
  /// Layers call it before a forward pass. `version` counts all changes of what their masks hide. Throws
  /// InvalidArgument, naming the layer, if masks repeat and it is not the version that they were first used for.
  void check_scoring(std::uint32_t layer, std::string_view layer_name, std::uint64_t version);

  /// Randomness for the pieces of a layer that this party draws, private to it: the same at each call. From
  /// `weight_seed`, or, without one, from a key of 256 bits that this session drew.
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
  Random random_;
  ThreadPool pool_;
  Stopwatch protocol_time_;
  /// One for each scheme, in their order: references to them stay valid. Those without keys were not used yet.
  std::vector<SchemeKeys> keys_;
  /// Saved ones, of schemes that were not used yet; for each scheme, in their order.
  std::vector<std::unique_ptr<he::KeyOwner>> unused_keys_;
  std::optional<std::uint64_t> weight_seed_;
  /// What initial weights are drawn with where there is no seed.
  SecretVector<std::byte> weight_key_;
  std::uint32_t next_layer_ = 0;
  std::uint32_t next_agreement_ = 0;
  struct Agreement {
    std::uint32_t number;
    std::string what;
    Settings settings;
  };
  [[nodiscard]] std::size_t index_of(std::string_view scheme_name) const;
  [[nodiscard]] Settings scheme_settings() const;
  void open(const std::vector<const he::Scheme*>& schemes, const SessionOptions& options);
  void greet(const std::string& scheme_settings_name);
  [[nodiscard]] std::vector<OwnKeys> own_keys() const;
  void exchange_keys(std::size_t index);
  bool prepare();
  [[noreturn]] void disagree(const std::string& what, std::uint32_t number, const Settings& mine);
  std::string id_;
  std::vector<Agreement> unsettled_;
  std::size_t next_prepared_ = 0;
  std::optional<MaskKey> mask_key_;
  /// Of the weights that masks were first used for, by key and layer: for as long as the session lives.
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> scored_versions_;
  int exceptions_at_start_;
};

}  // namespace blindfl::protocol
