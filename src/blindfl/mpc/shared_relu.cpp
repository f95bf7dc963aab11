#include "blindfl/mpc/shared_relu.h"

#include <type_traits>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/selection.h"

namespace blindfl::mpc {

PartyCost relu_cost(std::size_t values, int compared_bits, int ring_bits) {
  const Cost selection =
      ring_bits <= 64 ? Multiplexer<std::uint64_t>::cost(values) : Multiplexer<UInt128>::cost(values);
  return compare_cost(values, compared_bits) + by_party(selection);
}

PartyCost relu_derivative_cost(std::size_t values, int ring_bits) {
  return by_party(ring_bits <= 64 ? Multiplexer<std::uint64_t>::cost_again(values)
                                  : Multiplexer<UInt128>::cost_again(values));
}

SharedRelu::SharedRelu(Session& session, int value_bits, int ring_bits, int dropped_bits)
    : session_(session),
      layer_(session.new_layer()),
      value_bits_(value_bits),
      ring_bits_(ring_bits),
      dropped_bits_(dropped_bits) {
  require<InvalidArgument>(value_bits >= 2 && value_bits <= 64, "ReLU: values of 2 to 64 bits, not ", value_bits);
  require<InvalidArgument>(dropped_bits >= 0 && dropped_bits <= value_bits - 2, "ReLU: ", dropped_bits, " bits of ",
                           value_bits, " cannot be dropped");
  require<InvalidArgument>((ring_bits >= value_bits && ring_bits <= 64) || ring_bits == 128, "ReLU: results of ",
                           value_bits, " bits modulo 2^64 or less, or 2^128, not 2^", ring_bits);
}

ShareMatrix SharedRelu::forward(const ShareMatrix& z, Keep keep) {
  require<InvalidArgument>(z.ring_bits() >= ring_bits_, "ReLU: results modulo 2^", ring_bits_, " of shares modulo 2^",
                           z.ring_bits());
  forget();
  return ring_bits_ <= 64 ? forward_in<std::uint64_t>(z, keep) : forward_in<UInt128>(z, keep);
}

template <class Ring>
ShareMatrix SharedRelu::forward_in(const ShareMatrix& z, Keep keep) {
  const std::size_t count = z.values().size();
  reserve(session_, forward_cost(count));
  BitShares bits = compare(session_, layer_, z, value_bits_, dropped_bits_);
  auto& ots = session_.ots();
  const bool backward = keep == Keep::kForBackward;
  Multiplexer<Ring> multiplexer(MultiplexerMaterial(count, backward, ots.sender(), ots.receiver()));
  const SecretVector<Ring> values = ring_values<Ring>(z);
  const SecretVector<Ring> selected = select<Ring>(session_, layer_, multiplexer, bits, values);
  if (backward) {
    kept_ = std::move(multiplexer);
    bits_ = std::move(bits);
    rows_ = z.rows();
    cols_ = z.cols();
  }
  return narrowed(ring_matrix<Ring>(selected, z.rows(), z.cols(), z.scale()), ring_bits_);
}

ShareMatrix SharedRelu::backward(const ShareMatrix& d) {
  require<InvalidArgument>(!std::holds_alternative<std::monostate>(kept_),
                           "ReLU: one backward pass for each forward pass");
  require<InvalidArgument>(d.rows() == rows_ && d.cols() == cols_ && d.ring_bits() >= ring_bits_,
                           "ReLU: a derivative of ", rows_, " x ", cols_, " modulo 2^", ring_bits_, ", not of ",
                           d.rows(), " x ", d.cols(), " modulo 2^", d.ring_bits());
  session_.settle();
  auto kept = std::exchange(kept_, std::monostate());
  return std::visit(
      [&](auto& multiplexer) -> ShareMatrix {
        using Kept = std::remove_cvref_t<decltype(multiplexer)>;
        if constexpr (std::is_same_v<Kept, std::monostate>) {
          return {};
        } else {
          using Ring = std::conditional_t<std::is_same_v<Kept, Multiplexer<UInt128>>, UInt128, std::uint64_t>;
          const SecretVector<Ring> values = ring_values<Ring>(d);
          const SecretVector<Ring> selected = select_again<Ring>(session_, layer_, multiplexer, values);
          return narrowed(ring_matrix<Ring>(selected, rows_, cols_, d.scale()), ring_bits_);
        }
      },
      kept);
}

void SharedRelu::forget() {
  kept_ = std::monostate();
  bits_ = {};
}

}  // namespace blindfl::mpc
