#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/saved_state.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/protocol/layers/layer_state.h"
#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/session/output.h"

namespace blindfl::nn {

/// Of weights of a shared top.
constexpr int kSharedWeightScale = 32;

/// The public facts of a weight of a shared top.
struct SharedWeightSpec {
  std::string name;
  std::size_t rows = 0;
  std::size_t cols = 0;
  double deviation = 0;  ///< of the initial weights
  int gradient_scale = 0;
  int gradient_bits = 0;
};

/// This party's share, so that both parties' together are normal numbers of that standard deviation.
[[nodiscard]] inline std::shared_ptr<protocol::Weight> draw_shared_weight(const SharedWeightSpec& spec,
                                                                          const SharedTopOptions& options,
                                                                          SeededRandom& random) {
  auto weight = std::make_shared<protocol::Weight>();
  weight->name = spec.name;
  weight->piece = protocol::draw_piece(spec.rows, spec.cols, spec.deviation / std::numbers::sqrt2, kSharedWeightScale,
                                       options.largest_weight, random);
  weight->shared_gradient = true;
  weight->gradient_scale = spec.gradient_scale;
  weight->gradient_bits = spec.gradient_bits;
  weight->largest = options.largest_weight;
  weight->batch = options.batch;
  return weight;
}

/// Of a bias: its gradient is the sum of the derivatives, and takes no product.
[[nodiscard]] inline std::shared_ptr<protocol::Weight> draw_shared_bias(std::string name, std::size_t width,
                                                                        double deviation,
                                                                        const SharedTopOptions& options,
                                                                        SeededRandom& random) {
  const double largest = static_cast<double>(options.batch) * mpc::kLargestSharedDerivative;
  return draw_shared_weight({.name = std::move(name),
                             .rows = 1,
                             .cols = width,
                             .deviation = deviation,
                             .gradient_scale = kSharedScale,
                             .gradient_bits = static_cast<int>(std::ceil(std::log2(largest))) + kSharedScale},
                            options, random);
}

/// Local: this party's share of a gradient, as an optimizer takes it of a full batch.
[[nodiscard]] inline ShareMatrix as_of_full_batch(const ShareMatrix& raw, std::size_t padded, std::size_t rows,
                                                  const protocol::Weight& weight) {
  return protocol::finished_gradient(raw, protocol::absent_derivative(padded, rows), weight.batch,
                                     weight.gradient_scale);
}

/// Local: the sum over the rows.
[[nodiscard]] inline ShareMatrix summed_rows(const ShareMatrix& d) {
  ShareMatrix sum(1, d.cols(), d.scale(), d.ring_bits());
  for (std::size_t r = 0; r < d.rows(); ++r) {
    for (std::size_t c = 0; c < d.cols(); ++c) sum.values()[c] += d.row(r)[c];
  }
  sum.reduce();
  return sum;
}

/// Local: a bias on every row, in the ring and at the scale of `z`.
inline void add_bias(ShareMatrix& z, const protocol::Weight& bias) {
  const ShareMatrix row = narrowed(rescale(bias.piece, z.scale()), z.ring_bits());
  for (std::size_t r = 0; r < z.rows(); ++r) {
    for (std::size_t c = 0; c < z.cols(); ++c) z.row(r)[c] += row.values()[c];
  }
  z.reduce();
}

/// The weights of a layer of a shared top in saved state: see layer_state.h.
class SharedWeightState {
 public:
  SharedWeightState(protocol::Session& session, std::string what,
                    std::vector<std::shared_ptr<protocol::Weight>> weights)
      : session_(session), what_(std::move(what)), weights_(std::move(weights)) {}

  [[nodiscard]] protocol::Settings settings() const {
    protocol::Settings settings;
    settings.add("state", what_).add("party", name_of(session_.party()));
    for (const auto& weight : weights_) {
      settings.add(weight->name + ".rows", weight->piece.rows()).add(weight->name + ".cols", weight->piece.cols());
      settings.add(weight->name + ".gradient_scale", weight->gradient_scale)
          .add(weight->name + ".batch", weight->batch);
    }
    return settings;
  }
  void save(ByteSink& out) const {
    protocol::write_state_header(out, settings());
    origin_.save(out, session_, clock());
    for (const auto& weight : weights_) protocol::write_weight(out, *weight);
  }
  void load(ByteSource& in) {
    reading_state([&] {
      protocol::read_state_header(in, what_, settings());
      const Bytes origin = protocol::StateOrigin::read(in);
      std::vector<protocol::SavedWeight> saved;
      for (const auto& weight : weights_) saved.push_back(protocol::read_weight(in, *weight));
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        weights_[i]->version = saved[i].version;
        weights_[i]->piece = std::move(saved[i].piece);
      }
      origin_.loaded(session_, what_, origin, clock());
    });
  }

 private:
  [[nodiscard]] protocol::StateOrigin::Clock clock() const {
    protocol::StateOrigin::Clock clock;
    for (const auto& weight : weights_) clock.push_back(weight->version);
    return clock;
  }

  protocol::Session& session_;
  std::string what_;
  std::vector<std::shared_ptr<protocol::Weight>> weights_;
  protocol::StateOrigin origin_;
};

}  // namespace blindfl::nn
