// What one party sends to another while the ids of B and of two A's are aligned, spoilt here and there. Input: a byte
// with the party that listens (bit 0: B; else the first A); then edits of the other's messages, from the first, each:
// the number of the message, an offset (2 bytes), a length (1 byte; 255: the message ends there), and the bytes.
// Messages that are not spoilt are right, made with fresh keys.

#include <algorithm>
#include <future>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/align/psi_all_parties.h"
#include "blindfl/protocol/align/psi_all_steps.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/session.h"
#include "input.h"
#include "testing/plain/plain_scheme.h"

namespace {

using namespace blindfl;
using protocol::Party;
using protocol::Point;
using protocol::Points;
using protocol::Session;

const protocol::AlignmentOptions kOptions{.ids_per_message = 4};
using Ids = std::vector<std::string>;
const Ids kOfFirst{"anna", "bert", "carl", "dora", "emil"};
const Ids kOfSecond{"carl", "dora", "emil", "fina"};
const Ids kOfB{"dora", "gerd", "carl", "bert", "hans"};
const std::set<std::string> kCommon{"carl", "dora"};

struct Edit {
  std::size_t message = 0;
  std::size_t offset = 0;
  std::size_t length = 0;
  ByteView bytes;
};

constexpr std::size_t kEndsThere = 255;

/// The party that sends what the input says, to one that follows the protocol.
class Spoiler {
 public:
  Spoiler(Session& session, fuzz::Input input) : session_(session) {
    while (!input.rest().empty()) {
      Edit edit{.message = input.take_byte(), .offset = input.take_u16(), .length = input.take_byte(), .bytes = {}};
      if (edit.length != kEndsThere) edit.bytes = input.take(edit.length);
      edits_.push_back(edit);
    }
  }

  void send(net::Step step, std::uint32_t number, Bytes payload) {
    const Bytes right = payload;
    for (const Edit& edit : edits_) {
      if (edit.message != sent_ || edit.offset >= payload.size()) continue;
      if (edit.length == kEndsThere) {
        payload.resize(edit.offset);
        continue;
      }
      std::ranges::copy(edit.bytes.first(std::min(edit.bytes.size(), payload.size() - edit.offset)),
                        payload.begin() + static_cast<std::ptrdiff_t>(edit.offset));
    }
    spoilt_ = spoilt_ || payload != right;
    ++sent_;
    session_.channel().send({step, number, payload.size()}, payload);
  }
  void send_number(net::Step step, std::uint64_t number) {
    send(step, 0, write_to_bytes([&](ByteSink& out) { out.write_u64(number); }));
  }
  void send_elements(net::Step step, std::span<const UInt128> elements) {
    send(step, 0, write_to_bytes([&](ByteSink& out) { out.write_u128(elements); }));
  }
  void send_points(net::Step step, std::uint32_t number, std::span<const Point> points) {
    const ByteView bytes = std::as_bytes(points);
    send(step, number, Bytes(bytes.begin(), bytes.end()));
  }
  [[nodiscard]] Bytes receive(net::Step step, std::uint32_t number, std::uint64_t size) {
    return session_.channel().receive({step, number, size});
  }
  [[nodiscard]] Points receive_points(net::Step step, std::uint32_t number, std::size_t count) {
    Points points(count);
    session_.channel().receive({step, number, 32 * count},
                               [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(points))); });
    return points;
  }
  [[nodiscard]] bool spoilt() const { return spoilt_; }

 private:
  Session& session_;
  std::vector<Edit> edits_;
  std::size_t sent_ = 0;
  bool spoilt_ = false;
};

std::vector<protocol::AlignedPeers> both_peers() {
  const protocol::PairSecret secret(protocol::kPairSecretBytes, std::byte{7});
  return {{.names = {"first", "second"}, .own = 0, .secrets = {{}, secret}},
          {.names = {"first", "second"}, .own = 1, .secrets = {secret, {}}}};
}

