#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/matmul_fixture.h"

// Source layers under a shared top: both shares of dZ, and what plain arithmetic makes of the same numbers.

namespace blindfl::protocol {

inline MatMulSpec shared_spec(std::size_t in_a, std::size_t in_b, std::size_t out, std::size_t batch) {
  MatMulSpec spec = small_spec(in_a, in_b, out, batch);
  spec.top = Top::kShared;
  return spec;
}

/// dZ as reals, and as both parties have it.
struct SharedDerivative {
  std::vector<double> dz;  ///< of the real rows
  Derivative at_a;
  Derivative at_b;

  [[nodiscard]] const Derivative& at(Party party) const { return party == Party::kA ? at_a : at_b; }
};

/// At a finer scale than layers ask for, in the ring of 2^128, unless said. Of a layer of either kind.
template <class Spec>
SharedDerivative share_derivative(const Spec& spec, std::vector<double> dz, int scale = 28,
                                  int ring_bits = ShareMatrix::kMostRingBits) {
  std::vector<double> padded = dz;
  padded.resize(spec.batch * spec.out);
  const ShareMatrix whole =
      narrowed(encode_ring(spec.batch, spec.out, padded, scale, spec.derivative.largest), ring_bits);
  Random random;
  auto [a, b] = split(whole, random);
  const std::size_t real_rows = dz.size() / spec.out;
  return {std::move(dz), shared_derivative(real_rows, std::move(a)), shared_derivative(real_rows, std::move(b))};
}

inline std::vector<double> random_reals(std::size_t count, SeededRandom& random) {
  std::vector<double> reals(count);
  for (double& v : reals) v = 2 * random.uniform() - 1;
  return reals;
}

/// Both parties' features, the first `real_rows` of them not 0, and dZ.
struct SharedPass {
  IntMatrix x_a;
  IntMatrix x_b;
  SharedDerivative derivative;

  [[nodiscard]] const IntMatrix& x(Party party) const { return party == Party::kA ? x_a : x_b; }
};

inline SharedPass make_shared_pass(const MatMulSpec& spec, IntMatrix::Kind kind, std::size_t real_rows,
                                   SeededRandom& random) {
  std::vector<std::uint32_t> rows(real_rows);
  for (std::size_t i = 0; i < real_rows; ++i) rows[i] = static_cast<std::uint32_t>(i);
  const auto features = [&](const FixedPointSpec& encoding, std::size_t cols) {
    if (cols == 0) return IntMatrix::dense(spec.batch, 0, {}, encoding.scale, 1);
    return random_features(encoding, kind, spec.batch, cols, random).select_rows(rows, spec.batch);
  };
  IntMatrix x_a = features(spec.features_a, spec.in_a);
  IntMatrix x_b = features(spec.features_b, spec.in_b);
  return {std::move(x_a), std::move(x_b), share_derivative(spec, random_reals(real_rows * spec.out, random))};
}

inline std::pair<MatMulGradients, MatMulGradients> backward_shared(MatMulPair& pair, const SharedPass& pass) {
  return pair.parties.run([&](Session&) { return pair.a.backward(pass.x_a, pass.derivative.at_a); },
                          [&](Session&) { return pair.b.backward(pass.x_b, pass.derivative.at_b); });
}

/// What an optimizer does with a layer's pieces at one party: SGD with momentum, by public factors on shares.
class PieceSgd {
 public:
  explicit PieceSgd(SgdOptions options) : options_(std::move(options)) {}

  void step(MatMul& layer, const MatMulGradients& gradients) {
    step(layer.weight(Party::kA), gradients.weight_a, momenta_[0]);
    step(layer.weight(Party::kB), gradients.weight_b, momenta_[1]);
  }

 private:
  void step(Weight& weight, const std::optional<ShareMatrix>& gradient, std::optional<ShareMatrix>& momentum) const {
    if (weight.update) return weight.update->step();
    if (!gradient) return;
    ShareMatrix direction = *gradient;
    if (momentum) direction += multiply_public(*momentum, PublicFactor(options_.momentum), direction.scale());
    momentum = direction;
    const PublicFactor factor(options_.learning_rate / static_cast<double>(weight.batch));
    weight.piece -= multiply_public(direction, factor, weight.piece.scale());
    ++weight.version;
  }

  SgdOptions options_;
  std::array<std::optional<ShareMatrix>, 2> momenta_;
};

/// The weights of one party's features in doubles, and SGD with momentum on the mean loss.
class PlainWeight {
 public:
  PlainWeight(std::vector<double> values, std::size_t out) : out_(out), values_(std::move(values)) {
    momentum_.resize(values_.size());
  }

  [[nodiscard]] const std::vector<double>& values() const { return values_; }

  /// The gradient of the mean loss.
  [[nodiscard]] std::vector<double> gradient(const IntMatrix& x, const std::vector<double>& dz) const {
    std::vector<double> gradient(values_.size());
    const std::size_t rows = dz.size() / out_;
    for (std::size_t r = 0; r < rows; ++r) {
      x.for_each_in_row(r, [&](std::size_t feature, std::int64_t v) {
        const double scaled = std::ldexp(static_cast<double>(v), -x.scale()) / static_cast<double>(rows);
        for (std::size_t c = 0; c < out_; ++c) gradient[feature * out_ + c] += scaled * dz[r * out_ + c];
      });
    }
    return gradient;
  }
  void step(const IntMatrix& x, const std::vector<double>& dz, const SgdOptions& options) {
    const std::vector<double> of_pass = gradient(x, dz);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      momentum_[i] = options.momentum * momentum_[i] + of_pass[i];
      values_[i] -= options.learning_rate * momentum_[i];
    }
  }
  /// Adds `x` times the weights.
  void add_output(const IntMatrix& x, std::vector<double>& z) const {
    for (std::size_t r = 0; r < x.rows(); ++r) {
      x.for_each_in_row(r, [&](std::size_t feature, std::int64_t v) {
        const double real = std::ldexp(static_cast<double>(v), -x.scale());
        for (std::size_t c = 0; c < out_; ++c) z[r * out_ + c] += real * values_[feature * out_ + c];
      });
    }
  }

 private:
  std::size_t out_;
  std::vector<double> values_;
  std::vector<double> momentum_;
};

/// Both parties' weights, as a pair of layers drew them.
class PlainWeights {
 public:
  PlainWeights(MatMul& at_a, MatMul& at_b)
      : a_(initial(at_a, at_b, Party::kA), at_a.params().spec().out),
        b_(initial(at_a, at_b, Party::kB), at_a.params().spec().out) {}

  [[nodiscard]] const PlainWeight& of(Party party) const { return party == Party::kA ? a_ : b_; }
  void step(const SharedPass& pass, const SgdOptions& options) {
    a_.step(pass.x_a, pass.derivative.dz, options);
    b_.step(pass.x_b, pass.derivative.dz, options);
  }
  [[nodiscard]] std::vector<double> output(const SharedPass& pass, std::size_t out) const {
    std::vector<double> z(pass.x_a.rows() * out);
    a_.add_output(pass.x_a, z);
    b_.add_output(pass.x_b, z);
    return z;
  }

 private:
  /// Under encryption V starts at 0, and U is at the party with the features.
  static std::vector<double> initial(MatMul& at_a, MatMul& at_b, Party party) {
    if (at_a.params().encrypted(party)) return decode_ring((party == Party::kA ? at_a : at_b).weight(party).piece);
    return decode_ring(open(at_a.weight(party).piece, at_b.weight(party).piece));
  }

  PlainWeight a_;
  PlainWeight b_;
};

inline double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

}  // namespace blindfl::protocol
