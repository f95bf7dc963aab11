#include "blindfl/lab/baselines/shared_weights.h"

#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/dataset.h"
#include "blindfl/lab/baselines/encoding.h"
#include "blindfl/lab/baselines/steps.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/train/shared_learner.h"

namespace blindfl::lab::baselines {

namespace {

using protocol::Session;
using torch::Tensor;

/// What a party has of W_A.
struct Pieces {
  ShareMatrix at_first;
  ShareMatrix at_the_end;
  Tensor scores;  ///< at B
};

ShareMatrix zeros_like(const ShareMatrix& matrix) {
  return {matrix.rows(), matrix.cols(), matrix.scale(), matrix.ring_bits()};
}

/// Both parties count that V_A has changed.
void scale_v(nn::FederatedParameter& weight, double scale) {
  const ShareMatrix& piece = weight.piece();
  const bool holds_v = weight.session().party() == Party::kB;
  weight.subtract(holds_v ? multiply_public(piece, PublicFactor(1 - scale), piece.scale()) : zeros_like(piece), true);
}

/// Between a backward pass and its step: A's gradient becomes the whole one, and B's nothing.
void open_gradient(nn::FederatedParameter& weight) {
  net::Channel& channel = weight.session().channel();
  ShareMatrix gradient = weight.grad().value();
  const std::size_t bytes = gradient.values().size() * sizeof(UInt128);
  const net::Message message{steps::kGradientShare, 0, bytes, gradient.rows(), gradient.cols()};
  if (weight.session().party() == Party::kB) {
    channel.send(message, [&](ByteSink& out) { out.write_u128(gradient.values()); });
    gradient = zeros_like(gradient);
  } else {
    ShareMatrix of_b = zeros_like(gradient);
    channel.receive(message, [&](ByteSource& in) { in.read_u128(of_b.values()); });
    of_b.reduce();
    gradient += of_b;
  }
  weight.zero_grad();
  weight.accumulate_grad(gradient);
}

Tensor numbers_in(const ShareMatrix& matrix) {
  return torch::tensor(decode_ring(matrix), torch::kFloat64)
      .view({nn::torch_size(matrix.rows()), nn::torch_size(matrix.cols())});
}

/// What both kinds of models are trained and looked at with.
struct Job {
  const VerticalRows& training;
  const VerticalRows& test;
  const SharedWeightsSpec& spec;
  const train::TrainOptions& options;
  nn::FeatureShape shape;
};

Pieces train_under_open_top(Session& session, const Job& job) {
  nn::GeneralizedLinear model(session, job.shape, job.spec.outputs);
  nn::FederatedParameter weight = model->source->weight_a();
  if (job.spec.scale_of_v > 1) scale_v(weight, job.spec.scale_of_v);
  Pieces pieces{.at_first = weight.piece(), .at_the_end = {}, .scores = {}};
  const auto forward = [&](const data::Batch& batch) { return model->forward(batch); };
  const auto loss = [&](const Tensor& scores, const Tensor& labels) {
    return nn::loss(job.spec.family, scores, labels);
  };
  const data::RowsInMemory rows(own_dataset(session.party(), job.training, job.shape));
  train::Trainer trainer(*model, forward, loss, rows, job.options);
  train::BeforeStep before_step;
  if (job.spec.parts == SharedParts::kWeights) before_step = [&] { open_gradient(weight); };
  while (!trainer.done()) (void)trainer.take_step(before_step);
  pieces.at_the_end = weight.piece();
  pieces.scores = train::score(forward, own_dataset(session.party(), job.test, job.shape), job.options.batch);
  return pieces;
}

Pieces train_under_shared_top(Session& session, const Job& job) {
  const nn::SharedTopOptions top{.batch = job.options.batch};
  nn::SharedGeneralizedLinear model(session, job.shape, job.spec.outputs, nn::MatMulOptions{}, top);
  nn::FederatedParameter weight = model->source->weight_a();
  if (job.spec.scale_of_v > 1) scale_v(weight, job.spec.scale_of_v);
  Pieces pieces{.at_first = weight.piece(), .at_the_end = {}, .scores = {}};
  const train::SharedLearner learner(model.ptr(), nn::SharedLoss(session, job.spec.family, job.spec.outputs, top));
  const data::RowsInMemory rows(own_dataset(session.party(), job.training, job.shape));
  train::Trainer trainer(*learner, learner->step(), rows, job.options);
  while (!trainer.done()) (void)trainer.take_step();
  pieces.at_the_end = weight.piece();
  const auto score = [&](const data::Batch& batch) { return model->open_scores(model->scores(batch)); };
  pieces.scores = train::score(score, own_dataset(session.party(), job.test, job.shape), job.options.batch);
  return pieces;
}

}  // namespace

SharedWeightsRun run_shared_weights(const he::Scheme& scheme, const VerticalRows& training, const VerticalRows& test,
                                    const SharedWeightsSpec& spec, const train::TrainOptions& options,
                                    std::uint64_t seed) {
  require<InvalidArgument>(training.a.numeric.cols() > 0, "shared weights: A has no numeric features");
  require<InvalidArgument>(spec.scale_of_v >= 1, "shared weights: the scale of V_A is at least 1");
  const bool open_top = spec.top == protocol::Top::kOpen;
  require<InvalidArgument>(open_top || spec.parts == SharedParts::kWeightsAndGradients,
                           "shared weights: under a shared top gradients are always shared");
  const Job job{training, test, spec, options, shape_of({&training, &test}, options.batch)};
  const auto [a, b] = run_seeded(scheme, seed, [&](Session& session) {
    return open_top ? train_under_open_top(session, job) : train_under_shared_top(session, job);
  });
  return {.share_at_first = numbers_in(a.at_first),
          .share = numbers_in(a.at_the_end),
          .weight = numbers_in(open(a.at_the_end, b.at_the_end)),
          .scores = b.scores};
}

}  // namespace blindfl::lab::baselines