/// The first A, to B.
void spoil_b(Session& session, Spoiler& peer) {
  protocol::agree_on_all(session, 0, 2, kOptions);
  Random random;
  peer.send_number(protocol::steps::kIdCount, kOfFirst.size());
  (void)peer.receive(protocol::steps::kIdCount, 0, 8);
  protocol::Nonce own{};
  random.fill(own);
  peer.send(protocol::steps::kAlignmentNonces, 0, Bytes(own.begin(), own.end()));
  const Bytes received = peer.receive(protocol::steps::kAlignmentNonces, 0, 64);
  protocol::Nonces nonces(2);
  std::copy_n(received.begin(), 32, nonces[0].begin());
  std::copy_n(received.begin() + 32, 32, nonces[1].begin());
  const protocol::ZeroShares shares(both_peers()[0], nonces[0], nonces);  // if it came back spoilt, as it was sent
  protocol::StepsOfA steps(kOfFirst, random);
  steps.name_own(0, kOfFirst.size(), session.pool());
  peer.send_elements(protocol::steps::kHiddenIds, steps.hide(shares, random, session.pool())->numbers());
  const Points first = peer.receive_points(protocol::steps::kBlindedIds, 0, 4);
  const Points second = peer.receive_points(protocol::steps::kBlindedIds, 1, 1);
  peer.send_points(protocol::steps::kAnsweredIds, 0, steps.answer(first, session.pool()));
  peer.send_points(protocol::steps::kAnsweredIds, 1, steps.answer(second, session.pool()));
  const Bytes count = peer.receive(protocol::steps::kCommonCount, 0, 8);
  std::vector<protocol::PseudonymTag> tags(BufferSource(count).read_u64());
  if (!tags.empty()) {
    session.channel().receive({protocol::steps::kCommonIds, 0, 16 * tags.size()},
                              [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(tags))); });
  }
  const std::vector<std::uint32_t> rows = steps.rows_of(tags);
  std::vector<UInt128> proofs = shares.order_proofs(kOfFirst, rows);
  proofs.push_back(shares.of_order(kOfFirst, rows));
  peer.send_elements(protocol::steps::kOrderProofs, proofs);
  (void)peer.receive(protocol::steps::kOrderProofs, 0, 16);
}

/// B, to the first A.
void spoil_a(Session& session, Spoiler& peer) {
  protocol::agree_on_all(session, 0, 2, kOptions);
  Random random;
  peer.send_number(protocol::steps::kIdCount, kOfB.size());
  (void)peer.receive(protocol::steps::kIdCount, 0, 8);
  Bytes nonces = peer.receive(protocol::steps::kAlignmentNonces, 0, 32);
  nonces.resize(64);
  random.fill(std::span(nonces).subspan(32));
  peer.send(protocol::steps::kAlignmentNonces, 0, nonces);
  (void)peer.receive(protocol::steps::kHiddenIds, 0, 16 * kOfFirst.size());
  const protocol::BlindingKey key(random);
  const std::vector<std::uint32_t> rows{0, 1, 2, 3, 4};
  const Points blinded = key.multiply(protocol::hash_to_points(kOfB, rows, session.pool()), session.pool());
  peer.send_points(protocol::steps::kBlindedIds, 0, std::span(blinded).first(4));
  peer.send_points(protocol::steps::kBlindedIds, 1, std::span(blinded).last(1));
  Points answers = peer.receive_points(protocol::steps::kAnsweredIds, 0, 4);
  const Points last = peer.receive_points(protocol::steps::kAnsweredIds, 1, 1);
  answers.insert(answers.end(), last.begin(), last.end());
  // Those that could not be unblinded were not B's.
  const auto names = protocol::pseudonyms_of(key.inverse().multiply(answers, session.pool()), session.pool());
  peer.send_number(protocol::steps::kCommonCount, 2);
  Bytes tags(names[0].tag.begin(), names[0].tag.end());
  tags.insert(tags.end(), names[2].tag.begin(), names[2].tag.end());
  peer.send(protocol::steps::kCommonIds, 0, tags);
  (void)peer.receive(protocol::steps::kOrderProofs, 0, 32);
  // What the second A would say.
  protocol::Nonces of_both(2);
  std::copy_n(nonces.begin(), 32, of_both[0].begin());
  std::copy_n(nonces.begin() + 32, 32, of_both[1].begin());
  const protocol::ZeroShares of_second(both_peers()[1], of_both[1], of_both);
  peer.send_elements(protocol::steps::kOrderProofs, of_second.order_proofs(kOfB, std::vector<std::uint32_t>{0, 2}));
}

