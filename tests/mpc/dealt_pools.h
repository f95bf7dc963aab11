#pragma once

#include <utility>

#include "blindfl/base/random.h"
#include "blindfl/mpc/cost.h"
#include "blindfl/ot/pool.h"

namespace blindfl::mpc {

/// A pair of pools from leaves that a dealer drew, instead of base OTs. Two made of the same leaves are twins: a test
/// sees in one what the protocol uses in the other.
struct DealtDirection {
  explicit DealtDirection(const ot::SecretBlocks& leaves, Party sender = Party::kA)
      : session(spec_of(sender)),
        sender(session, secret(), punctured(leaves), ot::fastest_kernels()),
        receiver(session, leaves, ot::fastest_kernels()) {}

  static ot::SecretBlocks draw_leaves() {
    Random random;
    ot::SecretBlocks leaves(32 * 16);
    random.fill(std::as_writable_bytes(std::span(leaves)));
    return leaves;
  }
  void extend_to(std::size_t count) {
    if (receiver.ready() >= count) return;
    const std::size_t tiles = ot::tiles_for(count - receiver.ready());
    sender.extend(receiver.extend(tiles), tiles);
  }

  ot::OtSession session;
  ot::RandomOtSender sender;
  ot::RandomOtReceiver receiver;

 private:
  static ot::OtSpec spec_of(Party sender) {
    ot::OtSpec spec;
    spec.sender = sender;
    return spec;
  }
  static ot::Block secret() { return {0x0123456789ABCDEF, 0xF7E6D5C4B3A29180}; }
  static ot::SecretBlocks punctured(const ot::SecretBlocks& leaves) {
    ot::SecretBlocks known(leaves.size(), ot::Block{});
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto tree = static_cast<int>(i / 16);
      std::size_t alpha = 0;
      for (int j = 0; j < 4; ++j) alpha |= static_cast<std::size_t>(secret().bit(4 * tree + j)) << j;
      if (i % 16 != 0) known[i] = leaves[i ^ alpha];
    }
    return known;
  }
};

/// Both directions: `sent` has the protocol's sender as sender.
struct DealtPools {
  DealtDirection sent{DealtDirection::draw_leaves(), Party::kA};
  DealtDirection received{DealtDirection::draw_leaves(), Party::kB};

  void extend_to(const Cost& cost) {
    sent.extend_to(cost.sender_ots);
    received.extend_to(cost.receiver_ots);
  }
  ot::RandomOtSender& sender_pool(Role role) { return role == Role::kSender ? sent.sender : received.sender; }
  ot::RandomOtReceiver& receiver_pool(Role role) { return role == Role::kSender ? received.receiver : sent.receiver; }
};

}  // namespace blindfl::mpc
