#include "blindfl/data/row_bytes.h"

#include <cstring>
#include <limits>
#include <span>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

using Kind = IntMatrix::Kind;
using Column = IntMatrix::Column;

/// Most features are small: half the bytes will do.
bool is_narrow(std::uint64_t bound) {
  return bound <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
}

template <class T>
void put(T value, Bytes& out) {
  const ByteView bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
T take(ByteView& in) {
  require<DataError>(in.size() >= sizeof(T), "stored rows are damaged: one is cut short");
  T value{};
  std::memcpy(&value, in.data(), sizeof(T));
  in = in.subspan(sizeof(T));
  return value;
}

void put_value(std::int64_t value, bool narrow, Bytes& out) {
  if (narrow) {
    put(static_cast<std::int32_t>(value), out);
  } else {
    put(value, out);
  }
}

}  // namespace

void write_row(const IntMatrix& from, std::size_t row, Bytes& out) {
  const bool narrow = is_narrow(from.bound());
  if (from.kind() == Kind::kOneHot) {
    Column one = IntMatrix::kNoColumn;
    from.for_each_in_row(row, [&](std::size_t column, std::int64_t) { one = static_cast<Column>(column); });
    put(one, out);
    return;
  }
  if (from.kind() == Kind::kCsr) {
    std::uint32_t count = 0;
    from.for_each_in_row(row, [&](std::size_t, std::int64_t) { ++count; });
    put(count, out);
  }
  from.for_each_in_row(row, [&](std::size_t column, std::int64_t value) {
    if (from.kind() == Kind::kCsr) put(static_cast<Column>(column), out);
    put_value(value, narrow, out);
  });
}

void read_row(ByteView& in, IntMatrixBuilder& to) {
  const auto [kind, cols, scale, bound] = to.format();
  const auto read_value = [&, narrow = is_narrow(bound)] {
    return narrow ? std::int64_t{take<std::int32_t>(in)} : take<std::int64_t>(in);
  };
  switch (kind) {
    case Kind::kOneHot:
      to.add(take<Column>(in), 1);
      break;
    case Kind::kCsr:
      for (auto left = take<std::uint32_t>(in); left > 0; --left) {
        const auto column = take<Column>(in);
        to.add(column, read_value());
      }
      break;
    case Kind::kDense:
      for (std::size_t c = 0; c < cols; ++c) to.add(c, read_value());
      break;
  }
  to.end_row();
}

}  // namespace blindfl::data
