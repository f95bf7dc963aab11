#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/he/registry/registry.h"
#include "blindfl/lab/secureml/dealt_triplets.h"
#include "blindfl/lab/secureml/lattice_triplets.h"
#include "blindfl/lab/secureml/measure.h"
#include "blindfl/lab/secureml/oblivious_triplets.h"
#include "blindfl/net/memory_channel.h"
#include "testing/two_parties.h"

namespace blindfl::lab::secureml {

inline constexpr std::array<Triplets, 3> kWays = {Triplets::kObliviousTransfer, Triplets::kLattice,
                                                  Triplets::kThirdParty};

inline std::string way_name(const ::testing::TestParamInfo<Triplets>& way) {
  switch (way.param) {
    case Triplets::kObliviousTransfer:
      return "ObliviousTransfer";
    case Triplets::kLattice:
      return "Lattice";
    case Triplets::kThirdParty:
      break;
  }
  return "ThirdParty";
}

/// Two parties whose triplets are made in one of the ways, with what crosses all links recorded.
class TripletParties {
 public:
  static constexpr std::uint64_t kRunValues = 1 << 20;

  explicit TripletParties(Triplets way) : way_(way), scheme_(he::make_scheme("lattice")), parties_(*scheme_) {
    if (way != Triplets::kThirdParty) return;
    for (std::size_t i = 0; i < 2; ++i) {
      auto [party, dealer] = net::make_memory_channels();
      third_party_[i] = std::make_unique<testing::Recording>(party->transport());
      ends_[i] = std::move(dealer);
      kept_[i] = std::move(party);
    }
    dealing_ = std::async(std::launch::async, [this] { deal(*ends_[0], *ends_[1], Random()); });
  }
  TripletParties(const TripletParties&) = delete;
  TripletParties& operator=(const TripletParties&) = delete;
  ~TripletParties() {
    for (const auto& link : third_party_) {
      if (link) link->channel()->close();
    }
    if (dealing_.valid()) dealing_.wait();
  }

  /// `body(session, source)` at both; returns what A and B return.
  template <class Body>
  auto run(Body&& body) {
    return parties_.run([&](protocol::Session& session) {
      auto& source = sources_[index(session.party())];
      if (!source) source = make_source(session);
      return body(session, *source);
    });
  }

  /// Payloads of a step that a party sent to the other, or that it received from the third party.
  [[nodiscard]] std::vector<Bytes> sent(Party party, net::Step step) const {
    return payloads(parties_.recording(party), net::Direction::kSent, step);
  }
  [[nodiscard]] std::vector<Bytes> dealt(Party party, net::Step step) const {
    return payloads(*third_party_[index(party)], net::Direction::kReceived, step);
  }
  [[nodiscard]] std::uint64_t sent_bytes(Party party) const {
    return net::total(parties_.recording(party).sent()).bytes;
  }
  /// What a party sent, and received from the third party: everything but what is in the messages.
  [[nodiscard]] std::vector<net::Message> headers(Party party) const {
    std::vector<net::Message> all;
    for (const auto& m : parties_.recording(party).messages()) {
      if (m.direction == net::Direction::kSent) all.push_back(m.message);
    }
    if (third_party_[index(party)]) {
      for (const auto& m : third_party_[index(party)]->messages()) all.push_back(m.message);
    }
    return all;
  }
  /// Of a third party: waits for its end.
  void finish() {
    for (const auto& source : sources_) {
      if (auto* dealt = dynamic_cast<DealtTriplets*>(source.get())) dealt->finish();
    }
    if (dealing_.valid()) dealing_.get();
  }

 private:
  static std::size_t index(Party party) { return party == Party::kA ? 0 : 1; }
  static std::vector<Bytes> payloads(const testing::Recording& recording, net::Direction direction, net::Step step) {
    std::vector<Bytes> found;
    for (const auto& m : recording.messages()) {
      if (m.direction == direction && m.message.step == step) found.push_back(m.payload);
    }
    return found;
  }
  [[nodiscard]] std::unique_ptr<TripletSource> make_source(protocol::Session& session) {
    if (way_ == Triplets::kObliviousTransfer) return std::make_unique<ObliviousTriplets>(session);
    if (way_ == Triplets::kLattice) return std::make_unique<LatticeTriplets>(session, kRunValues);
    return std::make_unique<DealtTriplets>(session.party(), *third_party_[index(session.party())]->channel());
  }

  Triplets way_;
  std::unique_ptr<he::Scheme> scheme_;
  testing::TwoParties parties_;
  std::array<std::unique_ptr<net::Channel>, 2> ends_;
  std::array<std::unique_ptr<net::Channel>, 2> kept_;
  std::array<std::unique_ptr<testing::Recording>, 2> third_party_;
  std::array<std::unique_ptr<TripletSource>, 2> sources_;
  std::future<void> dealing_;
};

/// `left right`, the slow way.
inline Words plain_product(const Words& left, const Words& right) {
  Words product(left.rows(), right.cols());
  for (std::size_t r = 0; r < left.rows(); ++r) {
    for (std::size_t c = 0; c < right.cols(); ++c) {
      for (std::size_t j = 0; j < left.cols(); ++j) product.row(r)[c] += left.row(r)[j] * right.row(j)[c];
    }
  }
  return product;
}

/// The largest difference in units, of words read as signed.
inline double largest_difference(const Words& a, const Words& b) {
  double largest = 0;
  const Words difference = a - b;
  for (const std::uint64_t v : difference.values()) {
    largest = std::max(largest, std::abs(static_cast<double>(static_cast<std::int64_t>(v))));
  }
  return largest;
}

/// Numbers between -1 and 1, the same for the same seed.
inline std::vector<double> small_numbers(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(2 * random.uniform() - 1);
  return numbers;
}

}  // namespace blindfl::lab::secureml
