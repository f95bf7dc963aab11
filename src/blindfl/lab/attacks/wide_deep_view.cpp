#include "blindfl/lab/attacks/wide_deep_view.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/message_tap.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/lab/baselines/encoding.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/share/products.h"

namespace blindfl::lab::attacks {

namespace {

using protocol::Session;
using torch::Tensor;

constexpr std::int64_t kNumbersOfPiece = 256;

/// What a party notes down of one step of the last epoch.
struct SeenStep {
  std::vector<std::int64_t> rows;
  std::vector<ShareMatrix> gradients;  ///< for each of A's fields, its share of what these rows look up
  Tensor ciphertexts;                  ///< at A
};

struct SeenTraining {
  std::vector<ShareMatrix> weights;  ///< its share of W_A, if there is one, and of A's tables
  std::vector<SeenStep> steps;
};

/// The first bytes of each row's piece of a message: as many pieces as a padded batch has rows.
Tensor pieces_of(const std::vector<Bytes>& payloads, std::size_t rows, std::size_t batch) {
  std::vector<Tensor> columns;
  for (const Bytes& payload : payloads) {
    const auto size = nn::torch_size(payload.size() / batch);
    std::vector<std::uint8_t> bytes(payload.size());
    std::ranges::transform(payload, bytes.begin(), [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    const Tensor all = torch::tensor(bytes, torch::kUInt8).narrow(0, 0, size * nn::torch_size(batch));
    const Tensor pieces = all.view({nn::torch_size(batch), size}).narrow(1, 0, std::min(size, kNumbersOfPiece));
    constexpr double kMiddle = 127.5;
    columns.push_back(pieces.narrow(0, 0, nn::torch_size(rows)).to(torch::kFloat64) - kMiddle);
  }
  require<InvalidArgument>(!columns.empty(), "attack: A received no ciphertext of a derivative");
  return torch::cat(columns, 1);
}

/// A party's side of a training, and what it notes down.
class WideDeepParty {
 public:
  WideDeepParty(Session& session, const baselines::VerticalRows& training, const baselines::VerticalFields& fields,
                const WideDeepTraining& wanted, MessageTap& tap)
      : party_(session.party()),
        training_(training),
        options_(wanted.options),
        tap_(tap),
        shape_(baselines::shape_of({&training}, options_.batch)),
        model_(session, shape_, categories_of(fields, wanted), wanted.hidden),
        rows_(baselines::own_dataset(session.party(), training, shape_)) {}

  [[nodiscard]] SeenTraining run() {
    const auto forward = [&](const data::Batch& batch) { return model_->forward(batch); };
    const auto loss = [](const Tensor& scores, const Tensor& labels) {
      return nn::loss(Family::kLogistic, scores, labels);
    };
    train::Trainer trainer(*model_, forward, loss, rows_, options_);
    const data::BatchOrder order(rows_.rows(), options_.batch, options_.order_seed);
    SeenTraining seen;
    while (!trainer.done()) {
      const std::size_t epoch = trainer.step() / trainer.steps_per_epoch() + 1;
      const std::size_t place = trainer.step() % trainer.steps_per_epoch();
      (void)trainer.take_step([&] {
        const std::vector<Bytes> payloads = tap_.take();
        if (epoch == options_.epochs) seen.steps.push_back(noted(order.batches(epoch)[place], payloads));
      });
    }
    for (const nn::FederatedParameter& weight : weights()) seen.weights.push_back(weight.piece());
    return seen;
  }

 private:
  nn::CategoryShape categories_of(const baselines::VerticalFields& fields, const WideDeepTraining& wanted) const {
    return {.fields_a = fields.a, .fields_b = fields.b, .batch = options_.batch, .dimension = wanted.dimension};
  }
  [[nodiscard]] std::vector<nn::FederatedParameter> weights() {
    std::vector<nn::FederatedParameter> weights;
    if (shape_.in_a > 0) weights.push_back(model_->wide->weight_a());
    for (std::size_t i = 0; i < training_.a.fields.size(); ++i) {
      weights.push_back(model_->deep->table(Party::kA, i));
    }
    return weights;
  }
  /// B does not know what A looks up: the experiment does.
  [[nodiscard]] SeenStep noted(const std::vector<std::uint32_t>& chosen, const std::vector<Bytes>& payloads) {
    SeenStep step{.rows = {chosen.begin(), chosen.end()}, .gradients = {}, .ciphertexts = {}};
    for (std::size_t i = 0; i < training_.a.fields.size(); ++i) {
      const nn::FederatedParameter table = model_->deep->table(Party::kA, i);
      step.gradients.push_back(multiply(training_.a.fields[i].select_rows(chosen), table.grad().value()));
    }
    if (party_ == Party::kA) step.ciphertexts = pieces_of(payloads, chosen.size(), options_.batch);
    return step;
  }

  Party party_;
  const baselines::VerticalRows& training_;
  const train::TrainOptions& options_;
  MessageTap& tap_;
  nn::FeatureShape shape_;
  nn::WideDeep model_;
  data::RowsInMemory rows_;
};

/// Rows of all steps in the order of the table.
Tensor in_order(const std::vector<SeenStep>& steps, const std::function<Tensor(std::size_t)>& of_step) {
  std::vector<Tensor> parts;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    parts.push_back(of_step(i));
    places.insert(places.end(), steps[i].rows.begin(), steps[i].rows.end());
  }
  const Tensor all = torch::cat(parts);
  return torch::empty_like(all).index_copy_(0, torch::tensor(places, torch::kInt64), all);
}

WideDeepView view_of(const SeenTraining& a, const SeenTraining& b, bool numeric) {
  WideDeepView view;
  std::vector<SharedPair> pairs;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    pairs.push_back({numbers_of(open(a.weights[i], b.weights[i])), numbers_of(a.weights[i])});
  }
  if (numeric) view.weight = pairs.front();
  view.tables.assign(pairs.begin() + (numeric ? 1 : 0), pairs.end());
  const auto gradients = [&](std::size_t step, bool whole) {
    std::vector<Tensor> fields;
    for (std::size_t i = 0; i < a.steps[step].gradients.size(); ++i) {
      const ShareMatrix& share = a.steps[step].gradients[i];
      fields.push_back(numbers_of(whole ? open(share, b.steps[step].gradients[i]) : share));
    }
    return torch::cat(fields, 1);
  };
  view.gradients = {in_order(a.steps, [&](std::size_t step) { return gradients(step, true); }),
                    in_order(a.steps, [&](std::size_t step) { return gradients(step, false); })};
  view.ciphertexts = in_order(a.steps, [&](std::size_t step) { return a.steps[step].ciphertexts; });
  return view;
}

}  // namespace

WideDeepView record_wide_deep(const he::Scheme& scheme, const baselines::VerticalRows& training,
                              const baselines::VerticalFields& fields, const WideDeepTraining& wanted) {
  require<InvalidArgument>(!fields.a.empty(), "attack: A has no categorical fields");
  const auto channels = net::make_memory_channels();
  const auto tap_of = [](net::Channel& channel) {
    return std::make_shared<MessageTap>(channel.transport(), protocol::steps::kDerivativeShare);
  };
  const std::shared_ptr<MessageTap> tap_a = tap_of(*channels.first);
  const std::shared_ptr<MessageTap> tap_b = tap_of(*channels.second);
  torch::manual_seed(wanted.seed);
  const auto [a, b] = baselines::run_seeded(scheme, wanted.seed, std::make_shared<net::Channel>(tap_a),
                                            std::make_shared<net::Channel>(tap_b), [&](Session& session) {
                                              MessageTap& tap = session.party() == Party::kA ? *tap_a : *tap_b;
                                              return WideDeepParty(session, training, fields, wanted, tap).run();
                                            });
  return view_of(a, b, training.a.numeric.cols() > 0);
}

}  // namespace blindfl::lab::attacks
