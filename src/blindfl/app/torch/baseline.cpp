#include "blindfl/app/torch/baseline.h"

#include <chrono>
#include <cmath>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/base/error.h"
#include "blindfl/lab/local_deep.h"
#include "blindfl/lab/local_factorization.h"

namespace blindfl::app {

namespace {

using Clock = std::chrono::steady_clock;
using job::ModelKind;

/// Steps that tell how long all will take.
constexpr std::uint64_t kTrialSteps = 20;

/// A plain model that takes encoded rows.
struct PlainModel {
  std::shared_ptr<torch::nn::Module> module;
  train::Forward forward;
};

PlainModel numeric_model(const PartyShape& shape, const std::vector<std::size_t>& hidden, std::size_t outputs,
                         Activation activation) {
  lab::LocalModel model(shape.numeric, hidden, outputs, activation);
  return {model.ptr(),
          [model](const data::Batch& batch) mutable { return model->forward(lab::encoded_tensor(batch.features)); }};
}

PlainModel factorization_machine(const PartyShape& shape, std::size_t factors) {
  lab::LocalFactorizationMachine model(shape.numeric, factors);
  return {model.ptr(),
          [model](const data::Batch& batch) mutable { return model->forward(lab::encoded_tensor(batch.features)); }};
}

template <class Top>
PlainModel deep_model(const lab::LocalSources& sources, const Top& top) {
  const auto model = std::make_shared<lab::LocalDeepImpl<Top>>(sources, top);
  return {model, [model](const data::Batch& batch) {
            lab::LocalSourcesImpl& source = *model->sources;
            torch::Tensor numeric;
            if (source.weight.defined()) numeric = torch::mm(lab::encoded_tensor(batch.features), source.weight);
            lab::LocalRows rows;
            rows.fields = batch.fields;
            return model->top(numeric, source.embedded_output(rows));
          }};
}

PlainModel make_plain(const job::Model& model, const PartyShape& shape, std::size_t outputs) {
  const Activation activation = model.activation;
  const std::size_t embedded = shape.fields.size() * model.embedding_dim;
  if (shape.fields.empty() && has_factors(model.kind)) return factorization_machine(shape, model.factors);
  if (shape.fields.empty()) {
    const bool deep = model.kind == ModelKind::kMlp;
    return numeric_model(shape, deep ? model.hidden : std::vector<std::size_t>{}, outputs, activation);
  }
  if (model.kind == ModelKind::kWdl) {
    return deep_model(
        lab::LocalSources(shape.numeric, outputs, shape.fields, model.embedding_dim, model.hidden.front()),
        nn::WideDeepTop(embedded, model.hidden, outputs, activation));
  }
  if (model.kind == ModelKind::kDeepfm) {
    return deep_model(lab::LocalSources(shape.numeric, nn::factorization_width(model.factors), shape.fields,
                                        model.embedding_dim, model.hidden.front()),
                      nn::DeepFmTop(embedded, model.hidden, activation));
  }
  const nn::DlrmShape dlrm = dlrm_shape(model);
  return deep_model(lab::LocalSources(shape.numeric, dlrm.bottom.front(), shape.fields, model.embedding_dim,
                                      dlrm.vectors * dlrm.dimension),
                    nn::DlrmTop(shape.numeric, embedded, dlrm, outputs, activation));
}

/// One thread while it lives: batches are so small that more of them only wait for each other.
class OneThread {
 public:
  OneThread() : before_(torch::get_num_threads()) { torch::set_num_threads(1); }
  ~OneThread() { torch::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

Baseline train_baseline(const BaselineSetup& setup, const AlignedRows& training, const AlignedRows& test) {
  require<InvalidArgument>(setup.shape.numeric + setup.shape.fields.size() > 0, "baseline: there are no features");
  const OneThread alone;
  const PlainModel model = make_plain(setup.model, setup.shape, setup.outputs);
  const AlignedRows rows = training.only_real();
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const data::Batch batch = rows.batch(chosen, chosen.size());
    return train::batch_loss(setup.loss, model.forward(batch), batch);
  };
  double expected = 0;
  lab::train_steps(*model.module, rows.rows(), loss, setup.training, [&](std::uint64_t step) {
    if (step == kTrialSteps) expected = seconds() / static_cast<double>(step) * static_cast<double>(setup.steps);
    return step < setup.steps && expected <= setup.most_seconds;
  });
  if (expected > setup.most_seconds) return {.scores = {}, .seconds = expected};
  // Batches are filled up with rows of zeros.
  const auto without_padding = [&](const data::Batch& each) {
    return model.forward(each).slice(0, 0, static_cast<std::int64_t>(each.rows));
  };
  return {.scores = train::score(without_padding, test, setup.training.batch), .seconds = seconds()};
}

}  // namespace blindfl::app
