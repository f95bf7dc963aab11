#include "blindfl/lab/secureml/products.h"

#include <algorithm>
#include <utility>

#include "blindfl/lab/secureml/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::lab::secureml {

namespace {

/// Of a message, so that what is under way stays small beside large matrices.
constexpr std::size_t kMostWords = std::size_t{1} << 21;

net::Message input_message(std::uint32_t layer, std::size_t rows, std::size_t cols) {
  return {steps::kInputShare, layer, sizeof(std::uint64_t) * rows * cols, rows, cols};
}

/// Draws a share for this party, and sends the other.
Words send_share(protocol::Session& session, std::uint32_t layer, const Words& mine) {
  Random random = session.random();
  auto [kept, sent] = split(mine, random);
  session.channel().send(input_message(layer, mine.rows(), mine.cols()), sent.bytes());
  return std::move(kept);
}

Words receive_share(protocol::Session& session, std::uint32_t layer, std::size_t rows, std::size_t cols) {
  return Words::from_bytes(rows, cols, session.channel().receive(input_message(layer, rows, cols)));
}

/// The columns of `a`, then those of `b`.
Words side_by_side(const Words& a, const Words& b) {
  Words both(a.rows(), a.cols() + b.cols());
  for (std::size_t r = 0; r < both.rows(); ++r) {
    std::ranges::copy(a.row(r), both.row(r).begin());
    std::ranges::copy(b.row(r), both.row(r).subspan(a.cols()).begin());
  }
  return both;
}

}  // namespace

Words Products::open(Words difference) {
  for (std::size_t first = 0; first < difference.values().size(); first += kMostWords) {
    const std::size_t count = std::min(kMostWords, difference.values().size() - first);
    const std::span<std::uint64_t> mine = difference.values().subspan(first, count);
    const Words theirs =
        Words::from_bytes(1, count, protocol::cross(session_, steps::kMatrixDifference, layer_, std::as_bytes(mine)));
    for (std::size_t i = 0; i < count; ++i) mine[i] += theirs.values()[i];
  }
  return difference;
}

LeftMatrix Products::left(Words share) {
  LeftMask mask = triplets_.mask(share.rows(), share.cols());
  Words opened = open(share - mask.share());
  triplets_.opened(mask);
  return {std::move(share), std::move(opened), std::move(mask)};
}

Words Products::product(const LeftMatrix& left, std::span<const std::uint32_t> rows, Form form, const Words& right) {
  require<InvalidArgument>(right.rows() == (form == Form::kPlain ? left.cols() : rows.size()), "product of ",
                           rows.size(), " rows of ", left.cols(), form == Form::kPlain ? "" : ", transposed,",
                           " and a matrix of ", right.rows(), " rows");
  auto [v, product] = triplets_.triplet({.mask = left.mask(), .rows = rows, .form = form, .cols = right.cols()}).take();
  const Words f = open(right - v);
  const auto times = [&](const Words& l, const Words& r) {
    return form == Form::kPlain ? multiply(RowsOf{l, rows}, r) : multiply_transposed(RowsOf{l, rows}, r);
  };
  product += times(left.share(), f);
  product += times(left.opened(), session_.party() == Party::kA ? right - f : right);
  return std::move(product);
}

Words share_columns(protocol::Session& session, const Words& mine, std::size_t peers_cols) {
  const std::uint32_t layer = session.new_layer();
  Words kept;
  Words received;
  session.exchange(
      mine.bytes().size(), [&] { kept = send_share(session, layer, mine); },
      [&] { received = receive_share(session, layer, mine.rows(), peers_cols); });
  return session.party() == Party::kA ? side_by_side(kept, received) : side_by_side(received, kept);
}

Words share_of_b(protocol::Session& session, const Words& mine) {
  require<InvalidArgument>(session.party() == Party::kB, "a matrix of B's: A passes its shape");
  return send_share(session, session.new_layer(), mine);
}

Words share_of_b(protocol::Session& session, std::size_t rows, std::size_t cols) {
  require<InvalidArgument>(session.party() == Party::kA, "a matrix of B's: B passes its values");
  return receive_share(session, session.new_layer(), rows, cols);
}

}  // namespace blindfl::lab::secureml
