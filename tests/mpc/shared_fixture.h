#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/mpc/steps.h"
#include "testing/flight_transport.h"
#include "testing/steps.h"
#include "testing/two_parties.h"

namespace blindfl::mpc {

/// Shares of A and of B.
struct SharedPair {
  ShareMatrix a;
  ShareMatrix b;

  [[nodiscard]] const ShareMatrix& of(Party party) const { return party == Party::kA ? a : b; }
  [[nodiscard]] std::vector<double> reals() const { return decode_ring(open(a, b)); }
};

inline SharedPair shared(std::size_t rows, std::size_t cols, std::span<const double> reals, int scale,
                         int ring_bits = ShareMatrix::kMostRingBits) {
  Random random;
  auto [a, b] = split(narrowed(encode_ring(rows, cols, reals, scale, 0x1p40), ring_bits), random);
  return {std::move(a), std::move(b)};
}

inline std::vector<double> normal_values(std::size_t count, double deviation, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(deviation * random.normal());
  return values;
}

inline const he::LatticeScheme& lattice() {
  static const he::LatticeScheme scheme;
  return scheme;
}

/// A and B, with what crosses between them counted.
class SharedParties {
 public:
  SharedParties() : parties_(std::vector<const he::Scheme*>{&lattice()}, testing::counted_channels(counter_)) {}

  /// `body(session)` at both; returns both shares.
  template <class Body>
  auto run(Body&& body) {
    return parties_.run(body);
  }
  template <class Body>
  SharedPair shares(Body&& body) {
    auto [a, b] = parties_.run(body);
    return {std::move(a), std::move(b)};
  }
  template <class A, class B>
  auto run(A&& at_a, B&& at_b) {
    return parties_.run(at_a, at_b);
  }

  /// What crossed since `start_counting`, by the steps of this room.
  void start_counting() {
    (void)counter_->take();
    before_ = traffic();
  }
  [[nodiscard]] PartyCost counted() {
    const PartyCost now = traffic();
    return {.a_bytes = now.a_bytes - before_.a_bytes,
            .b_bytes = now.b_bytes - before_.b_bytes,
            .flights = counter_->take()};
  }
  /// The same without its OTs, which do not travel then.
  static PartyCost on_the_wire(PartyCost cost) {
    cost.a_ots = cost.b_ots = 0;
    return cost;
  }

  [[nodiscard]] testing::TwoParties& parties() { return parties_; }
  [[nodiscard]] Session& session(Party party) { return parties_.session(party); }
  [[nodiscard]] std::vector<Bytes> payloads(Party sender, net::Step step) const {
    std::vector<Bytes> found;
    for (const auto& m : parties_.recording(sender).messages()) {
      if (m.direction == net::Direction::kSent && m.message.step == step) found.push_back(m.payload);
    }
    return found;
  }

 private:
  [[nodiscard]] PartyCost traffic() const {
    const auto of_room = [&](Party party) {
      std::uint64_t bytes = 0;
      for (const auto& [step, traffic] : parties_.recording(party).sent()) {
        if (step.number() >= steps::kComparison.number) bytes += traffic.bytes;
      }
      return bytes;
    };
    return {.a_bytes = of_room(Party::kA), .b_bytes = of_room(Party::kB)};
  }

  std::shared_ptr<testing::FlightCounter> counter_ = std::make_shared<testing::FlightCounter>();
  testing::TwoParties parties_;
  PartyCost before_;
};

}  // namespace blindfl::mpc
