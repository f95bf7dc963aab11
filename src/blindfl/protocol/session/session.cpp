#include "blindfl/protocol/session/session.h"

#include <algorithm>
#include <array>
#include <exception>
#include <future>
#include <string_view>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/coin.h"
#include "blindfl/protocol/session/hello_layout.h"
#include "blindfl/protocol/session/ot_pools.h"
#include "blindfl/protocol/session/saved_keys.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::size_t kIdBytes = 16;
/// Settings in words, filled up with zeros.
constexpr std::size_t kSettingsBytes = 4096;

/// The number of a public key's message is that of the scheme, plus this times that of the set.
constexpr std::size_t kMostSchemes = 256;

using Nonce = std::array<std::byte, kHelloNonceBytes>;

struct Hello {
  std::uint32_t version = kProtocolVersion;
  Party party{};
  Nonce nonce{};
  Bytes digest;
};

Bytes encode(const Hello& hello) {
  return write_to_bytes([&](ByteSink& out) {
    out.write_u32(hello.version);
    out.write_u8(static_cast<std::uint8_t>(name_of(hello.party).front()));
    out.write(hello.nonce);
    out.write(hello.digest);
  });
}

Hello decode_hello(const Bytes& bytes) {
  BufferSource in(bytes);
  Hello hello;
  hello.version = in.read_u32();
  const std::uint8_t party = in.read_u8();
  require<ProtocolError>(party == 'A' || party == 'B', "the peer's hello names no party");
  hello.party = party == 'A' ? Party::kA : Party::kB;
  in.read(hello.nonce);
  hello.digest.resize(kDigestBytes);
  in.read(hello.digest);
  return hello;
}

}  // namespace

Session::Session(Party party, net::Channel& channel, const std::vector<const he::Scheme*>& schemes,
                 const SessionOptions& options)
    : party_(party),
      channel_(channel),
      pool_(options.threads),
      weight_seed_(options.weight_seed),
      weight_key_(KeyStream::kKeyBytes),
      peer_name_(options.peer_name),
      exceptions_at_start_(std::uncaught_exceptions()) {
  random_.fill(weight_key_);
  try {
    open(schemes, options);
  } catch (...) {
    channel_.close();
    throw;
  }
  // While this party waits for its peer, it prepares what its next replies need and no data tells.
  channel_.when_idle([this] { return prepare(); });
}

void Session::open(const std::vector<const he::Scheme*>& schemes, const SessionOptions& options) {
  require<InvalidArgument>(!schemes.empty(), "a session needs at least one scheme");
  require<InvalidArgument>(schemes.size() <= kMostSchemes, "a session takes at most ", kMostSchemes, " schemes");
  for (const he::Scheme* scheme : schemes) {
    require<InvalidArgument>(scheme != nullptr, "a session's scheme is missing: a null pointer was passed");
    for (const he::Scheme* other : schemes_) {
      require<InvalidArgument>(other->name() != scheme->name(), "a session takes one scheme of each name, and '",
                               scheme->name(), "' was passed twice: layers choose by name");
    }
    schemes_.push_back(scheme);
  }
  unused_keys_.resize(schemes.size());
  if (options.saved_keys) unused_keys_ = read_keys(*options.saved_keys, schemes);
  greet(options.scheme_settings_name);
  if (schemes_.front()->key_sets() == std::vector<std::string>{std::string()}) make_keys({});
}

// The default scheme's names are those of a session with one scheme; others carry their index.
Settings Session::scheme_settings() const {
  Settings settings;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    std::string index;
    if (i > 0) index.append(" ").append(std::to_string(i));
    settings.add("scheme" + index, schemes_[i]->name()).add("parameters" + index, schemes_[i]->parameters());
  }
  return settings;
}

std::size_t Session::index_of(std::string_view scheme_name) const {
  if (scheme_name.empty()) return 0;
  std::string names;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    const std::string_view name = schemes_[i]->name();
    if (name == scheme_name) return i;
    names.append(names.empty() ? "" : ", ").append(name);
  }
  fail<ConfigError>("this session has no scheme '", printable(scheme_name), "', only: ", names,
                    ". Both parties must pass a scheme to the session before a layer can choose it");
}

