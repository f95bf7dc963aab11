#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/base/party.h"
#include "blindfl/data/dataset.h"
#include "blindfl/he/schemes.h"
#include "blindfl/lab/baselines/vertical_rows.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/protocol/session/in_process.h"

// Tables in the clear as our layers take them, and two parties in this process whose initial weights are drawn from a
// seed: for experiments.

namespace blindfl::lab::baselines {

/// No fractional bits for integers, and the least power of two that no value exceeds.
[[nodiscard]] FixedPointSpec encoding_of(const std::vector<const data::Table*>& tables);

/// The shape of a numeric source layer that takes the rows of all these.
[[nodiscard]] nn::FeatureShape shape_of(const std::vector<const VerticalRows*>& all, std::size_t batch);

/// A party's rows, encoded as the layer says; at B with the labels.
[[nodiscard]] data::Dataset own_dataset(Party party, const VerticalRows& rows, const nn::FeatureShape& shape);

/// As `protocol::run_in_process`, with initial shares from a seed, over channels of the caller's.
template <class PartyFunction>
auto run_seeded(const he::Scheme& scheme, std::uint64_t seed, std::shared_ptr<net::Channel> at_a,
                std::shared_ptr<net::Channel> at_b, PartyFunction&& party) {
  const auto as = [&](Party role, const std::shared_ptr<net::Channel>& channel) {
    return [&, role] {
      protocol::Peer peer(role, channel, he::borrowed({&scheme}),
                          {.weight_seed = 2 * seed + (role == Party::kA ? 0 : 1)});
      return party(peer.session());
    };
  };
  return protocol::run_both(as(Party::kA, at_a), as(Party::kB, at_b), [&] {
    at_a->close();
    at_b->close();
  });
}
template <class PartyFunction>
auto run_seeded(const he::Scheme& scheme, std::uint64_t seed, PartyFunction&& party) {
  auto channels = net::make_memory_channels();
  return run_seeded(scheme, seed, std::move(channels.first), std::move(channels.second),
                    std::forward<PartyFunction>(party));
}

}  // namespace blindfl::lab::baselines
