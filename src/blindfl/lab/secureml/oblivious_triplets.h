#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/lab/secureml/triplets.h"
#include "blindfl/lab/secureml/word_products.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::lab::secureml {

/// How a pair of cross products is cut into products of words: the side with fewer words for each step along the inner
/// dimension is chosen by, the other one packed; and so many steps at a time that messages stay small.
struct ObliviousPlan {
  /// Of matrices U, rows x inner, and V, inner x cols. Throws InvalidArgument for an empty product.
  ObliviousPlan(std::size_t rows, std::size_t inner, std::size_t cols);

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24;  ///< of a message, unless one step has more

  WordProductShape whole;     ///< all of it
  bool chosen_by_v = true;    ///< V's bits are choices, and U is packed
  std::size_t at_a_time = 1;  ///< of the inner dimension

  [[nodiscard]] WordProductShape piece(std::size_t first) const;
  /// Payloads that both parties send, random OTs included.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Bytes of messages and pads of a piece, at both parties together.
  [[nodiscard]] std::uint64_t memory() const;
};

/// Triplets from the random OTs of a session, with the protocol of word_products.h in both directions at the same time.
/// Cost: `ObliviousPlan`, for each triplet; two flights for each piece. Reveals: nothing.
class ObliviousTriplets final : public PairTriplets {
 public:
  /// Both parties make it at the same point. `session` must outlive it.
  explicit ObliviousTriplets(protocol::Session& session);

 private:
  [[nodiscard]] Words cross_products(const Words& left_transposed, const Words& v) override;
  void add_piece(const ObliviousPlan& plan, std::size_t first, const Words& chosen, const Words& packed, Words& sum);

  protocol::Session& session_;
  std::uint32_t layer_;
};

}  // namespace blindfl::lab::secureml
