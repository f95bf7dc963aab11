#pragma once

#include <cmath>
#include <mutex>
#include <vector>

#include "blindfl/lab/local_deep.h"
#include "blindfl/lab/local_factorization.h"
#include "blindfl/nn/shared_factorization.h"
#include "blindfl/nn/shared_models.h"
#include "made_up/synthetic_categories.h"
#include "made_up/vertical_split.h"
#include "nn/vertical_fixture.h"
#include "protocol/embed_fixture.h"

namespace blindfl::nn {

/// Numeric columns and categorical fields at both parties, encoded, and in the clear beside.
struct CategoricalData {
  CategoricalData(const data::Table& numeric, std::size_t columns_a, const std::vector<CategoryField>& fields_a,
                  const std::vector<IntMatrix>& encoded_a, const std::vector<CategoryField>& fields_b,
                  const std::vector<IntMatrix>& encoded_b, std::size_t batch) {
    shape.in_a = columns_a;
    shape.in_b = numeric.cols() - columns_a;
    shape.batch = batch;
    const auto split = made_up::vertical_split(numeric, columns_a);
    a = data::make_dataset(split.a, FixedPoint(shape.features_a));
    b = data::make_dataset(split.b, FixedPoint(shape.features_b));
    a.fields = encoded_a;
    b.fields = encoded_b;
    categories.fields_a = fields_a;
    categories.fields_b = fields_b;
    categories.batch = batch;
    joined.numeric = numeric;
    joined.labels = numeric.labels();
    for (const auto* encoded : {&encoded_a, &encoded_b}) {
      joined.fields.insert(joined.fields.end(), encoded->begin(), encoded->end());
    }
    for (const auto* of : {&fields_a, &fields_b}) fields.insert(fields.end(), of->begin(), of->end());
    only_b.numeric = split.b;
    only_b.labels = numeric.labels();
    only_b.fields = encoded_b;
  }
  CategoricalData(const made_up::SyntheticCategories& made, std::size_t columns_a, std::size_t batch)
      : CategoricalData(rounded(made.joined, 16), columns_a, made.a.fields, made.a.encoded, made.b.fields,
                        made.b.encoded, batch) {}

  [[nodiscard]] const data::Dataset& at(Party party) const { return party == Party::kA ? a : b; }

  FeatureShape shape;
  CategoryShape categories;
  std::vector<CategoryField> fields;  ///< A's, then B's
  data::Dataset a;
  data::Dataset b;
  lab::LocalRows joined;
  lab::LocalRows only_b;
};

inline const MatMul& numeric_source(const WideDeep& model) {
  return model->wide;
}
inline const MatMul& numeric_source(const Dlrm& model) {
  return model->numeric;
}
inline const MatMul& numeric_source(const SharedWideDeep& model) {
  return model->wide;
}
inline const MatMul& numeric_source(const DeepFm& model) {
  return model->source;
}
inline const MatMul& numeric_source(const SharedDeepFm& model) {
  return model->source;
}
inline const EmbedMatMul& embedded_source(const DeepFm& model) {
  return model->deep;
}
inline const EmbedMatMul& embedded_source(const SharedDeepFm& model) {
  return model->deep;
}
inline const EmbedMatMul& embedded_source(const SharedWideDeep& model) {
  return model->deep;
}
inline const EmbedMatMul& embedded_source(const WideDeep& model) {
  return model->deep;
}
inline const EmbedMatMul& embedded_source(const Dlrm& model) {
  return model->embedded;
}

/// Makes a plain model's sources what the two parties hold together.
template <class Federated, class Local>
void copy_sources(const Federated& a, const Federated& b, Local& local) {
  const torch::NoGradGuard no_grad;
  if (!numeric_source(a).is_empty()) {
    local->sources->weight.copy_(joined_weight(pieces_of(numeric_source(a)), pieces_of(numeric_source(b))));
  }
  protocol::EmbedMatMul& at_a = embedded_source(a)->layer();
  protocol::EmbedMatMul& at_b = embedded_source(b)->layer();
  const auto tensor = [](const std::vector<double>& values, std::size_t cols) {
    return to_tensor(values, values.size() / cols, cols);
  };
  for (std::size_t t = 0; t < local->sources->tables.size(); ++t) {
    local->sources->tables[t].copy_(tensor(protocol::opened_table(at_a, at_b, t), at_a.params().spec().dimension));
  }
  local->sources->embedded_weight.copy_(
      tensor(decode_ring(blindfl::open(at_a.weight()->piece, at_b.weight()->piece)), at_a.params().spec().out));
}

}  // namespace blindfl::nn