Session::KeyName Session::name_of_keys(std::string_view scheme_name, std::string_view key_set) const {
  const std::size_t scheme = index_of(scheme_name);
  const std::vector<std::string> sets = schemes_[scheme]->key_sets();
  const auto found = std::ranges::find(sets, key_set);
  require<InvalidArgument>(found != sets.end(), "the scheme '", schemes_[scheme]->name(), "' has no set of keys '",
                           printable(key_set), "'");
  return {scheme, static_cast<std::size_t>(found - sets.begin())};
}

const SchemeKeys& Session::keys() const {
  const auto found = keys_.find({});
  require<InvalidArgument>(found != keys_.end() && found->second.key_set.empty(), "the scheme '", scheme().name(),
                           "' has several sets of keys: ask for those of a plan");
  return found->second;
}

const SchemeKeys& Session::keys(std::string_view scheme_name, std::string_view key_set) {
  const KeyName name = name_of_keys(scheme_name, key_set);
  const bool scoring = mask_key_ && schemes_[name.scheme]->repeats_messages();
  const std::map<KeyName, SchemeKeys>& all = scoring ? scoring_keys_ : keys_;
  if (const auto found = all.find(name); found != all.end()) return found->second;
  settle();
  try {
    return scoring ? make_scoring_keys(name) : make_keys(name);
  } catch (...) {
    channel_.close();
    throw;
  }
}

Session::CoinParts Session::parts_of_both(Bytes mine, Bytes theirs) const {
  return party_ == Party::kA ? CoinParts{std::move(mine), std::move(theirs)}
                             : CoinParts{std::move(theirs), std::move(mine)};
}

const SchemeKeys& Session::make_keys(const KeyName& name) {
  const he::Scheme& scheme = *schemes_[name.scheme];
  const std::string set = scheme.key_sets()[name.set];
  const auto setup = [&](Party owner) {
    return he::KeySetup{set, coin_of(CoinUse::kSession, nonces_.of_a, nonces_.of_b, owner, scheme, set)};
  };
  SchemeKeys keys{scheme, set, nullptr, nullptr};
  if (set.empty() && unused_keys_[name.scheme]) {
    keys.owner = std::move(unused_keys_[name.scheme]);
  } else {
    Random fresh = random();
    keys.owner = scheme.generate_keys(setup(party_), fresh);
  }
  exchange_keys(name, setup(peer_of(party_)), keys);
  const SchemeKeys& made = keys_.emplace(name, std::move(keys)).first->second;
  prepared_.push_back(&made);
  return made;
}

// Nothing is ever prepared under these: all that a message is made from must come from where it repeats.
const SchemeKeys& Session::make_scoring_keys(const KeyName& name) {
  const he::Scheme& scheme = *schemes_[name.scheme];
  if (!scoring_parts_) {
    const net::Message message{steps::kScoringCoin, 0, kDigestBytes};
    Bytes mine = mask_key_->coin_part();
    Bytes theirs;
    exchange(
        message.size, [&] { channel_.send(message, mine); }, [&] { theirs = channel_.receive(message); });
    scoring_parts_ = parts_of_both(std::move(mine), std::move(theirs));
  }
  const std::string set = scheme.key_sets()[name.set];
  const auto setup = [&](Party owner) {
    return he::KeySetup{set,
                        coin_of(CoinUse::kScoring, scoring_parts_->of_a, scoring_parts_->of_b, owner, scheme, set)};
  };
  SchemeKeys keys{scheme, set, nullptr, nullptr, scorings_};
  const he::KeySetup mine = setup(party_);
  Random repeated = mask_key_->randomness({party_, std::string(scheme.name()), scheme.parameters(), mine});
  keys.owner = scheme.generate_keys(mine, repeated);
  exchange_keys(name, setup(peer_of(party_)), keys);
  return scoring_keys_.emplace(name, std::move(keys)).first->second;
}

void Session::exchange_keys(const KeyName& name, const he::KeySetup& of_peer, SchemeKeys& keys) {
  const net::Message message{steps::kPublicKey, static_cast<std::uint32_t>(name.scheme + name.set * kMostSchemes),
                             keys.scheme.public_key_bytes(keys.key_set)};
  const Bytes mine = keys.owner->public_key();
  Bytes theirs;
  exchange(
      message.size, [&] { channel_.send(message, mine); }, [&] { theirs = channel_.receive(message); });
  keys.peer = keys.scheme.multiplier(of_peer, theirs);
  if (!keys.repeat()) return;
  keys.own_digest = digest_of(mine);
  keys.peer_digest = digest_of(theirs);
}

