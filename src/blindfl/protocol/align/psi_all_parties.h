#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "blindfl/net/channel.h"
#include "blindfl/net/step.h"
#include "blindfl/protocol/align/psi_all.h"
#include "blindfl/protocol/align/zero_shares.h"

// The two sides of psi_all.h, where there are several A's.

namespace blindfl::protocol {

[[nodiscard]] Alignment align_all_at_a(Session& session, std::span<const std::string> ids, const AlignedPeers& peers,
                                       const AlignmentOptions& options);
[[nodiscard]] Alignment align_all_at_b(const Sessions& sessions, std::span<const std::string> ids,
                                       const AlignedPeers& peers, const AlignmentOptions& options);

/// A list of so many items, cut into messages; both sides know how long it is.
struct ListedItems {
  net::Step step;
  std::uint64_t item_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t per_message = 0;

  [[nodiscard]] std::uint64_t size_at(std::uint64_t begin) const { return std::min(per_message, count - begin); }
  [[nodiscard]] net::Message message_at(std::uint64_t begin) const {
    return {step, static_cast<std::uint32_t>(begin / per_message), size_at(begin) * item_bytes, size_at(begin), 1};
  }
};

/// What B and the A at that place must agree on, before anything is sent.
void agree_on_all(Session& session, std::size_t place, std::size_t count, const AlignmentOptions& options);

void send_field_elements(Session& session, const ListedItems& list, std::span<const FieldElement> elements);
/// Throws ProtocolError if what arrives is not that.
[[nodiscard]] std::vector<FieldElement> receive_field_elements(Session& session, const ListedItems& list);

/// The hidden ids of an A with so many, as they travel.
[[nodiscard]] ListedItems hidden_list(std::uint64_t ids, const AlignmentOptions& options);
[[nodiscard]] ListedItems common_list(std::uint64_t ids, const AlignmentOptions& options);
constexpr std::uint64_t kFieldElementBytes = 16;

}  // namespace blindfl::protocol
