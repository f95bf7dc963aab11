#include "blindfl/lab/baselines/split_learning.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/batches.h"
#include "blindfl/lab/baselines/split_sources.h"
#include "blindfl/lab/baselines/steps.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/protocol/session/in_process.h"

namespace blindfl::lab::baselines {

namespace {

using torch::Tensor;

constexpr std::size_t kScoredAtATime = 8192;

std::size_t rows_of(const LocalRows& rows) {
  return rows.fields.empty() ? rows.numeric.rows() : rows.fields.front().rows();
}

std::size_t embedded_of(const SplitSpec& spec, const std::vector<CategoryField>& fields) {
  return fields.size() * spec.dimension;
}

/// Numbers for each row that A sends: of its numeric features, then of its fields.
std::size_t sent_by_a(const SplitSpec& spec) {
  return (spec.in_a > 0 ? width_of(spec) : 0) + embedded_of(spec, spec.fields.a);
}

void check(const SplitSpec& spec) {
  require<InvalidArgument>(sent_by_a(spec) > 0, "split learning: A has no features");
  require<InvalidArgument>(!has_fields(spec) || !spec.hidden.empty(),
                           "split learning: a model with categorical fields needs at least one hidden layer");
}

void send_values(net::Channel& channel, const net::StepInfo& step, const Tensor& values) {
  const Tensor sent = values.detach().to(torch::kFloat32).contiguous();
  const auto bytes = std::as_bytes(std::span(sent.data_ptr<float>(), static_cast<std::size_t>(sent.numel())));
  channel.send(
      {step, 0, bytes.size(), static_cast<std::uint64_t>(sent.size(0)), static_cast<std::uint64_t>(sent.size(1))},
      bytes);
}

Tensor receive_values(net::Channel& channel, const net::StepInfo& step, std::size_t rows, std::size_t cols) {
  const Bytes bytes = channel.receive({step, 0, rows * cols * sizeof(float), rows, cols});
  const Tensor values = torch::empty({nn::torch_size(rows), nn::torch_size(cols)});
  std::memcpy(values.data_ptr<float>(), bytes.data(), bytes.size());
  return values;
}

/// Calls `pass(rows)` for a part of so many rows after the other.
template <class PassOfRows>
void in_parts(std::size_t rows, const PassOfRows& pass) {
  for (const auto& part : data::BatchOrder::sequential(rows, kScoredAtATime).batches(0)) pass(part);
}

}  // namespace

class SplitBottom::Model {
 public:
  explicit Model(const SplitSpec& its_spec) : spec(its_spec), sources(its_spec, its_spec.in_a, its_spec.fields.a) {}

  /// What A sends of these rows.
  [[nodiscard]] Tensor part_of(const LocalRows& rows) const {
    std::vector<Tensor> parts = sources->embeddings(rows);
    if (sources->weight.defined()) parts.insert(parts.begin(), sources->contribution(rows));
    return torch::cat(parts, 1);
  }
  /// Both kinds of a tensor with such columns.
  [[nodiscard]] Derivatives cut(const Tensor& values) const {
    const std::int64_t width = sources->weight.defined() ? nn::torch_size(width_of(spec)) : 0;
    const std::int64_t embedded = values.size(1) - width;
    return {width > 0 ? values.narrow(1, 0, width) : Tensor(),
            embedded > 0 ? values.narrow(1, width, embedded) : Tensor()};
  }

  SplitSpec spec;
  SplitSources sources;
};

SplitBottom::SplitBottom(net::Channel& to_b, const SplitSpec& spec) : to_b_(to_b) {
  check(spec);
  model_ = std::make_shared<Model>(spec);
}
SplitBottom::~SplitBottom() = default;

void SplitBottom::train(const LocalRows& rows, const train::TrainOptions& options) {
  const std::size_t count = rows_of(rows);
  const std::size_t columns = sent_by_a(model_->spec);
  const std::size_t per_epoch = data::BatchOrder(count, options.batch, options.order_seed).batches_per_epoch();
  Tensor of_epoch = torch::zeros({nn::torch_size(count), nn::torch_size(columns)});
  std::size_t steps = 0;
  // The loss that A minimises: linear in its part, with the derivatives that B sends.
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const Tensor part = model_->part_of(rows.select(chosen));
    send_values(to_b_, steps::kBottomOutput, part);
    const Tensor derivative = receive_values(to_b_, steps::kBottomDerivative, chosen.size(), columns);
    const std::vector<std::int64_t> places(chosen.begin(), chosen.end());
    of_epoch.index_copy_(0, torch::tensor(places, torch::kInt64), derivative);
    if (++steps % per_epoch == 0) derivatives_.push_back(model_->cut(of_epoch.clone()));
    return (part * derivative).sum();
  };
  train_steps(*model_->sources, count, loss, options,
              [&](std::uint64_t step) { return step < options.epochs * per_epoch; });
}

