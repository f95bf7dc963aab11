#include "blindfl/lab/paper/deep_training.h"

#include <memory>
#include <mutex>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/protocol/session/in_process.h"

namespace blindfl::lab::paper {

namespace {

const std::vector<std::size_t> kDeepHidden{16, 8};
constexpr nn::Activation kDeepActivation = nn::Activation::kRelu;
constexpr std::size_t kDimension = 8;

nn::DlrmShape dlrm_shape() {
  return {.bottom = {16}, .vectors = 4, .dimension = 4, .top = {16}};
}

torch::Tensor logistic_loss(const torch::Tensor& scores, const torch::Tensor& labels) {
  return nn::loss(nn::Family::kLogistic, scores, labels);
}

/// What one party has of the weights.
struct Pieces {
  std::vector<ShareMatrix> numeric{};  ///< A's, B's; none if there are no numeric columns
  std::vector<ShareMatrix> tables{};
  ShareMatrix embedded_weight{};
};

Pieces pieces_of(const nn::MatMul& numeric, const nn::EmbedMatMul& embedded, const CategoryData& data) {
  Pieces pieces;
  if (!numeric.is_empty()) pieces.numeric = {numeric->weight_a().piece(), numeric->weight_b().piece()};
  for (const Party party : {Party::kA, Party::kB}) {
    const std::size_t fields = (party == Party::kA ? data.fields_a : data.fields_b).size();
    for (std::size_t i = 0; i < fields; ++i) pieces.tables.push_back(embedded->table(party, i).piece());
  }
  pieces.embedded_weight = embedded->weight().piece();
  return pieces;
}
Pieces pieces_of(const nn::WideDeep& model, const CategoryData& data) {
  return pieces_of(model->wide, model->deep, data);
}
Pieces pieces_of(const nn::Dlrm& model, const CategoryData& data) {
  return pieces_of(model->numeric, model->embedded, data);
}

torch::Tensor opened(const ShareMatrix& a, const ShareMatrix& b) {
  const ShareMatrix sum = open(a, b);
  return nn::to_tensor(decode_ring(sum), sum.rows(), sum.cols());
}

DeepStart start_of(const Pieces& a, const Pieces& b, std::vector<torch::Tensor> top) {
  DeepStart start{.embedded_weight = opened(a.embedded_weight, b.embedded_weight), .top = std::move(top)};
  std::vector<torch::Tensor> numeric;
  for (std::size_t i = 0; i < a.numeric.size(); ++i) numeric.push_back(opened(a.numeric[i], b.numeric[i]));
  if (!numeric.empty()) start.weight = torch::cat(numeric);
  for (std::size_t i = 0; i < a.tables.size(); ++i) start.tables.push_back(opened(a.tables[i], b.tables[i]));
  return start;
}

/// What B's columns alone begin with.
DeepStart part_of_b(const DeepStart& start, const CategoryData& data) {
  const auto fields = nn::torch_size(data.fields_a.size());
  DeepStart part{.embedded_weight = start.embedded_weight.slice(0, fields * nn::torch_size(kDimension)),
                 .top = start.top};
  if (start.weight.defined()) part.weight = start.weight.slice(0, nn::torch_size(data.columns_a));
  part.tables.assign(start.tables.begin() + fields, start.tables.end());
  return part;
}

/// Makes a weight begin as said.
void set_weight(torch::Tensor& weight, const torch::Tensor& start) {
  require<InvalidArgument>(start.defined() && weight.sizes() == start.sizes(),
                           "a plain model's weights have another shape than those that it is to begin with");
  weight.copy_(start);
}

template <class Model>
void begin_with(Model& model, const DeepStart& start) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> top = model->top->parameters();
  require<InvalidArgument>(top.size() == start.top.size() && model->sources->tables.size() == start.tables.size(),
                           "a plain model has ", top.size(), " weights behind ", model->sources->tables.size(),
                           " tables, and is to begin with ", start.top.size(), " behind ", start.tables.size());
  if (model->sources->weight.defined()) set_weight(model->sources->weight, start.weight);
  for (std::size_t i = 0; i < start.tables.size(); ++i) set_weight(model->sources->tables[i], start.tables[i]);
  set_weight(model->sources->embedded_weight, start.embedded_weight);
  for (std::size_t i = 0; i < top.size(); ++i) set_weight(top[i], start.top[i]);
}

/// A party's half of a training.
struct PartyTraining {
  DeepTraining seen;
  Pieces pieces;
  std::vector<torch::Tensor> top;  ///< copies, before training
};

template <class Model>
PartyTraining train_party(Model model, protocol::Session& session, const CategoryData& data,
                          const train::TrainOptions& options) {
  const TwoPartyRows train_rows = two_party_rows(data, data.train);
  const TwoPartyRows test_rows = two_party_rows(data, data.test);
  const bool at_a = session.party() == Party::kA;
  const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
  PartyTraining result{.seen = {}, .pieces = pieces_of(model, data), .top = {}};
  for (const torch::Tensor& weight : model->top->parameters()) result.top.push_back(weight.detach().clone());
  train::fit(*model, forward, logistic_loss, at_a ? train_rows.a : train_rows.b, options,
             [&](const train::StepReport& report) {
               if (report.loss) result.seen.losses.push_back(*report.loss);
             });
  result.seen.scores = train::score(forward, at_a ? test_rows.a : test_rows.b, options.batch);
  return result;
}

/// The rows that a plain model is trained and tested with.
struct PlainRows {
  LocalRows train;
  LocalRows test;
};

/// A plain model of sources and top.
template <class Model>
DeepTraining train_plain(Model model, const DeepStart& start, const PlainRows& rows_of,
                         const train::TrainOptions& options) {
  begin_with(model, start);
  DeepTraining result;
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const LocalRows rows = rows_of.train.select(chosen);
    const torch::Tensor value = logistic_loss(model->forward(rows), nn::to_tensor(rows.labels));
    result.losses.push_back(value.template item<double>());
    return value;
  };
  const std::size_t rows = rows_of.train.labels.size();
  const std::size_t steps = options.epochs * ((rows + options.batch - 1) / options.batch);
  lab::train_steps(*model, rows, loss, options, [&](std::uint64_t step) { return step < steps; });
  result.scores = lab::score(model, rows_of.test);
  return result;
}

