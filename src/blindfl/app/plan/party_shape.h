#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::app {

/// What a party tells its peer about its features: how many there are and of what size, and nothing of what they are
/// called or hold.
struct PartyShape {
  std::size_t numeric = 0;              ///< numeric features, one-hot ones included
  std::size_t nonzeros = 0;             ///< the most of them in one row that are not 0; 0: any number
  FixedPointSpec encoding{};            ///< of the numeric features
  std::vector<CategoryField> fields{};  ///< names are not told: they are f1, f2, ...
};

/// "3 numeric features, 2 categorical fields".
[[nodiscard]] std::string words_of(const PartyShape& shape);

/// The most fields that a party may have.
constexpr std::size_t kMostFields = 4096;

void write_shape(const PartyShape& shape, ByteSink& out);
/// Throws ProtocolError if it is not what `write_shape` wrote, or out of all proportion.
[[nodiscard]] PartyShape read_shape(ByteSource& in);

/// Tells the peer this party's shape, and returns the peer's.
/// Cost: two messages each way. Reveals: the shape.
[[nodiscard]] PartyShape exchange_shapes(protocol::Session& session, const PartyShape& mine);

}  // namespace blindfl::app
