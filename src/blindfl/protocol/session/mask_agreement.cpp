#include "blindfl/protocol/session/mask_agreement.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/hashed_fields.h"
#include "blindfl/protocol/session/mask_messages.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::string_view kPairKey = "blindfl key of two A's 1";
static_assert(crypto_scalarmult_BYTES == 32 && crypto_scalarmult_SCALARBYTES == 32);

/// An A's own key for one agreement.
class ExchangeKey {
 public:
  explicit ExchangeKey(Random& random) : secret_(crypto_scalarmult_SCALARBYTES) {
    static const bool started = sodium_init() >= 0;
    require<Error>(started, "libsodium cannot start on this machine");
    random.fill(secret_);
  }

  [[nodiscard]] std::array<std::byte, 32> public_key() const {
    std::array<std::byte, 32> key{};
    require<Error>(crypto_scalarmult_base(reinterpret_cast<unsigned char*>(key.data()), raw(secret_.data())) == 0,
                   "libsodium cannot multiply");
    return key;
  }

  /// Nothing if `theirs` is a point that makes no secret.
  [[nodiscard]] std::optional<OutputMasks::Key> shared_with(const std::array<std::byte, 32>& theirs) const {
    OutputMasks::Key shared(crypto_scalarmult_BYTES);
    const bool done = crypto_scalarmult(reinterpret_cast<unsigned char*>(shared.data()), raw(secret_.data()),
                                        raw(theirs.data())) == 0;
    return done ? std::optional(std::move(shared)) : std::nullopt;
  }

 private:
  static const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
  SecretVector<std::byte> secret_;
};

/// An A that believes it is alone, or a B that does, learns it in words.
void settle(Session& session) {
  session.agree("whether there are several A's", Settings().add("several A's", true));
  session.settle();
}

MaskOffer::Began began_of(const Bytes& agreement) {
  MaskOffer::Began began{};
  require<InvalidArgument>(agreement.empty() || agreement.size() == began.size(),
                           "what a run began with is what the agreement on its first masks returned");
  std::ranges::copy(agreement, began.begin());
  return began;
}

bool is_valid_now(std::string_view certificate) {
  const net::Validity valid = net::validity_of(certificate);
  const auto now = std::chrono::system_clock::now();
  return now >= valid.not_before && now <= valid.not_after;
}

/// What all parties find in the same offers, each by itself.
MaskVerdict verdict_of_offers(const std::vector<MaskOffer>& offers, const std::string& run,
                              const MaskOffer::Began& began) {
  for (std::uint32_t i = 0; i < offers.size(); ++i) {
    const auto same = [&](const MaskOffer& other) { return other.name == offers[i].name; };
    if (std::ranges::count_if(offers, same) > 1) return {Refusal::kDoubled, i};
  }
  for (std::uint32_t i = 0; i < offers.size(); ++i) {
    if (offers[i].peers != offers.size()) return {Refusal::kNumber, i};
    if (offers[i].run != run || offers[i].began != began) return {Refusal::kRun, i};
  }
  return {};
}

/// Throws what all parties throw alike if one of them refuses an A; the channels are of no more use then.
template <class Said>
void check_verdicts(const Sessions& sessions, const std::vector<Said>& all, const std::vector<MaskOffer>& offers) {
  std::vector<std::string> refused;
  for (std::size_t by = 0; by < all.size(); ++by) {
    MaskVerdict verdict;
    if constexpr (std::is_same_v<Said, MaskProof>) {
      verdict = all[by].verdict;
    } else {
      verdict = all[by];
    }
    require<ProtocolError>(verdict.whom < offers.size(), "mask verdict: that of ", quoted_name(by, offers),
                           " names A number ", verdict.whom + 1, ", and there are ", offers.size());
    if (verdict.refusal != Refusal::kNone) refused.push_back(words_of(verdict, by, offers));
  }
  if (refused.empty()) return;
  for (Session* session : sessions) session->channel().close();
  fail<ConfigError>("the A's did not agree on masks: ", listed(refused));
}

/// One A's part.
class Asking {
 public:
  Asking(Session& session, const MaskParty& me)
      : session_(session), me_(me), b_(net::fingerprint(me.b)), random_(session.random()), key_(random_) {
    mine_.peers = static_cast<std::uint32_t>(me.others.size() + 1);
    mine_.name = me.name;
    mine_.run = me.run;
    mine_.began = began_of(me.began);
    random_.fill(mine_.nonce);
    mine_.key = key_.public_key();
  }

  std::shared_ptr<OutputMasks> agree() {
    settle(session_);
    send(steps::kMaskOffer, mine_);
    offers_ = receive<MaskOffer>(steps::kMaskOffers);
    check_offers();
    digest_ = digest_of_offers(offers_);
    MaskProof proof{.verdict = verdict_of_names()};
    if (proof.verdict.refusal == Refusal::kNone) {
      check_order();
      proof.signature = me_.identity->sign(signed_message(digest_, me_.name, b_));
    }
    send(steps::kMaskProof, proof);
    const auto proofs = receive<MaskProof>(steps::kMaskProofs);
    check_count(proofs.size());
    check_verdicts(session_, proofs, offers_);
    check_own(proof.verdict);
    const MaskVerdict verdict = verdict_of_proofs(proofs);
    send(steps::kMaskVerdict, verdict);
    const auto verdicts = receive<MaskVerdict>(steps::kMaskVerdicts);
    check_count(verdicts.size());
    check_verdicts(session_, verdicts, offers_);
    check_own(verdict);
    return std::make_shared<OutputMasks>(names(), own_, std::move(keys_));
  }