void SplitBottom::score(const LocalRows& rows) {
  const torch::NoGradGuard no_grad;
  in_parts(rows_of(rows), [&](const std::vector<std::uint32_t>& part) {
    send_values(to_b_, steps::kBottomOutput, model_->part_of(rows.select(part)));
  });
}

Tensor SplitBottom::contribution(const LocalRows& rows) const {
  const torch::NoGradGuard no_grad;
  return model_->sources->contribution(rows);
}
Tensor SplitBottom::weight() const {
  return model_->sources->weight.defined() ? model_->sources->weight.detach() : Tensor();
}
std::vector<Tensor> SplitBottom::tables() const {
  std::vector<Tensor> tables;
  for (const Tensor& table : model_->sources->tables) tables.push_back(table.detach());
  return tables;
}

class SplitTop::Model : public torch::nn::Module {
 public:
  explicit Model(const SplitSpec& its_spec)
      : spec(its_spec), sources(register_module("sources", SplitSources(spec, spec.in_b, spec.fields.b))) {
    if (has_fields(spec)) {
      const std::size_t embedded = embedded_of(spec, spec.fields.a) + embedded_of(spec, spec.fields.b);
      embedded_weight_ = register_parameter("embedded_weight", linear_weight(embedded, spec.hidden.front(), embedded));
      wide_deep_ = register_module("top", nn::WideDeepTop(embedded, spec.hidden, spec.outputs, spec.activation));
      return;
    }
    bias_ = register_parameter("bias", torch::zeros({nn::torch_size(width_of(spec))}));
    if (!spec.hidden.empty()) {
      layers_ = register_module("top", nn::make_top(spec.hidden, spec.outputs, spec.activation));
    }
  }

  [[nodiscard]] Tensor forward(const Tensor& from_a, const LocalRows& rows) {
    const std::int64_t numeric = spec.in_a > 0 ? nn::torch_size(width_of(spec)) : 0;
    Tensor z = numeric > 0 ? from_a.narrow(1, 0, numeric) : Tensor();
    if (const Tensor own = sources->contribution(rows); own.defined()) z = z.defined() ? z + own : own;
    if (!has_fields(spec)) return layers_.is_empty() ? z + bias_ : layers_->forward(z + bias_);
    std::vector<Tensor> embedded = sources->embeddings(rows);
    embedded.insert(embedded.begin(), from_a.narrow(1, numeric, from_a.size(1) - numeric));
    return wide_deep_(z, torch::mm(torch::cat(embedded, 1), embedded_weight_));
  }

  SplitSpec spec;
  SplitSources sources;

 private:
  Tensor bias_;
  Tensor embedded_weight_;
  torch::nn::Sequential layers_{nullptr};
  nn::WideDeepTop wide_deep_{nullptr};
};

SplitTop::SplitTop(net::Channel& to_a, const SplitSpec& spec) : to_a_(to_a) {
  check(spec);
  model_ = std::make_shared<Model>(spec);
}
SplitTop::~SplitTop() = default;

void SplitTop::train(const LocalRows& rows, const train::TrainOptions& options) {
  const auto forward = [&](std::span<const std::uint32_t> chosen) {
    Tensor from_a = receive_values(to_a_, steps::kBottomOutput, chosen.size(), sent_by_a(model_->spec));
    from_a.requires_grad_(true);
    // In the middle of the backward pass, which A waits for.
    from_a.register_hook(
        [this](const Tensor& derivative) { send_values(to_a_, steps::kBottomDerivative, derivative); });
    return model_->forward(from_a, rows.select(chosen));
  };
  fit(*model_, forward, model_->spec.family, rows.labels, options);
}

Tensor SplitTop::score(const LocalRows& rows) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> scores;
  in_parts(rows.labels.size(), [&](const std::vector<std::uint32_t>& part) {
    const Tensor from_a = receive_values(to_a_, steps::kBottomOutput, part.size(), sent_by_a(model_->spec));
    scores.push_back(model_->forward(from_a, rows.select(part)));
  });
  return torch::cat(scores);
}

SplitRun run_split_learning(const VerticalRows& training, const VerticalRows& test, const SplitSpec& spec,
                            const train::TrainOptions& options, std::uint64_t seed) {
  const auto [at_a, at_b] = net::make_memory_channels();
  torch::manual_seed(seed);
  SplitBottom bottom(*at_a, spec);
  SplitTop top(*at_b, spec);
  const auto run_bottom = [&] {
    bottom.train(training.a, options);
    bottom.score(test.a);
    return bottom.contribution(test.a);
  };
  const auto run_top = [&] {
    top.train(training.b, options);
    return top.score(test.b);
  };
  const auto close = [&a = *at_a, &b = *at_b] {
    a.close();
    b.close();
  };
  auto [contribution, scores] = protocol::run_both(run_bottom, run_top, close);
  return {.weight = bottom.weight(),
          .tables = bottom.tables(),
          .derivatives = bottom.derivatives(),
          .contribution = std::move(contribution),
          .scores = std::move(scores)};
}

}  // namespace blindfl::lab::baselines
