#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "blindfl/protocol/layers/matmul.h"
#include "testing/matrices.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {

/// Both halves of one MatMul layer.
class MatMulPair {
 public:
  MatMulPair(const he::Scheme& scheme, const MatMulSpec& spec, testing::Channels channels)
      : parties(scheme, std::move(channels)),
        a(parties.session(Party::kA), spec),
        b(parties.session(Party::kB), spec) {}
  MatMulPair(const he::Scheme& scheme, const MatMulSpec& spec) : MatMulPair(scheme, spec, testing::make_channels()) {}

  /// With several schemes to choose from; the first is the default.
  MatMulPair(const std::vector<const he::Scheme*>& schemes, const MatMulSpec& spec)
      : parties(schemes), a(parties.session(Party::kA), spec), b(parties.session(Party::kB), spec) {}

  [[nodiscard]] MatMul& at(Party party) { return party == Party::kA ? a : b; }

  /// The weights that nobody has: both pieces added up.
  [[nodiscard]] ShareMatrix weight(Party features_of) {
    return open(a.weight(features_of).piece, b.weight(features_of).piece);
  }

  /// A forward pass at both: the two shares.
  std::pair<OutputShare, OutputShare> forward(const IntMatrix& x_a, const IntMatrix& x_b) {
    return parties.run([&](Session&) { return a.forward(x_a); }, [&](Session&) { return b.forward(x_b); });
  }
  std::pair<MatMulGradients, MatMulGradients> backward(const IntMatrix& x_a, const IntMatrix& x_b,
                                                       const Derivative& derivative) {
    return parties.run([&](Session&) { return a.backward(x_a, absent_derivative(x_a.rows(), derivative.real_rows)); },
                       [&](Session&) { return b.backward(x_b, derivative); });
  }

  testing::TwoParties parties;
  MatMul a;
  MatMul b;
};

inline MatMulSpec small_spec(std::size_t in_a, std::size_t in_b, std::size_t out, std::size_t batch) {
  MatMulSpec spec;
  spec.in_a = in_a;
  spec.in_b = in_b;
  spec.out = out;
  spec.batch = batch;
  return spec;
}

/// Random features as `spec` has them encoded.
inline IntMatrix random_features(const FixedPointSpec& spec, IntMatrix::Kind kind, std::size_t rows, std::size_t cols,
                                 SeededRandom& random) {
  return testing::random_matrix(kind, rows, cols, spec.scale, FixedPoint(spec).bound(), random);
}

inline Derivative random_derivative(const MatMulSpec& spec, SeededRandom& random) {
  std::vector<double> dz(spec.batch * spec.out);
  for (double& v : dz) v = 2 * random.uniform() - 1;
  return encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out, dz);
}

}  // namespace blindfl::protocol