  /// What the agreement is known by.
  [[nodiscard]] const Bytes& digest() const { return digest_; }

 private:
  template <class Said>
  void send(net::Step step, const Said& said) {
    session_.channel().send({step, 0, Said::kBytes}, [&](ByteSink& out) { write(said, out); });
  }
  template <class Said>
  std::vector<Said> receive(net::Step step) {
    std::vector<Said> all;
    session_.channel().receive({step, 0, kListBytes<Said>}, [&](ByteSource& in) { all = read_list<Said>(in); });
    return all;
  }

  void check_offers() {
    const auto mine = std::ranges::find(offers_, mine_);
    altered_ = mine == offers_.end();
    own_ = static_cast<std::size_t>(mine - offers_.begin());
  }
  // Everybody's, and B's.
  void check_count(std::size_t count) const {
    require<ProtocolError>(count == offers_.size() + 1, "B relays ", count, " answers of ", offers_.size(), " A's");
  }

  // Secrets with the other A's, shapes and places are told apart by their numbers.
  void check_order() const {
    require<ProtocolError>(me_.order.empty() || me_.order == names(), "B numbers the A's as ", listed(names()),
                           " where they agree on masks, and told '", me_.name, "' before that they are ",
                           listed(me_.order), ": '", me_.name, "' does not continue with a B that says both");
  }

  // A refusal that B keeps to itself is one all the same.
  void check_own(const MaskVerdict& verdict) const {
    require<ConfigError>(
        verdict.refusal == Refusal::kNone, "the A's did not agree on masks, and B did not tell: ",
        altered_ ? "this party's key message did not come back as it was sent" : words_of(verdict, own_, offers_));
  }

  [[nodiscard]] const PinnedPeer* pinned(std::size_t place) const {
    const auto found = std::ranges::find(me_.others, offers_[place].name, &PinnedPeer::name);
    return found == me_.others.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const MaskOffer& offer : offers_) names.push_back(offer.name);
    return names;
  }

  [[nodiscard]] MaskVerdict verdict_of_names() const {
    // Where another's offer came back under this A's name, there are two of them, or it was not the only one changed.
    const MaskVerdict of_all = verdict_of_offers(offers_, me_.run, mine_.began);
    if (of_all.refusal != Refusal::kNone) return of_all;
    if (altered_) {
      const auto place = std::ranges::find(offers_, me_.name, &MaskOffer::name);
      return {Refusal::kAltered, place == offers_.end() ? 0 : static_cast<std::uint32_t>(place - offers_.begin())};
    }
    for (std::uint32_t i = 0; i < offers_.size(); ++i) {
      if (i != own_ && pinned(i) == nullptr) return {Refusal::kName, i};
    }
    return {};
  }

  // Makes the keys on its way.
  [[nodiscard]] MaskVerdict verdict_of_proofs(const std::vector<MaskProof>& proofs) {
    keys_.resize(offers_.size());
    for (std::uint32_t i = 0; i < offers_.size(); ++i) {
      if (i == own_) continue;
      const std::string& certificate = pinned(i)->certificate;
      if (!net::is_signed_by(certificate, signed_message(digest_, offers_[i].name, b_), proofs[i].signature)) {
        return {Refusal::kSignature, i};
      }
      if (!is_valid_now(certificate)) return {Refusal::kExpired, i};
      const auto shared = key_.shared_with(offers_[i].key);
      if (!shared) return {Refusal::kKey, i};
      keys_[i] = pair_key(*shared, i);
    }
    return {};
  }

  [[nodiscard]] OutputMasks::Key pair_key(const OutputMasks::Key& shared, std::size_t other) const {
    const auto [low, high] = std::minmax(own_, other);
    OutputMasks::Key key(KeyStream::kKeyBytes);
    Random::derived(std::span(shared).first<KeyStream::kKeyBytes>(),
                    write_to_bytes([&, l = low, h = high](ByteSink& out) {
                      write_field(out, as_bytes(kPairKey));
                      write_field(out, digest_);
                      write_field(out, as_bytes(offers_[l].name));
                      write_field(out, as_bytes(offers_[h].name));
                    }))
        .fill(key);
    return key;
  }

  Session& session_;
  const MaskParty& me_;
  std::string b_;  ///< fingerprint
  Random random_;
  ExchangeKey key_;
  MaskOffer mine_;
  std::vector<MaskOffer> offers_;
  Bytes digest_;  ///< of the offers
  bool altered_ = false;
  std::size_t own_ = 0;
  std::vector<OutputMasks::Key> keys_;
};

