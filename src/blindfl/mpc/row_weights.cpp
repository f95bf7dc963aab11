#include "blindfl/mpc/row_weights.h"

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/mpc/row_factors.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

constexpr auto kFactorLimit = std::uint32_t{1} << kRowWeightBits;
static_assert(protocol::kRowWeightLimit * (1 << kRowWeightScale) == kFactorLimit);

/// A factor for each value of a matrix with so many columns.
SecretVector<std::uint32_t> factors_of(std::span<const double> weights, std::size_t cols) {
  SecretVector<std::uint32_t> factors;
  factors.reserve(weights.size() * cols);
  for (const double weight : weights) {
    require<InvalidArgument>(weight >= 0 && weight < protocol::kRowWeightLimit, "weights of rows are from 0 to below ",
                             protocol::kRowWeightLimit);
    // What would be rounded up to the limit is just below it.
    const auto rounded = static_cast<std::uint32_t>(std::lround(std::ldexp(weight, kRowWeightScale)));
    factors.insert(factors.end(), cols, std::min(rounded, kFactorLimit - 1));
  }
  return factors;
}

/// A's part of B's share: B's half of the products of A's numbers.
SecretVector<UInt128> products_at_b(Session& session, const net::Message& choices, const net::Message& products,
                                    std::span<const std::uint32_t> factors) {
  FactorReceiver receiver(factors.size(), kRowWeightBits, session.ots().receiver());
  session.channel().send(choices, receiver.choose(factors));
  return receiver.finish(session.channel().receive(products));
}

SecretVector<UInt128> products_at_a(Session& session, const net::Message& choices, const net::Message& products,
                                    std::span<const UInt128> values) {
  FactorSender sender(values.size(), kRowWeightBits, session.ots().sender());
  FactorSender::Sent sent = sender.send(session.channel().receive(choices), values);
  session.channel().send(products, sent.message);
  return std::move(sent.shares);
}

}  // namespace

PartyCost weighted_cost(std::size_t values) {
  return by_party(row_factor_cost(values, kRowWeightBits));
}

double weighted_failure(std::size_t values, double largest, int scale) {
  return static_cast<double>(values) * std::ldexp(largest, scale + kRowWeightScale - ShareMatrix::kMostRingBits);
}

ShareMatrix weighted(Session& session, std::uint32_t layer, const ShareMatrix& share, std::span<const double> weights) {
  const bool at_a = session.party() == Party::kA;
  require<InvalidArgument>(share.ring_bits() == ShareMatrix::kMostRingBits && share.rows() > 0,
                           "rows are weighted in the ring of 2^128");
  require<InvalidArgument>(weights.size() == (at_a ? 0 : share.rows()), "B has a weight for each of ", share.rows(),
                           " rows, and A none");
  const SecretVector<std::uint32_t> factors = factors_of(weights, share.cols());
  const PartyCost cost = weighted_cost(share.values().size());
  reserve(session, cost);
  const net::Message choices{steps::kChoices, layer, cost.b_bytes};
  const net::Message corrections{steps::kSelection, layer, cost.a_bytes};
  const SecretVector<UInt128> products = closing(session, [&] {
    return at_a ? products_at_a(session, choices, corrections, share.values())
                : products_at_b(session, choices, corrections, factors);
  });
  ShareMatrix finer(share.rows(), share.cols(), share.scale() + kRowWeightScale);
  for (std::size_t i = 0; i < products.size(); ++i) {
    finer.values()[i] = products[i] + (at_a ? UInt128{0} : share.values()[i] * factors[i]);
  }
  return rescale(finer, share.scale());
}

}  // namespace blindfl::mpc
