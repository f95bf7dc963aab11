#include "blindfl/lab/attacks/attack_differences.h"

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

RecoveredColumns attack_differences(const std::vector<Opening>& openings, const torch::Tensor& features_b,
                                    int output_scale, const BinarySearch& search) {
  require<InvalidArgument>(openings.size() >= 2, "attack: there are no differences of fewer than two openings");
  const auto rest_of = [&](const Opening& opening) {
    require<InvalidArgument>(opening.z.size(0) == features_b.size(0) && opening.share_b.size(0) == features_b.size(1) &&
                                 opening.share_b.size(1) == opening.z.size(1) &&
                                 opening.z.size(1) == openings.front().z.size(1),
                             "attack: the shapes of openings and B's features differ");
    return opening.z.to(torch::kFloat64) -
           torch::mm(features_b.to(torch::kFloat64), opening.share_b.to(torch::kFloat64));
  };
  const torch::Tensor first = rest_of(openings.front());
  std::vector<torch::Tensor> differences;
  for (std::size_t i = 1; i < openings.size(); ++i) differences.push_back(rest_of(openings[i]) - first);
  // Each is off by two roundings.
  const torch::Tensor basis = orthonormal_basis(torch::cat(differences, 1), 2 * std::ldexp(1.0, -output_scale));
  const torch::Tensor nothing = torch::empty({features_b.size(0), 0}, torch::kFloat64);
  return {.columns = binary_vectors(nothing, basis, search), .dimensions = static_cast<std::size_t>(basis.size(1))};
}

}  // namespace blindfl::lab::attacks
