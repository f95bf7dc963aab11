#include "blindfl/app/torch/baseline.h"

#include <chrono>
#include <cmath>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/base/error.h"
#include "blindfl/lab/local_deep.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/protocol/layers/sgd_plan.h"

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

torch::Tensor encoded_tensor(const IntMatrix& matrix) {
  return lab::categories_tensor(matrix);
}

PlainModel numeric_model(const PartyShape& shape, const std::vector<std::size_t>& hidden, std::size_t outputs,
                         nn::Activation activation) {
  lab::LocalModel model(shape.numeric, hidden, outputs, activation);
  return {model.ptr(),
          [model](const data::Batch& batch) mutable { return model->forward(encoded_tensor(batch.features)); }};
}

template <class Top>
PlainModel deep_model(const lab::LocalSources& sources, const Top& top) {
  const auto model = std::make_shared<lab::LocalDeepImpl<Top>>(sources, top);
  return {model, [model](const data::Batch& batch) {
            lab::LocalSourcesImpl& source = *model->sources;
            torch::Tensor numeric;
            if (source.weight.defined()) numeric = torch::mm(encoded_tensor(batch.features), source.weight);
            lab::LocalRows rows;
            rows.fields = batch.fields;
            return model->top(numeric, source.embedded_output(rows));
          }};
}

PlainModel make_plain(const job::Model& model, const PartyShape& shape, std::size_t outputs) {
  const nn::Activation activation = activation_of(model.activation);
  const std::size_t embedded = shape.fields.size() * model.embedding_dim;
  if (shape.fields.empty()) {
    const bool deep = model.kind == ModelKind::kMlp;
    return numeric_model(shape, deep ? model.hidden : std::vector<std::size_t>{}, outputs, activation);
  }
  if (model.kind == ModelKind::kWdl) {
    return deep_model(
        lab::LocalSources(shape.numeric, outputs, shape.fields, model.embedding_dim, model.hidden.front()),
        nn::WideDeepTop(embedded, model.hidden, outputs, activation));
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
  const std::size_t batch = setup.training.batch;
  const data::BatchOrder order(rows.rows(), batch, setup.training.order_seed);
  const protocol::SgdPlan plan(setup.training.sgd);
  const nn::SgdOptions& sgd = setup.training.sgd;
  torch::optim::SGD optimizer(
      model.module->parameters(),
      torch::optim::SGDOptions(sgd.learning_rate).momentum(sgd.momentum).weight_decay(sgd.weight_decay));
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::uint64_t step = 0;
  for (std::size_t epoch = 1; step < setup.steps; ++epoch) {
    for (const auto& chosen : order.batches(epoch)) {
      if (step == setup.steps) break;
      const data::Batch each = rows.batch(chosen, chosen.size());
      optimizer.zero_grad();
      torch::Tensor weights;
      if (!each.weights.empty()) weights = nn::to_tensor(each.weights);
      setup.loss(model.forward(each), nn::labels_tensor(each), weights).backward();
      static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options()).lr(plan.learning_rate_at(step));
      optimizer.step();
      if (++step != kTrialSteps) continue;
      const double expected = seconds() / static_cast<double>(step) * static_cast<double>(setup.steps);
      if (expected > setup.most_seconds) return {.scores = {}, .seconds = expected};
    }
  }
  // Batches are filled up with rows of zeros.
  const auto without_padding = [&](const data::Batch& each) {
    return model.forward(each).slice(0, 0, static_cast<std::int64_t>(each.rows));
  };
  return {.scores = train::score(without_padding, test, batch), .seconds = seconds()};
}

}  // namespace blindfl::app
