#include "blindfl/protocol/session.h"

#include <future>

namespace blindfl::protocol {

Session::Session(Party party, net::Channel& channel, const he::Scheme& scheme, const SessionOptions& options)
    : party_(party),
      channel_(channel),
      scheme_(scheme),
      pool_(options.threads),
      key_owner_(scheme.generate_keys(random_)) {
  const net::Message message{net::Step::kPublicKey, 0, scheme.public_key_bytes()};
  Bytes theirs;
  exchange(
      message.size, [&] { channel_.send(message, key_owner_->public_key()); },
      [&] { theirs = channel_.receive(message); });
  peer_multiplier_ = scheme.multiplier(theirs);
}

void Session::exchange(std::uint64_t bytes, const std::function<void()>& send, const std::function<void()>& receive) {
  if (bytes <= channel_.send_capacity()) {
    send();
    receive();
    return;
  }
  // If receiving fails, the channel closes and ends the sending thread too, which the future's destructor waits for.
  auto sending = std::async(std::launch::async, send);
  receive();
  sending.get();
}

}  // namespace blindfl::protocol