void check_rows(const protocol::Alignment& alignment, const Ids& ids, bool spoilt) {
  std::set<std::string> found;
  for (const std::uint32_t row : alignment.rows) {
    fuzz::check(row < ids.size(), "every row exists");
    fuzz::check(found.insert(ids[row]).second, "every row comes once");
  }
  fuzz::check(spoilt || found == kCommon, "right messages end with the ids of all");
}

/// Runs both sides of a link; whoever ends closes its end.
template <class Body>
void at_its_end(net::Channel& channel, const Body& body) {
  try {
    body();
  } catch (const Error&) {  // the other side will see
  }
  channel.close();
}

void listen_at_a(fuzz::Input input) {
  const testing::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  bool spoilt = false;
  auto peer = std::async(std::launch::async, [&theirs = *theirs, &scheme, &spoilt, input] {
    at_its_end(theirs, [&] {
      Session session(Party::kB, theirs, scheme);
      Spoiler spoiler(session, input);
      at_its_end(theirs, [&] { spoil_a(session, spoiler); });
      spoilt = spoiler.spoilt();
    });
  });
  std::optional<protocol::Alignment> alignment;
  try {
    Session session(Party::kA, *mine, scheme);
    alignment = protocol::align_all(session, kOfFirst, both_peers()[0], kOptions);
  } catch (const ProtocolError&) {
  } catch (const TransportError&) {  // the peer, or its script, gave up on what it had sent
  }
  mine->close();
  peer.get();
  fuzz::check(alignment || spoilt, "right messages are not refused");
  if (alignment) check_rows(*alignment, kOfFirst, spoilt);
}

void listen_at_b(fuzz::Input input) {
  const testing::PlainScheme scheme;
  const auto [first, at_first] = net::make_memory_channels();
  const auto [second, at_second] = net::make_memory_channels();
  bool spoilt = false;
  auto peer = std::async(std::launch::async, [&theirs = *at_first, &scheme, &spoilt, input] {
    at_its_end(theirs, [&] {
      Session session(Party::kA, theirs, scheme);
      Spoiler spoiler(session, input);
      at_its_end(theirs, [&] { spoil_b(session, spoiler); });
      spoilt = spoiler.spoilt();
    });
  });
  auto honest = std::async(std::launch::async, [&theirs = *at_second, &scheme] {
    at_its_end(theirs, [&] {
      Session session(Party::kA, theirs, scheme);
      (void)protocol::align_all(session, kOfSecond, both_peers()[1], kOptions);
    });
  });
  std::optional<protocol::Alignment> alignment;
  try {
    Session of_first(Party::kB, *first, scheme);
    Session of_second(Party::kB, *second, scheme);
    alignment = protocol::align_all(protocol::Sessions({&of_first, &of_second}), kOfB, {.names = {"first", "second"}},
                                    kOptions);
  } catch (const ProtocolError&) {
  } catch (const TransportError&) {
  }
  first->close();
  second->close();
  peer.get();
  honest.get();
  fuzz::check(alignment || spoilt, "right messages are not refused");
  if (alignment) check_rows(*alignment, kOfB, spoilt);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if ((input.take_byte() & 1U) != 0) {
    listen_at_b(input);
  } else {
    listen_at_a(input);
  }
  return 0;
}
