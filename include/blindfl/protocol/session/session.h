#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/base/stopwatch.h"
#include "blindfl/base/thread_pool.h"
#include "blindfl/protocol/session/mask_key.h"
#include "blindfl/protocol/session/place.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::he {
class KeyOwner;
struct KeySetup;
class Multiplier;
class Scheme;
}  // namespace blindfl::he

namespace blindfl::net {
class Channel;
}

namespace blindfl::protocol {

class OtPools;
class OutputMasks;
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
  /// What errors call the peer, where B has several; empty: nothing.
  std::string peer_name{};
};

/// What products under one scheme need, and one set of its parameters.
struct SchemeKeys {
  const he::Scheme& scheme;
  std::string key_set;                   ///< one of `scheme.key_sets()`
  std::unique_ptr<he::KeyOwner> owner;   ///< this party's own keys
  std::unique_ptr<he::Multiplier> peer;  ///< computes under the peer's public key

  // Keys that were made for a RepeatableScoring, and not for the session: messages under them repeat.

  std::uint64_t scoring = 0;  ///< the session's how many-th; 0: these are the session's own keys
  Bytes own_digest{};         ///< of this party's public key; empty in the session's own
  Bytes peer_digest{};        ///< of the peer's
  [[nodiscard]] bool repeat() const { return scoring != 0; }
};

/// What a party can do while it waits for its peer.
class IdleWork {
 public:
  IdleWork() = default;
  IdleWork(const IdleWork&) = delete;
  IdleWork& operator=(const IdleWork&) = delete;
  virtual ~IdleWork() = default;
  /// Does a small piece of it. Returns false if there is nothing to do. Throws nothing.
  virtual bool prepare() = 0;
};

/// One party's side of a joint computation with one peer: its role, its keys, the peer's public keys, its randomness.
class Session {
 public:
  /// Greets the peer, who must do the same, and exchanges public keys with it if the scheme has one set of parameters;
  /// keys of schemes with several are made when they are first used. `channel` and `scheme` must outlive the session. A
  /// session that ends by an exception closes the channel, so that the peer does not wait.
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
  [[nodiscard]] const he::Scheme& scheme() const { return *schemes_.front(); }
  /// The scheme of that name; without a name, the default. Throws ConfigError, naming those there are, if there is
  /// none.
  [[nodiscard]] const he::Scheme& scheme(std::string_view name) const { return *schemes_[index_of(name)]; }

  /// All schemes, the default first.
  [[nodiscard]] const std::vector<const he::Scheme*>& schemes() const { return schemes_; }

  /// Those of the default scheme, if it has one set of parameters: they are there from the start.
  /// Throws InvalidArgument if it has several.
  [[nodiscard]] const SchemeKeys& keys() const;
  /// Those of the scheme of that name (without a name, of the default) for the plans of that set. Both parties must
  /// call it at the same point: the first call for a set settles what was to be agreed on, makes keys and exchanges
  /// public ones. Their coins are digests of both parties' hellos, scheme, set and owner: neither party chose them
  /// alone, and no other session, set or party has the same.
  ///
  /// While a RepeatableScoring lives, keys of schemes with `Scheme::repeats_messages()` are others, made for it.
  ///
  /// Where they are they stay: until the session ends, or, of those of a RepeatableScoring, until the next one begins.
  /// Cost: at the first call one message each way, of `Scheme::public_key_bytes(key_set)`; at the first of a
  /// RepeatableScoring another, of 32 bytes.
  /// Throws as `scheme(name)` and `settle()` do; InvalidArgument if the scheme has no such set; ProtocolError if what
  /// the peer sends is not a public key of that scheme, set and coin.
  [[nodiscard]] const SchemeKeys& keys(std::string_view scheme_name, std::string_view key_set = {});
  /// This party's own keys of the default scheme.
  [[nodiscard]] const he::KeyOwner& key_owner() const { return *keys().owner; }
  /// Computes under the peer's public key of the default scheme.
  [[nodiscard]] const he::Multiplier& peer_multiplier() const { return *keys().peer; }
  /// Writes this party's own secret keys, of all schemes whose keys it has and that can be saved
  /// (`KeyOwner::can_be_saved`): for its own files, which only it may read. The others are made afresh each time.
  void save_keys(ByteSink& out) const;
  /// How many keys that would be.
  [[nodiscard]] std::size_t keys_to_save() const;
  /// A generator of the caller's own, keyed from the session's: for any thread, and never the same twice.
  [[nodiscard]] Random random();
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  /// Does a small piece of the work of coming replies that needs no data, as a party that waits for its peer does
  /// anyway; never under keys of a RepeatableScoring. Returns false if there is nothing to do.
  bool prepare();
  /// From here on `prepare` does that, too, for as long as somebody else holds it. Not during an exchange.
  void when_waiting(const std::shared_ptr<IdleWork>& work);
  /// The time that layers and openings took so far, waiting for the peer and the line included.
  [[nodiscard]] Stopwatch& protocol_time() { return protocol_time_; }

  // All randomness is fresh, and while a finished model scores it may repeat: see `RepeatableScoring`.

  /// Where the masks of a product with `x` come from.
  [[nodiscard]] Random masks(const MaskedProduct& product, const IntMatrix& x);
  /// From here on, masks are those of `key`. Throws InvalidArgument if they are those of a key already.
  void repeat_masks(MaskKey key);
  /// From here on, masks are fresh.
  void fresh_masks() { mask_key_.reset(); }
  [[nodiscard]] bool repeats_masks() const { return mask_key_.has_value(); }
  /// Where the randomness of messages under `keys` comes from. Null if it is to be fresh: these are the session's own.
  /// Throws InvalidArgument if they are those of a RepeatableScoring that has ended.
  [[nodiscard]] const MaskKey* repeats(const SchemeKeys& keys) const;
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