DeepTraining train_plain(DeepModel model, const std::vector<CategoryField>& fields, const DeepStart& start,
                         const PlainRows& rows, const train::TrainOptions& options) {
  const std::size_t numeric = rows.train.numeric.cols();
  const std::size_t embedded = fields.size() * kDimension;
  if (model == DeepModel::kWideDeep) {
    return train_plain(LocalWideDeep(LocalSources(numeric, std::size_t{1}, fields, kDimension, kDeepHidden.front()),
                                     nn::WideDeepTop(embedded, kDeepHidden, std::size_t{1}, kDeepActivation)),
                       start, rows, options);
  }
  const nn::DlrmShape shape = dlrm_shape();
  return train_plain(
      LocalDlrm(LocalSources(numeric, shape.bottom.front(), fields, kDimension, shape.vectors * shape.dimension),
                nn::DlrmTop(numeric, embedded, shape, std::size_t{1}, kDeepActivation)),
      start, rows, options);
}

}  // namespace

FederatedDeepTraining train_deep(DeepModel model, const CategoryData& data, const train::TrainOptions& options) {
  const auto scheme = he::make_scheme("lattice");
  nn::TwoSourceOptions sources;
  sources.categories.table_scheme = protocol::kByOt;
  const nn::FeatureShape numeric = numeric_shape(data, options.batch);
  const nn::CategoryShape categories = category_shape(data, options.batch);
  std::mutex torch_random;  // both parties draw from torch's generator
  auto both = protocol::run_in_process(*scheme, [&](protocol::Session& session) {
    if (model == DeepModel::kWideDeep) {
      std::unique_lock lock(torch_random);
      nn::WideDeep made(session, numeric, categories, kDeepHidden, std::size_t{1}, kDeepActivation, sources);
      lock.unlock();
      return train_party(made, session, data, options);
    }
    std::unique_lock lock(torch_random);
    nn::Dlrm made(session, numeric, categories, dlrm_shape(), std::size_t{1}, kDeepActivation, sources);
    lock.unlock();
    return train_party(made, session, data, options);
  });
  auto& [a, b] = both;
  return {std::move(b.seen), start_of(a.pieces, b.pieces, std::move(b.top))};
}

DeepTraining train_deep_joined(DeepModel model, const CategoryData& data, const DeepStart& start,
                               const train::TrainOptions& options) {
  std::vector<CategoryField> fields = data.fields_a;
  fields.insert(fields.end(), data.fields_b.begin(), data.fields_b.end());
  return train_plain(model, fields, start, {joined_rows(data.train), joined_rows(data.test)}, options);
}

DeepTraining train_deep_of_b(DeepModel model, const CategoryData& data, const DeepStart& start,
                             const train::TrainOptions& options) {
  return train_plain(model, data.fields_b, part_of_b(start, data),
                     {rows_of_b(data, data.train), rows_of_b(data, data.test)}, options);
}

}  // namespace blindfl::lab::paper
