#include "blindfl/protocol/session/ot_pools.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/ot/setup.h"
#include "blindfl/protocol/session/crossing.h"
#include "blindfl/protocol/session/steps.h"

namespace blindfl::protocol {

namespace {

constexpr std::size_t kOtHelloBytes = ot::kSenderHelloBytes + ot::kReceiverHelloBytes;

ot::OtSpec ot_spec(const std::array<std::byte, 32>& id, Party sender) {
  return {.id = id, .sender = sender, .tree_depth = OtPools::kTreeDepth};
}

std::size_t missing_tiles(std::uint64_t wanted, std::uint64_t ready) {
  return wanted > ready ? ot::tiles_for(wanted - ready) : 0;
}

}  // namespace

OtPools::OtPools(Session& session, const std::array<std::byte, 32>& id)
    : session_(session), pools_(set_up(session, id)) {}

OtPools::Pools OtPools::set_up(Session& session, const std::array<std::byte, 32>& id) {
  Random random = session.random();
  ot::SenderSetup sending(ot_spec(id, session.party()), random);
  ot::ReceiverSetup receiving(ot_spec(id, peer_of(session.party())), random);

  Bytes hellos = sending.hello();
  const Bytes as_receiver = receiving.hello();
  hellos.insert(hellos.end(), as_receiver.begin(), as_receiver.end());
  const Bytes their_hellos = cross(session, steps::kObliviousHello, 0, hellos);
  const ByteView their_points = ByteView(their_hellos).first(ot::kSenderHelloBytes);
  const ByteView their_point = ByteView(their_hellos).subspan(ot::kSenderHelloBytes);

  auto [receiver, trees] = std::move(receiving).finish(their_points, random);
  const Bytes their_trees = cross(session, steps::kObliviousTrees, 0, trees);
  return {std::move(sending).finish(their_point, their_trees), std::move(receiver)};
}

std::uint64_t OtPools::setup_bytes() {
  return kOtHelloBytes + ot::kTreesMessageBytes;
}

std::uint64_t OtPools::tile_bytes() {
  static const std::uint64_t bytes = ot::extension_bytes(ot::OtSession({.tree_depth = kTreeDepth}), 1);
  return bytes;
}

OtCount OtPools::ready() const {
  require<InvalidArgument>(pools_.receiver.ready() >= ahead_.size() * ot::kTileOts,
                           "random OTs: more were taken than had been reserved");
  return {pools_.sender.ready() + arrived_.size() * ot::kTileOts,
          pools_.receiver.ready() - ahead_.size() * ot::kTileOts};
}

// Tile by tile, so that each can be made, and taken in, in the time between two messages.
std::vector<Bytes> OtPools::next_tiles(std::size_t tiles) {
  while (ahead_.size() < tiles) ahead_.push_back(pools_.receiver.extend(1));
  std::vector<Bytes> next;
  next.reserve(tiles);
  for (; next.size() < tiles; ahead_.pop_front()) next.push_back(std::move(ahead_.front()));
  return next;
}

void OtPools::reserve(const OtCount& count) {
  const OtCount now = ready();
  const std::size_t to_receive = missing_tiles(count.sending, now.sending);
  const std::size_t to_send = missing_tiles(count.receiving, now.receiving);
  if (to_receive + to_send == 0) return;
  session_.settle();
  const auto message = [](std::uint64_t first, std::size_t tiles) {
    return net::Message{steps::kObliviousTiles, static_cast<std::uint32_t>(first), tiles * tile_bytes()};
  };
  // Apart from what a waiting party makes meanwhile.
  const std::vector<Bytes> tiles = next_tiles(to_send);
  const auto send = [&] {
    if (to_send == 0) return;
    session_.channel().send(message(sent_tiles_, to_send), [&](ByteSink& out) {
      for (const Bytes& tile : tiles) out.write(tile);
    });
  };
  // None is taken in before the whole message is known to be intact.
  std::vector<Bytes> theirs;
  const auto receive = [&] {
    if (to_receive == 0) return;
    session_.channel().receive(message(received_tiles_, to_receive), [&](ByteSource& in) {
      while (theirs.size() < to_receive) in.read(theirs.emplace_back(tile_bytes()));
    });
  };
  session_.exchange(to_send * tile_bytes(), send, receive);
  std::ranges::move(theirs, std::back_inserter(arrived_));
  sent_tiles_ += to_send;
  received_tiles_ += to_receive;
  // A step has small reservations among large ones: what is ready for the largest is there for all.
  wanted_ahead_ = std::min(std::max(wanted_ahead_, to_send), kMostAhead);
}

void OtPools::take_in(Bytes tile) {
  try {
    pools_.sender.extend(tile, 1);
  } catch (...) {
    session_.channel().close();
    throw;
  }
}

ot::RandomOtSender& OtPools::sender() {
  while (!arrived_.empty()) {
    take_in(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  return pools_.sender;
}

bool OtPools::prepare() {
  if (!arrived_.empty()) {
    // A party that waits throws nothing: what is wrong with a tile is said when its OTs are needed.
    try {
      pools_.sender.extend(arrived_.front(), 1);
    } catch (const Error&) {
      return false;
    }
    arrived_.pop_front();
    return true;
  }
  if (ahead_.size() >= wanted_ahead_) return false;
  ahead_.push_back(pools_.receiver.extend(1));
  return true;
}

OtPools& Session::ots() {
  if (ots_) return *ots_;
  settle();
  try {
    // Numbered, for pools that were dropped must not come back.
    ots_ = std::make_unique<OtPools>(*this, coin("random OTs " + std::to_string(ot_setups_++)));
  } catch (...) {
    channel_.close();
    throw;
  }
  return *ots_;
}

void Session::drop_ots() {
  ots_.reset();
}

}  // namespace blindfl::protocol