  /// Public randomness of both parties for a purpose: a digest of it and of their hellos. No other session has the
  /// same.
  [[nodiscard]] std::array<std::byte, 32> coin(std::string_view purpose) const;
  /// The same for keys that serve for one operand: another one at each call. Both parties call it at the same points.
  [[nodiscard]] std::array<std::byte, 32> next_operand_coin();
  /// Random OTs, both ways, set up when they are first asked for: both parties ask at the same point. Never saved.
  /// Cost: see `OtPools`. Throws as `settle()` does; ProtocolError if the peer sends something else.
  [[nodiscard]] OtPools& ots();
  /// Ends them: the next that are asked for are set up anew. Where a run goes back to an earlier state, both parties
  /// call it.
  void drop_ots();

  /// What B calls this peer in errors.
  [[nodiscard]] const std::string& peer_name() const { return peer_name_; }
  /// Which of B's A's it is with. Several: outputs are opened together, under masks.
  [[nodiscard]] const Place& place() const { return place_; }
  /// At an A that is one of several: its masks. Null elsewhere.
  [[nodiscard]] const std::shared_ptr<OutputMasks>& output_masks() const { return output_masks_; }
  /// From here on it has that place, and at A these masks: `agree_on_masks` calls it.
  /// Throws InvalidArgument if there is no such place.
  void take_place(const Place& place, std::shared_ptr<OutputMasks> masks);

  /// A number for a new layer or opening: both parties create them in the same order, and so agree.
  [[nodiscard]] std::uint32_t new_layer() { return next_layer_++; }
  /// The same for what is opened under masks. All A's of a model have the same ones, which layers need not be: an A
  /// with more fields has more of these.
  [[nodiscard]] std::uint32_t new_output() { return next_output_++; }

  /// Sends `bytes` bytes through `send` and receives through `receive`: one after the other where the channel takes
  /// that much without waiting for the peer, at the same time where it does not, so that two parties cannot block each
  /// other.
  void exchange(std::uint64_t bytes, const std::function<void()>& send, const std::function<void()>& receive);

 private:
  /// A scheme and a set of its parameters, by their places in the lists.
  struct KeyName {
    std::size_t scheme = 0;
    std::size_t set = 0;
    bool operator<(const KeyName& other) const { return std::tie(scheme, set) < std::tie(other.scheme, other.set); }
  };
  struct Agreement {
    std::uint32_t number;
    std::string what;
    Settings settings;
  };
  /// What the two parties put into their coins.
  struct CoinParts {
    Bytes of_a;
    Bytes of_b;
  };
  [[nodiscard]] CoinParts parts_of_both(Bytes mine, Bytes theirs) const;
  [[nodiscard]] std::size_t index_of(std::string_view scheme_name) const;
  [[nodiscard]] KeyName name_of_keys(std::string_view scheme_name, std::string_view key_set) const;
  [[nodiscard]] Settings scheme_settings() const;
  void open(const std::vector<const he::Scheme*>& schemes, const SessionOptions& options);
  void greet(const std::string& scheme_settings_name);
  [[nodiscard]] std::vector<OwnKeys> own_keys() const;
  const SchemeKeys& make_keys(const KeyName& name);
  const SchemeKeys& make_scoring_keys(const KeyName& name);
  /// Sends the public key of `keys.owner` and makes `keys.peer` from the peer's.
  void exchange_keys(const KeyName& name, const he::KeySetup& of_peer, SchemeKeys& keys);
  [[noreturn]] void disagree(const std::string& what, std::uint32_t number, const Settings& mine);

  Party party_;
  net::Channel& channel_;
  std::mutex random_mutex_;
  Random random_;  ///< forked, and not drawn from, by whoever may not be alone
  ThreadPool pool_;
  Stopwatch protocol_time_;
  std::vector<const he::Scheme*> schemes_;
  /// The session's own keys, as far as they were used. References to them stay valid.
  std::map<KeyName, SchemeKeys> keys_;
  std::vector<const SchemeKeys*> prepared_;  ///< the same, in the order in which they were made
  /// Saved ones, of schemes that were not used yet; for each scheme, in their order.
  std::vector<std::unique_ptr<he::KeyOwner>> unused_keys_;
  std::optional<std::uint64_t> weight_seed_;
  /// What initial weights are drawn with where there is no seed.
  SecretVector<std::byte> weight_key_;
  std::uint32_t next_layer_ = 0;
  std::uint32_t next_output_ = 0;
  std::uint32_t next_agreement_ = 0;
  CoinParts nonces_;
  std::string id_;
  std::vector<Agreement> unsettled_;
  std::size_t next_prepared_ = 0;
  std::vector<std::weak_ptr<IdleWork>> idle_work_;
  std::optional<MaskKey> mask_key_;
  std::uint64_t scorings_ = 0;                  ///< how often masks began to repeat
  std::map<KeyName, SchemeKeys> scoring_keys_;  ///< of the last time
  std::optional<CoinParts> scoring_parts_;      ///< of the last time, once a coin was needed
  /// Of the weights that masks were first used for, by key and layer: for as long as the session lives.
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> scored_versions_;
  std::string peer_name_;
  Place place_;
  std::shared_ptr<OutputMasks> output_masks_;
  std::unique_ptr<OtPools> ots_;
  std::uint64_t ot_setups_ = 0;
  std::uint64_t operand_coins_ = 0;
  int exceptions_at_start_;
};

}  // namespace blindfl::protocol