std::vector<OwnKeys> Session::own_keys() const {
  std::vector<OwnKeys> all;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    const auto used = keys_.find({i, 0});
    const bool unnamed = used != keys_.end() && used->second.key_set.empty();
    const he::KeyOwner* own = unnamed ? used->second.owner.get() : unused_keys_[i].get();
    if (own != nullptr && own->can_be_saved()) all.push_back({schemes_[i], own});
  }
  return all;
}

void Session::save_keys(ByteSink& out) const {
  write_keys(out, own_keys());
}

std::size_t Session::keys_to_save() const {
  return own_keys().size();
}

// A piece of work under one key at a time, so that none of them starves.
bool Session::prepare() {
  if (ots_ && ots_->prepare()) return true;
  for (const std::weak_ptr<IdleWork>& work : idle_work_) {
    if (const std::shared_ptr<IdleWork> held = work.lock(); held && held->prepare()) return true;
  }
  for (std::size_t i = 0; i < prepared_.size(); ++i) {
    const SchemeKeys& keys = *prepared_[next_prepared_++ % prepared_.size()];
    if (keys.owner->prepare() || keys.peer->prepare()) return true;
  }
  return false;
}

void Session::when_waiting(const std::shared_ptr<IdleWork>& work) {
  std::erase_if(idle_work_, [](const std::weak_ptr<IdleWork>& one) { return one.expired(); });
  idle_work_.push_back(work);
}

// Each checks what the other says of itself, so a mismatch stops both at once.
void Session::greet(const std::string& scheme_settings_name) {
  Hello mine{kProtocolVersion, party_, {}, scheme_settings().digest()};
  random_.fill(mine.nonce);
  const net::Message message{steps::kHello, 0, kHelloBytes};
  Hello theirs;
  exchange(
      message.size, [&] { channel_.send(message, encode(mine)); },
      [&] { theirs = decode_hello(channel_.receive(message)); });

  require<ConfigError>(theirs.version == kProtocolVersion, "the peer speaks version ", theirs.version,
                       " of the protocol, this side version ", kProtocolVersion,
                       ": both must run the same release of BlindFL");
  require<ConfigError>(theirs.party != party_, "both parties call themselves ", name_of(party_),
                       ": the one with the labels is B, the other A");
  require<ProtocolError>(theirs.nonce != mine.nonce, "the peer's hello is this side's own, sent back");
  if (theirs.digest != mine.digest) disagree(scheme_settings_name, next_agreement_, scheme_settings());

  nonces_ = parts_of_both({mine.nonce.begin(), mine.nonce.end()}, {theirs.nonce.begin(), theirs.nonce.end()});
  Bytes both = nonces_.of_a;
  both.insert(both.end(), nonces_.of_b.begin(), nonces_.of_b.end());
  const Bytes digest = digest_of(both);
  id_ = to_hex(ByteView(digest).first(kIdBytes));
}

