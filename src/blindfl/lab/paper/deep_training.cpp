#include "blindfl/lab/paper/deep_training.h"

#include <memory>
#include <mutex>
#include <utility>

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

template <class Model>
DeepTraining train_party(Model model, protocol::Session& session, const CategoryData& data,
                         const train::TrainOptions& options) {
  const TwoPartyRows train_rows = two_party_rows(data, data.train);
  const TwoPartyRows test_rows = two_party_rows(data, data.test);
  const bool at_a = session.party() == Party::kA;
  const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
  DeepTraining result;
  train::fit(*model, forward, logistic_loss, at_a ? train_rows.a : train_rows.b, options,
             [&](const train::StepReport& report) {
               if (report.loss) result.losses.push_back(*report.loss);
             });
  result.scores = train::score(forward, at_a ? test_rows.a : test_rows.b, options.batch);
  return result;
}

/// A plain model of sources and top.
template <class Model>
DeepTraining train_plain(Model model, const LocalRows& train_rows, const LocalRows& test_rows,
                         const train::TrainOptions& options) {
  DeepTraining result;
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const LocalRows rows = train_rows.select(chosen);
    const torch::Tensor value = logistic_loss(model->forward(rows), nn::to_tensor(rows.labels));
    result.losses.push_back(value.template item<double>());
    return value;
  };
  const std::size_t rows = train_rows.labels.size();
  const std::size_t steps = options.epochs * ((rows + options.batch - 1) / options.batch);
  lab::train_steps(*model, rows, loss, options, [&](std::uint64_t step) { return step < steps; });
  result.scores = lab::score(model, test_rows);
  return result;
}

DeepTraining train_plain(DeepModel model, std::size_t numeric, const std::vector<CategoryField>& fields,
                         const LocalRows& train_rows, const LocalRows& test_rows, const train::TrainOptions& options) {
  const std::size_t embedded = fields.size() * kDimension;
  if (model == DeepModel::kWideDeep) {
    return train_plain(LocalWideDeep(LocalSources(numeric, std::size_t{1}, fields, kDimension, kDeepHidden.front()),
                                     nn::WideDeepTop(embedded, kDeepHidden, std::size_t{1}, kDeepActivation)),
                       train_rows, test_rows, options);
  }
  const nn::DlrmShape shape = dlrm_shape();
  return train_plain(
      LocalDlrm(LocalSources(numeric, shape.bottom.front(), fields, kDimension, shape.vectors * shape.dimension),
                nn::DlrmTop(numeric, embedded, shape, std::size_t{1}, kDeepActivation)),
      train_rows, test_rows, options);
}

}  // namespace

DeepTraining train_deep(DeepModel model, const CategoryData& data, const train::TrainOptions& options) {
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
  return std::move(both.second);
}

DeepTraining train_deep_joined(DeepModel model, const CategoryData& data, const train::TrainOptions& options) {
  std::vector<CategoryField> fields = data.fields_a;
  fields.insert(fields.end(), data.fields_b.begin(), data.fields_b.end());
  return train_plain(model, data.train.numeric.cols(), fields, joined_rows(data.train), joined_rows(data.test),
                     options);
}

DeepTraining train_deep_of_b(DeepModel model, const CategoryData& data, const train::TrainOptions& options) {
  return train_plain(model, data.train.numeric.cols() - data.columns_a, data.fields_b, rows_of_b(data, data.train),
                     rows_of_b(data, data.test), options);
}

}  // namespace blindfl::lab::paper
