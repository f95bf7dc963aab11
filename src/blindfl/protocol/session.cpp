#include "blindfl/protocol/session.h"

#include <exception>
#include <future>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

constexpr const char* kVersion = "BlindFL protocol 1";

/// What the peer must say of itself: the same, but for the role.
std::string session_settings(Party a_or_b, const he::Scheme& scheme) {
  return std::string(kVersion) + "; " + scheme.parameters() + "; the sender is " + (a_or_b == Party::kA ? "A" : "B");
}

}  // namespace

Session::Session(Party party, net::Channel& channel, const he::Scheme& scheme, const SessionOptions& options)
    : party_(party),
      channel_(channel),
      scheme_(scheme),
      pool_(options.threads),
      key_owner_(scheme.generate_keys(random_)),
      weight_seed_(options.weight_seed ? *options.weight_seed : random_.next_u64()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  const net::Message settings{net::Step::kAgreement, next_agreement_++, kDigestBytes};
  const net::Message key{net::Step::kPublicKey, 0, scheme.public_key_bytes()};
  Bytes theirs;
  exchange(
      settings.size + key.size,
      [&] {
        channel_.send(settings, digest_of(session_settings(party, scheme)));
        channel_.send(key, key_owner_->public_key());
      },
      [&] {
        require<ConfigError>(channel_.receive(settings) == digest_of(session_settings(peer_of(party), scheme)),
                             "the parties disagree about the protocol's version, the scheme or its parameters, or both "
                             "have the same role");
        theirs = channel_.receive(key);
      });
  peer_multiplier_ = scheme.multiplier(theirs);
  // While this party waits for its peer, it prepares what its next replies need and no data tells.
  channel_.when_idle([this] { return peer_multiplier_->prepare(); });
}

Session::~Session() {
  channel_.when_idle(nullptr);
  if (std::uncaught_exceptions() > exceptions_at_start_) channel_.close();
}

SeededRandom Session::weight_random(std::uint32_t layer) const {
  // Streams of the two parties differ even under the same seed.
  const std::uint64_t role = party_ == Party::kA ? 1 : 2;
  return SeededRandom(weight_seed_, role << 32 | layer);
}

void Session::agree(const std::string& what, const std::string& text) {
  Agreement agreement{next_agreement_++, what, digest_of(what + "; " + text)};
  channel_.send({net::Step::kAgreement, agreement.number, kDigestBytes}, agreement.digest);
  unsettled_.push_back(std::move(agreement));
}

void Session::settle() {
  for (const Agreement& mine : std::exchange(unsettled_, {})) {
    const Bytes theirs = channel_.receive({net::Step::kAgreement, mine.number, kDigestBytes});
    if (theirs == mine.digest) continue;
    channel_.close();
    fail<ConfigError>("the parties disagree about ", mine.what, ": both must configure it alike");
  }
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
