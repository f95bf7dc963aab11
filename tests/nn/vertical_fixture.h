#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/data/table_cuts.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/models.h"
#include "made_up/synthetic.h"
#include "made_up/tables.h"
#include "made_up/vertical_split.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::nn {

using protocol::Party;
using protocol::Session;

using data::rounded;

/// The same rows at both parties, encoded, and as a plain table beside.
struct VerticalData {
  VerticalData(const data::Table& table, std::size_t in_a, std::size_t batch, const FixedPointSpec& features = {})
      : joined(table) {
    shape.features_a = shape.features_b = features;
    shape.in_a = in_a;
    shape.in_b = table.cols() - in_a;
    shape.batch = batch;
    const auto split = made_up::vertical_split(table, in_a);
    a = data::make_dataset(split.a, FixedPoint(shape.features_a));
    b = data::make_dataset(split.b, FixedPoint(shape.features_b));
  }
  [[nodiscard]] const data::Dataset& at(Party party) const { return party == Party::kA ? a : b; }

  data::Table joined;
  FeatureShape shape;
  data::Dataset a;
  data::Dataset b;
};

/// One party's pieces, to be added up in the test.
struct Pieces {
  ShareMatrix weight_a;
  ShareMatrix weight_b;
};

inline Pieces pieces_of(const MatMul& source) {
  return {source->weight_a().piece(), source->weight_b().piece()};
}

/// In the layers with all peers.
inline std::vector<Pieces> all_pieces_of(const MatMul& source) {
  std::vector<Pieces> all;
  for (std::size_t place = 0; place < source->layers().size(); ++place) {
    all.push_back({source->weight_a(place).piece(), source->weight_b(place).piece()});
  }
  return all;
}

/// The weights nobody has, A's rows above B's, as the joined model has them. Where a party's piece is in another layer,
/// or is 0 under encryption, it has no rows, and those of the other party count alone.
inline torch::Tensor joined_weight(const Pieces& a, const Pieces& b) {
  const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()); };
  const auto sum = [&](const ShareMatrix& x, const ShareMatrix& y) {
    if (x.rows() == y.rows()) return tensor(open(x, y));
    return tensor(x.rows() == 0 ? y : x);
  };
  return torch::cat({sum(a.weight_a, b.weight_a), sum(a.weight_b, b.weight_b)});
}

inline double largest_difference(const torch::Tensor& x, const torch::Tensor& y) {
  return (x.detach() - y.detach()).abs().max().item<double>();
}

/// Makes `to` start where `from` is.
inline void copy_parameters(const torch::nn::Module& from, torch::nn::Module& to) {
  const torch::NoGradGuard no_grad;
  const auto source = from.parameters();
  auto target = to.parameters();
  for (std::size_t i = 0; i < source.size(); ++i) target.at(i).copy_(source.at(i));
}

}  // namespace blindfl::nn
