#pragma once

#include <optional>
#include <vector>

#include "nn/deep_fixture.h"
#include "testing/several_parties.h"

namespace blindfl::nn {

/// Columns and fields dealt to several A's and B, encoded, and in the clear beside.
class PeersData {
 public:
  struct Spec {
    std::vector<std::size_t> columns_of_a = {3};  ///< one for each A; 0: it has none
    std::size_t columns_of_b = 3;
    std::vector<std::vector<CategoryField>> fields_of_a{};  ///< one for each A, if there are fields
    std::vector<CategoryField> fields_of_b{};
    std::size_t rows = 100;
    std::size_t batch = 16;
  };

  explicit PeersData(const Spec& spec) : spec_(spec) {
    std::size_t columns = 0;
    for (const std::size_t of_a : spec.columns_of_a) columns += of_a;
    const data::Table table = rounded(
        made_up::make_synthetic({.rows = spec.rows, .columns_a = columns, .columns_b = spec.columns_of_b}).joined, 16);
    data::Table rest = table;
    for (const std::size_t of_a : spec.columns_of_a) {
      auto split = made_up::vertical_split(rest, of_a);
      of_a_.push_back(data::make_dataset(split.a, FixedPoint(FixedPointSpec{})));
      rest = std::move(split.b);
    }
    of_b_ = data::make_dataset(rest, FixedPoint(FixedPointSpec{}));
    joined.numeric = table;
    joined.labels = table.labels();
    SeededRandom random(5);
    const auto draw = [&](const std::vector<CategoryField>& fields, data::Dataset& rows) {
      for (const CategoryField& field : fields) {
        rows.fields.push_back(protocol::random_categories(field, spec.rows, random));
        joined.fields.push_back(rows.fields.back());
        all_fields.push_back(field);
      }
    };
    for (std::size_t i = 0; i < spec.fields_of_a.size(); ++i) draw(spec.fields_of_a[i], of_a_[i]);
    draw(spec.fields_of_b, of_b_);
  }

  [[nodiscard]] std::size_t peers() const { return of_a_.size(); }
  [[nodiscard]] const data::Dataset& at_a(std::size_t place) const { return of_a_.at(place); }
  [[nodiscard]] const data::Dataset& at_b() const { return of_b_; }
  /// At B, without a place.
  [[nodiscard]] const data::Dataset& at(std::optional<std::size_t> place) const { return place ? at_a(*place) : of_b_; }

  /// As an A at that place says them.
  [[nodiscard]] FeatureShape shape(std::size_t place) const {
    FeatureShape shape{.in_a = spec_.columns_of_a[place], .in_b = spec_.columns_of_b, .batch = spec_.batch};
    shape.in_others = joined.numeric.cols() - shape.in_a - shape.in_b;
    return shape;
  }
  [[nodiscard]] CategoryShape categories(std::size_t place) const {
    CategoryShape shape{.fields_a = {}, .fields_b = spec_.fields_of_b, .batch = spec_.batch, .dimension = kDimension};
    if (!spec_.fields_of_a.empty()) shape.fields_a = spec_.fields_of_a[place];
    shape.fields_others = all_fields.size() - shape.fields_a.size() - shape.fields_b.size();
    return shape;
  }
  /// As they are at a party: at B those of all pairs.
  [[nodiscard]] PerPeer<FeatureShape> shapes(std::optional<std::size_t> place) const {
    if (place) return shape(*place);
    std::vector<FeatureShape> all;
    for (std::size_t i = 0; i < peers(); ++i) all.push_back(shape(i));
    return all;
  }
  [[nodiscard]] PerPeer<CategoryShape> categories_of(std::optional<std::size_t> place) const {
    if (place) return categories(*place);
    std::vector<CategoryShape> all;
    for (std::size_t i = 0; i < peers(); ++i) all.push_back(categories(i));
    return all;
  }

  static constexpr std::size_t kDimension = 3;
  lab::LocalRows joined;                  ///< the columns and fields of all A's, then B's
  std::vector<CategoryField> all_fields;  ///< the same

 private:
  Spec spec_;
  std::vector<data::Dataset> of_a_;
  data::Dataset of_b_;
};

/// The weights of the joined model: those of all A's, then B's.
inline torch::Tensor joined_weight(const std::vector<Pieces>& of_a, const std::vector<Pieces>& of_b) {
  std::vector<torch::Tensor> rows;
  torch::Tensor weight_b;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const torch::Tensor both = joined_weight(of_a[i], of_b[i]);
    const auto in_a = static_cast<std::int64_t>(of_a[i].weight_a.rows());
    rows.push_back(both.slice(0, 0, in_a));
    weight_b = i == 0 ? both.slice(0, in_a) : weight_b + both.slice(0, in_a);
  }
  rows.push_back(weight_b);
  return torch::cat(rows);
}

/// Makes a plain model's embeddings what the parties hold together.
inline void copy_embeddings(const std::vector<EmbedMatMul>& of_a, const EmbedMatMul& of_b, lab::LocalSources& local) {
  const torch::NoGradGuard no_grad;
  const auto tensor = [](const std::vector<double>& values, std::size_t cols) {
    return to_tensor(values, values.size() / cols, cols);
  };
  std::vector<torch::Tensor> tables;
  std::vector<torch::Tensor> tables_of_b;
  std::vector<torch::Tensor> rows;
  torch::Tensor rows_of_b;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (!of_a[i]->layers().front()) continue;
    protocol::EmbedMatMul& a = of_a[i]->layer();
    protocol::EmbedMatMul& b = of_b->layer(i);
    const std::size_t dimension = a.params().spec().dimension;
    for (std::size_t t = 0; t < a.tables().size(); ++t) {
      const bool is_a = t < a.params().fields(Party::kA).size();
      (is_a ? tables : tables_of_b).push_back(tensor(protocol::opened_table(a, b, t), dimension));
    }
    const torch::Tensor weight =
        tensor(decode_ring(blindfl::open(a.weight()->piece, b.weight()->piece)), a.params().spec().out);
    const auto in_a = static_cast<std::int64_t>(a.params().fields(Party::kA).size() * dimension);
    rows.push_back(weight.slice(0, 0, in_a));
    if (weight.size(0) > in_a) rows_of_b = weight.slice(0, in_a);
  }
  tables.insert(tables.end(), tables_of_b.begin(), tables_of_b.end());
  if (rows_of_b.defined()) rows.push_back(rows_of_b);
  for (std::size_t t = 0; t < tables.size(); ++t) local->tables.at(t).copy_(tables[t]);
  local->embedded_weight.copy_(torch::cat(rows));
}

}  // namespace blindfl::nn
