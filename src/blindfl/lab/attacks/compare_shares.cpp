#include "blindfl/lab/attacks/compare_shares.h"

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

namespace {

double root_of_mean_square(const torch::Tensor& values) {
  return std::sqrt(values.pow(2).mean().item<double>());
}

}  // namespace

ShareLikeness compare_shares(const torch::Tensor& share, const torch::Tensor& weights) {
  require<InvalidArgument>(share.sizes() == weights.sizes() && share.numel() >= 2,
                           "attack: a share and the weights have different shapes, or fewer than two coordinates");
  const torch::Tensor x = share.to(torch::kFloat64).flatten();
  const torch::Tensor y = weights.to(torch::kFloat64).flatten();
  const auto centred = [](const torch::Tensor& values) {
    const torch::Tensor scaled = values / values.abs().max().clamp_min(1e-300);
    return scaled - scaled.mean();
  };
  const torch::Tensor cx = centred(x);
  const torch::Tensor cy = centred(y);
  const double norms = cx.norm().item<double>() * cy.norm().item<double>();
  return {.correlation = norms > 0 ? torch::dot(cx, cy).item<double>() / norms : 0.0,
          .equal_signs = (x.sign() == y.sign()).to(torch::kFloat64).mean().item<double>(),
          .weight_size = root_of_mean_square(y),
          .share_size = root_of_mean_square(x)};
}

}  // namespace blindfl::lab::attacks
