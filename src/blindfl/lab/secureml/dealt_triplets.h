#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/base/random.h"
#include "blindfl/lab/secureml/triplets.h"
#include "blindfl/net/channel.h"

// Triplets of a third party, who talks to neither party about the other: SecureML's "client-aided" variant. Each party
// has a channel of its own to it, of whatever kind; in tests it is a thread, elsewhere a process.
//
//   A  --- triplet request --->  third party      a mask, a triplet, a mask less, or the end
//   A  <--- dealt seed --------  third party      32 bytes: A's shares are grown from it
//   B  <--- dealt seed --------  third party      32 others
//   B  <--- dealt correction --  third party      of a triplet: U V less A's share of it
//
// Why it is safe, as far as it is: each party has uniformly random shares of its own and nothing else. The third party
// has U, V and Z, and sees shapes and the order of rows; who has it on their side reads everything.

namespace blindfl::lab::secureml {

class DealtTriplets final : public TripletSource {
 public:
  /// `third_party` must outlive it.
  DealtTriplets(Party party, net::Channel& third_party) : party_(party), third_party_(third_party) {}

  /// Cost: 32 bytes from the third party; A's request.
  [[nodiscard]] LeftMask mask(std::size_t rows, std::size_t cols) override;
  /// Cost: 32 bytes from the third party, to B 8 for each value of Z more; A's request, with 4 for each row.
  [[nodiscard]] Triplet triplet(const TripletSpec& spec) override;
  void opened(LeftMask& mask) override { mask.forget_share(); }
  void drop(LeftMask mask) override;
  /// There will be no more: ends `deal`. Both parties call it.
  void finish();

 private:
  Party party_;
  net::Channel& third_party_;
  std::uint32_t next_mask_ = 0;
};

/// The third party's side: serves until A says that there will be no more. Throws ProtocolError, and closes both
/// channels, if A asks for what cannot be, TransportError if a party leaves before the end.
void deal(net::Channel& a, net::Channel& b, Random random);

}  // namespace blindfl::lab::secureml
