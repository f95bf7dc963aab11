#include "blindfl/mpc/right_rows.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/mpc/bit_to_ring.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/row_factors.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

constexpr int kChoiceBits = 1;

/// 1 for each row's own class, else 0; nothing without classes.
SecretVector<std::uint32_t> choices_of(std::span<const double> classes, std::size_t cols) {
  SecretVector<std::uint32_t> choices(classes.size() * cols);
  for (std::size_t r = 0; r < classes.size(); ++r) {
    require<InvalidArgument>(classes[r] >= 0 && classes[r] < static_cast<double>(cols), "class of row ", r,
                             ": rows are of one of ", cols, " classes");
    choices[r * cols + static_cast<std::size_t>(classes[r])] = 1;
  }
  return choices;
}

/// B's message, then A's: both sides of what is made of correlated OTs in one direction.
struct OneWay {
  Session& session;
  net::Message choices;
  net::Message corrections;

  OneWay(Session& s, std::uint32_t layer, const PartyCost& cost)
      : session(s),
        choices{steps::kChoices, layer, cost.b_bytes},
        corrections{steps::kSelection, layer, cost.a_bytes} {}

  template <class Sender>
  [[nodiscard]] auto at_a(Sender&& answer) {
    auto sent = answer(session.channel().receive(choices));
    session.channel().send(corrections, sent.message);
    return std::move(sent.shares);
  }
  [[nodiscard]] Bytes at_b(const Bytes& chosen) {
    session.channel().send(choices, chosen);
    return session.channel().receive(corrections);
  }
};

SecretVector<UInt128> chosen_values(Session& session, std::uint32_t layer, std::span<const UInt128> values,
                                    std::span<const std::uint32_t> choices) {
  OneWay messages(session, layer, by_party(row_factor_cost(values.size(), kChoiceBits)));
  if (session.party() == Party::kA) {
    FactorSender sender(values.size(), kChoiceBits, session.ots().sender());
    return messages.at_a([&](const Bytes& chosen) { return sender.send(chosen, values); });
  }
  FactorReceiver receiver(values.size(), kChoiceBits, session.ots().receiver());
  return receiver.finish(messages.at_b(receiver.choose(choices)));
}

SecretVector<std::uint64_t> numbers_of(Session& session, std::uint32_t layer, const BitShares& bits) {
  OneWay messages(session, layer, by_party(bit_to_ring_cost<std::uint64_t>(bits.size())));
  if (session.party() == Party::kA) {
    BitToRingSender sender(bits.size(), session.ots().sender());
    return messages.at_a([&](const Bytes& chosen) { return sender.send<std::uint64_t>(chosen, bits); });
  }
  BitToRingReceiver receiver(bits.size(), session.ots().receiver());
  return receiver.finish<std::uint64_t>(messages.at_b(receiver.choose(bits)));
}

}  // namespace

PartyCost own_scores_cost(std::size_t rows, std::size_t cols) {
  return by_party(row_factor_cost(rows * cols, kChoiceBits));
}

ShareMatrix own_scores(Session& session, std::uint32_t layer, const ShareMatrix& scores,
                       std::span<const double> classes) {
  const bool at_a = session.party() == Party::kA;
  require<InvalidArgument>(!scores.values().empty() && classes.size() == (at_a ? 0 : scores.rows()),
                           "B has a class for each of ", scores.rows(), " rows, and A none");
  const SecretVector<std::uint32_t> choices = choices_of(classes, scores.cols());
  session.settle();
  reserve(session, own_scores_cost(scores.rows(), scores.cols()));
  const SecretVector<UInt128> products =
      closing(session, [&] { return chosen_values(session, layer, scores.values(), choices); });
  ShareMatrix own(scores.rows(), 1, scores.scale(), scores.ring_bits());
  for (std::size_t i = 0; i < products.size(); ++i) {
    own.values()[i / scores.cols()] += products[i] + (at_a ? UInt128{0} : scores.values()[i] * choices[i]);
  }
  own.reduce();
  return own;
}

PartyCost count_right_cost(std::size_t rows, int bits) {
  PartyCost cost = compare_cost(rows, bits);
  // Where B has the last word of the comparison, its choices travel with that.
  if (cost.flights % 2 != 0) --cost.flights;
  return cost + by_party(bit_to_ring_cost<std::uint64_t>(rows));
}

ShareMatrix count_right(Session& session, std::uint32_t layer, const ShareMatrix& margins, const BitShares& turned,
                        int bits) {
  const std::size_t rows = margins.values().size();
  require<InvalidArgument>(turned.size() == rows, "a count of ", rows, " rows that are right takes as many bits, not ",
                           turned.size());
  require<InvalidArgument>(bits <= margins.ring_bits(), "a count of rows that are right: margins of ", bits,
                           " bits, shared modulo 2^", margins.ring_bits());
  reserve(session, count_right_cost(rows, bits));
  const BitShares right = compare(session, layer, margins, bits) ^ turned;
  const SecretVector<std::uint64_t> numbers = closing(session, [&] { return numbers_of(session, layer, right); });
  ShareMatrix count(1, 1, 0, 64);
  for (const std::uint64_t number : numbers) count.values()[0] += number;
  count.reduce();
  return count;
}

}  // namespace blindfl::mpc