void check_party(const MaskParty& me) {
  check_peer_name<InvalidArgument>(me.name, "the name of an A");
  check_peer_name<InvalidArgument>(me.run, "the name of a run");
  (void)began_of(me.began);
  require<InvalidArgument>(me.identity != nullptr, "'", me.name, "' has no identity to sign with");
  require<InvalidArgument>(!me.b.empty(), "'", me.name, "' signs for one B alone, and was not given its certificate");
  require<InvalidArgument>(me.others.size() < kMostPeers, "there are at most ", kMostPeers, " A's, not ",
                           me.others.size() + 1);
  for (const PinnedPeer& other : me.others) {
    check_peer_name<InvalidArgument>(other.name, "the name of an A");
    const auto same = [&](const PinnedPeer& one) { return one.name == other.name; };
    require<InvalidArgument>(other.name != me.name && std::ranges::count_if(me.others, same) == 1,
                             "two A's are called '", other.name, "'; give each its own name");
    require<InvalidArgument>(!net::same_certificate(other.certificate, me.identity->certificate()),
                             "the certificate of '", other.name, "' is this party's own; get that of '", other.name,
                             "'");
    require<InvalidArgument>(!net::same_certificate(other.certificate, me.b), "the certificate of '", other.name,
                             "' is B's; get that of '", other.name, "'");
    for (const PinnedPeer& one : me.others) {
      // Two names would make two honest A's of one.
      require<InvalidArgument>(&one == &other || !net::same_certificate(other.certificate, one.certificate),
                               "the certificates of '", other.name, "' and '", one.name,
                               "' are the same; get that of each from its owner");
    }
  }
}

/// What each A says.
template <class Said>
std::vector<Said> hear(const Sessions& sessions, net::Step step) {
  std::vector<Said> all;
  for (Session* session : sessions) {
    naming_peer(*session, [&] {
      session->channel().receive({step, 0, Said::kBytes}, [&](ByteSource& in) { read(all.emplace_back(), in); });
    });
  }
  return all;
}

template <class Said>
void tell(const Sessions& sessions, net::Step step, const std::vector<Said>& all) {
  for (Session* session : sessions) {
    naming_peer(*session, [&] {
      session->channel().send({step, 0, kListBytes<Said>}, [&](ByteSink& out) { write_list(all, out); });
    });
  }
}

Bytes relay(const Sessions& sessions, const std::string& run, const std::vector<std::string>& names,
            const MaskOffer::Began& began) {
  for (Session* session : sessions) naming_peer(*session, [&] { settle(*session); });
  const auto offers = hear<MaskOffer>(sessions, steps::kMaskOffer);
  MaskVerdict verdict = verdict_of_offers(offers, run, began);
  for (std::uint32_t i = 0; i < offers.size() && verdict.refusal == Refusal::kNone; ++i) {
    if (offers[i].name != names[i]) verdict = {Refusal::kName, i};
  }
  tell(sessions, steps::kMaskOffers, offers);
  auto proofs = hear<MaskProof>(sessions, steps::kMaskProof);
  proofs.push_back({.verdict = verdict});
  tell(sessions, steps::kMaskProofs, proofs);
  check_verdicts(sessions, proofs, offers);
  auto verdicts = hear<MaskVerdict>(sessions, steps::kMaskVerdict);
  verdicts.push_back({});
  tell(sessions, steps::kMaskVerdicts, verdicts);
  check_verdicts(sessions, verdicts, offers);
  return digest_of_offers(offers);
}

}  // namespace

Bytes agree_on_masks(Session& session, const MaskParty& me) {
  require<InvalidArgument>(session.party() == Party::kA, "A's agree on masks with each other; B relays what they say");
  if (me.others.empty()) return {};
  check_party(me);
  Bytes digest;
  closing_on_error(session, [&] {
    Asking asking(session, me);
    const std::shared_ptr<OutputMasks> masks = asking.agree();
    if (session.output_masks()) masks->bind_as(*session.output_masks());
    session.take_place(masks->place(), masks);
    digest = asking.digest();
  });
  return digest;
}

Bytes agree_on_masks(const Sessions& sessions, const std::string& run, const std::vector<std::string>& names,
                     const Bytes& began) {
  require<InvalidArgument>(sessions.party() == Party::kB, "B relays what A's agree on; an A names the others");
  require<InvalidArgument>(names.size() == sessions.size(), "there are ", sessions.size(), " A's and ", names.size(),
                           " names for them");
  if (!sessions.several()) return {};
  require<InvalidArgument>(names.size() <= kMostPeers, "there are at most ", kMostPeers, " A's, not ", names.size());
  check_peer_name<InvalidArgument>(run, "the name of a run");
  const MaskOffer::Began run_began = began_of(began);
  Bytes digest;
  closing_on_error(sessions, [&] { digest = relay(sessions, run, names, run_began); });
  std::size_t place = 0;
  for (Session* session : sessions) session->take_place({place++, sessions.size()}, nullptr);
  return digest;
}

}  // namespace blindfl::protocol
