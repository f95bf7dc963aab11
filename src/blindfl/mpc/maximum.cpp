#include "blindfl/mpc/maximum.h"

#include "blindfl/base/error.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/selection.h"

namespace blindfl::mpc {

namespace {

PartyCost round_cost(std::size_t values, int compared_bits, int ring_bits) {
  const Cost selection =
      ring_bits <= 64 ? Multiplexer<std::uint64_t>::cost(values) : Multiplexer<UInt128>::cost(values);
  return compare_cost(values, compared_bits) + by_party(selection);
}

template <class Ring>
ShareMatrix selected_differences(Session& session, std::uint32_t layer, const BitShares& bits,
                                 const ShareMatrix& differences) {
  auto& ots = session.ots();
  Multiplexer<Ring> multiplexer(MultiplexerMaterial(differences.values().size(), false, ots.sender(), ots.receiver()));
  const SecretVector<Ring> values = ring_values<Ring>(differences);
  const SecretVector<Ring> selected = select<Ring>(session, layer, multiplexer, bits, values);
  return narrowed(ring_matrix<Ring>(selected, differences.rows(), differences.cols(), differences.scale()),
                  differences.ring_bits());
}

/// The larger of columns i and i + half, for the first half of them; an odd one is left as it is.
ShareMatrix halved(Session& session, std::uint32_t layer, const ShareMatrix& x, int bits, int dropped) {
  const std::size_t half = x.cols() / 2;
  const ShareMatrix second = select_columns(x, half, half);
  const ShareMatrix differences = select_columns(x, 0, half) - second;
  const BitShares first_is_larger = compare(session, layer, differences, bits + 1, dropped);
  const ShareMatrix larger =
      second + (x.ring_bits() <= 64 ? selected_differences<std::uint64_t>(session, layer, first_is_larger, differences)
                                    : selected_differences<UInt128>(session, layer, first_is_larger, differences));
  ShareMatrix left(x.rows(), x.cols() - half, x.scale(), x.ring_bits());
  place_columns(left, 0, larger);
  if (x.cols() % 2 != 0) place_columns(left, half, select_columns(x, 2 * half, 1));
  return left;
}

}  // namespace

PartyCost maximum_cost(std::size_t rows, std::size_t cols, int bits, int ring_bits, int dropped) {
  PartyCost cost;
  const int compared = bits + 1 - dropped;
  int rounds = 0;
  for (; cols > 1; cols -= cols / 2, ++rounds) cost = cost + round_cost(rows * (cols / 2), compared, ring_bits);
  // B begins a comparison. If it also had the last word in the one before, then its choices travelled with that, and it
  // has its result a flight before A does.
  if (rounds > 0 && compare_cost(rows, compared).flights % 2 != 0) cost.flights -= rounds - 1;
  return cost;
}

ShareMatrix maximum(Session& session, std::uint32_t layer, const ShareMatrix& x, int bits, int dropped) {
  require<InvalidArgument>((x.ring_bits() > bits && x.ring_bits() <= 64) || x.ring_bits() == 128, "maximum: of ", bits,
                           " bits, shared modulo 2^64 or less, or 2^128, not 2^", x.ring_bits());
  require<InvalidArgument>(x.rows() > 0 && x.cols() > 0, "maximum: of ", x.rows(), " x ", x.cols(), " values");
  require<InvalidArgument>(bits >= 1 && bits < 64, "maximum: values of 1 to 63 bits, not ", bits);
  require<InvalidArgument>(dropped >= 0 && dropped < bits, "maximum: ", dropped, " bits of ", bits,
                           " cannot be dropped");
  reserve(session, maximum_cost(x.rows(), x.cols(), bits, x.ring_bits(), dropped));
  ShareMatrix left = x;
  while (left.cols() > 1) left = halved(session, layer, left, bits, dropped);
  return left;
}

}  // namespace blindfl::mpc