// The digests differed, and both parties know it: now the words, so that both can say what it is.
void Session::disagree(const std::string& what, std::uint32_t number, const Settings& mine) {
  const net::Message message{steps::kSettings, number, kSettingsBytes};
  const std::string text = mine.text();
  Bytes block(kSettingsBytes);
  const auto words = as_bytes(std::string_view(text).substr(0, kSettingsBytes));
  std::copy(words.begin(), words.end(), block.begin());
  Bytes theirs;
  exchange(
      message.size, [&] { channel_.send(message, block); }, [&] { theirs = channel_.receive(message); });
  channel_.close();
  std::string_view their_text(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  their_text = their_text.substr(0, their_text.find('\0'));
  const std::string differences = Settings::differences(
      Settings::parse(std::string_view(text).substr(0, kSettingsBytes)), Settings::parse(their_text));
  fail<ConfigError>("the parties disagree about ", what, ": ",
                    differences.empty() ? "the peer's settings have another digest than its words" : differences,
                    ". Both must configure it alike");
}

Session::~Session() {
  channel_.when_idle(nullptr);
  if (std::uncaught_exceptions() > exceptions_at_start_) channel_.close();
}

void Session::take_place(const Place& place, std::shared_ptr<OutputMasks> masks) {
  require<InvalidArgument>(place.index < place.of && place.of <= kMostPeers, "there is no place ", place.index,
                           " among ", place.of, " A's");
  require<InvalidArgument>((masks != nullptr) == (party_ == Party::kA && place.several()),
                           "an A that is one of several has masks, and nobody else");
  place_ = place;
  output_masks_ = std::move(masks);
}

SeededRandom Session::weight_random(std::uint32_t layer) const {
  // Streams of the two parties differ even under the same seed.
  const std::uint64_t role = party_ == Party::kA ? 1 : 2;
  const std::uint64_t purpose = role << 32 | layer;
  if (weight_seed_) return SeededRandom(*weight_seed_, purpose);
  return {std::span<const std::byte, KeyStream::kKeyBytes>(weight_key_), purpose};
}

Random Session::random() {
  const std::scoped_lock lock(random_mutex_);
  return random_.fork();
}

Random Session::masks(const MaskedProduct& product, const IntMatrix& x) {
  return mask_key_ ? mask_key_->masks(product, x) : random();
}

void Session::repeat_masks(MaskKey key) {
  if (mask_key_) {
    fail<InvalidArgument>("masks of this session repeat already, for model '", printable(mask_key_->model()),
                          "': end that RepeatableScoring first");
  }
  mask_key_ = std::move(key);
  ++scorings_;
  scoring_keys_.clear();
  scoring_parts_.reset();
}

const MaskKey* Session::repeats(const SchemeKeys& keys) const {
  if (!keys.repeat()) {
    require<InvalidArgument>(!mask_key_ || !keys.scheme.repeats_messages(),
                             "these keys are the session's own, and messages of the scheme '", keys.scheme.name(),
                             "' repeat: ask for keys after RepeatableScoring began");
    return nullptr;
  }
  require<InvalidArgument>(mask_key_ && keys.scoring == scorings_,
                           "these keys are those of a RepeatableScoring that has ended");
  return &*mask_key_;
}

void Session::check_training(std::string_view layer_name) const {
  require<InvalidArgument>(!mask_key_, "layer '", layer_name,
                           "': masks repeat, which is for scoring only. End RepeatableScoring before training");
}

// Other weights under the same mask: the peer would see the difference of two products.
void Session::check_scoring(std::uint32_t layer, std::string_view layer_name, std::uint64_t version) {
  if (!mask_key_) return;
  const auto [known, first] = scored_versions_.try_emplace({mask_key_->fingerprint(), layer}, version);
  require<InvalidArgument>(first || known->second == version, "layer '", layer_name,
                           "': its weights changed since masks were used for model '", printable(mask_key_->model()),
                           "'. Score with a MaskKey of another model name");
}

void Session::agree(const std::string& what, const Settings& settings) {
  Agreement agreement{next_agreement_++, what, Settings().add("what", what).add(settings)};
  channel_.send({steps::kAgreement, agreement.number, kDigestBytes}, agreement.settings.digest());
  unsettled_.push_back(std::move(agreement));
}

void Session::settle() {
  const std::vector<Agreement> all = std::exchange(unsettled_, {});
  const Agreement* different = nullptr;
  for (const Agreement& mine : all) {
    const Bytes theirs = channel_.receive({steps::kAgreement, mine.number, kDigestBytes});
    if (theirs != mine.settings.digest() && different == nullptr) different = &mine;
  }
  if (different != nullptr) disagree(different->what, different->number, different->settings);
}

void Session::exchange(std::uint64_t bytes, const std::function<void()>& send, const std::function<void()>& receive) {
  // Frames, and what an earlier message may have left under way, need room too.
  constexpr std::uint64_t kRoom = 4096;
  if (bytes <= channel_.send_capacity() / 2 && channel_.send_capacity() >= kRoom) {
    send();
    receive();
    return;
  }
  auto sending = std::async(std::launch::async, send);
  std::exception_ptr failed;
  try {
    receive();
  } catch (const TransportError&) {
    // Perhaps only because sending failed and closed the channel: then that is the cause to tell.
    failed = std::current_exception();
  }
  // If receiving fails in another way, the channel is closed and ends the sending thread, which the future waits for.
  sending.get();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace blindfl::protocol
