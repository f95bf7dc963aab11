#pragma once

#include <map>
#include <utility>
#include <vector>

#include "protocol/embed_fixture.h"
#include "protocol/shared_fixture.h"

// Embed-MatMul under a shared top: both shares of dZ, and what plain arithmetic makes of the same numbers.

namespace blindfl::protocol {

/// Two fields of A, one of B: one category in each row, several that are summed, several that are averaged.
inline EmbedMatMulSpec shared_embed_spec() {
  EmbedMatMulSpec spec;
  spec.top = Top::kShared;
  spec.fields_a = {{.field = {.name = "a0", .categories = 5}},
                   {.field = {.name = "a1", .categories = 7, .most = 3, .pooling = Pooling::kSum}}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 6, .most = 2, .pooling = Pooling::kMean}}};
  spec.dimension = 3;
  spec.out = 2;
  spec.batch = 8;
  spec.initial_deviation = 0.5;
  return spec;
}

/// Both parties' categories, those of the first `real_rows` rows, and dZ: as reals, in shares, and as B would have it.
struct SharedEmbedPass {
  std::vector<IntMatrix> x_a;
  std::vector<IntMatrix> x_b;
  SharedDerivative derivative;
  Derivative whole;

  [[nodiscard]] const std::vector<IntMatrix>& x(Party party) const { return party == Party::kA ? x_a : x_b; }
  [[nodiscard]] std::vector<const IntMatrix*> all() const { return side_by_side(x_a, x_b); }
};

inline SharedEmbedPass make_shared_embed_pass(const EmbedMatMulSpec& spec, std::size_t real_rows,
                                              SeededRandom& random) {
  std::vector<std::uint32_t> rows(real_rows);
  for (std::size_t i = 0; i < real_rows; ++i) rows[i] = static_cast<std::uint32_t>(i);
  const auto categories = [&](const std::vector<EmbedField>& fields) {
    std::vector<IntMatrix> all;
    for (const IntMatrix& x : random_categories(fields, spec.batch, random)) {
      all.push_back(x.select_rows(rows, spec.batch));
    }
    return all;
  };
  auto x_a = categories(spec.fields_a);
  auto x_b = categories(spec.fields_b);
  const std::vector<double> dz = random_reals(real_rows * spec.out, random);
  return {std::move(x_a), std::move(x_b), share_derivative(spec, dz),
          encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out, dz)};
}

inline std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward> forward_shared(EmbedPair& pair,
                                                                            const SharedEmbedPass& pass) {
  return pair.forward(pass.x_a, pass.x_b, pass.whole.rows);
}

inline std::pair<EmbedGradients, EmbedGradients> backward_shared(EmbedPair& pair, const EmbedPass& at_a,
                                                                 const EmbedPass& at_b,
                                                                 const SharedDerivative& derivative) {
  return pair.parties.run([&](Session&) { return pair.at(Party::kA).backward(at_a, derivative.at_a); },
                          [&](Session&) { return pair.at(Party::kB).backward(at_b, derivative.at_b); });
}

/// What an optimizer does with a layer's pieces at one party: SGD with momentum, by public factors on shares. Tables
/// that are updated under encryption take their step themselves.
class EmbedPieceSgd {
 public:
  explicit EmbedPieceSgd(SgdOptions options) : options_(std::move(options)) {}

  void step(EmbedMatMul& layer, const EmbedGradients& gradients) {
    learn(*layer.weight(), gradients.weight);
    for (std::size_t t = 0; t < layer.tables().size(); ++t) {
      Weight& weight = *layer.tables()[t]->weight();
      if (weight.update) {
        weight.update->step();
      } else {
        learn(weight, gradients.tables[t].value());
      }
    }
  }

 private:
  void learn(Weight& weight, const ShareMatrix& gradient) {
    ShareMatrix direction = gradient;
    if (const auto last = momenta_.find(&weight); last != momenta_.end()) {
      direction += multiply_public(last->second, PublicFactor(options_.momentum), direction.scale());
    }
    momenta_[&weight] = direction;
    const PublicFactor factor(options_.learning_rate / static_cast<double>(weight.batch));
    weight.piece -= multiply_public(direction, factor, weight.piece.scale());
    ++weight.version;
  }

  SgdOptions options_;
  std::map<const Weight*, ShareMatrix> momenta_;
};

/// A pair of layers that learns, and the same on doubles.
class SharedEmbedTraining {
 public:
  SharedEmbedTraining(EmbedPair& pair, const EmbedMatMulSpec& spec, const SgdOptions& sgd)
      : pair_(pair), spec_(spec), plan_(sgd), plain_(pair, spec), at_a_(sgd), at_b_(sgd) {}

  /// Returns how far Z was off.
  double step(const SharedEmbedPass& pass) {
    const auto [at_a, at_b] = forward_shared(pair_, pass);
    const double off =
        largest_difference(decode_ring(open(at_a.output.share, at_b.output.share)), plain_.output(pass.all()));
    const auto [grad_a, grad_b] = backward_shared(pair_, at_a.pass, at_b.pass, pass.derivative);
    at_a_.step(pair_.at(Party::kA), grad_a);
    at_b_.step(pair_.at(Party::kB), grad_b);
    plain_.step(plan_, steps_++, plain_.gradients(pass.all(), pass.whole), pass.whole.real_rows);
    return off;
  }
  /// How far the weights and the tables are off.
  [[nodiscard]] double difference() {
    double largest = largest_difference(pair_.weight(), plain_.weight());
    for (std::size_t t = 0; t < pair_.at(Party::kA).tables().size(); ++t) {
      largest = std::max(largest, largest_difference(pair_.table(t), plain_.table(t)));
    }
    return largest;
  }
  [[nodiscard]] const PlainEmbed& plain() const { return plain_; }

 private:
  EmbedPair& pair_;
  EmbedMatMulSpec spec_;
  SgdPlan plan_;
  PlainEmbed plain_;
  EmbedPieceSgd at_a_;
  EmbedPieceSgd at_b_;
  std::size_t steps_ = 0;
};

}  // namespace blindfl::protocol
