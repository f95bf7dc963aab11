#include "blindfl/lab/two_party_training.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "blindfl/base/process_usage.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/train/shared_learner.h"

namespace blindfl::lab {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What one party trains and scores with.
struct Learner {
  std::shared_ptr<nn::FederatedModule> module;
  train::BatchStep step;
  train::Forward scores;
  nn::MatMul source{nullptr};
  std::vector<torch::Tensor> top{};  ///< copies, before training
};

nn::MatMulOptions source_options(const TwoPartyModel& m) {
  nn::MatMulOptions options = m.source;
  options.sgd = m.training.sgd;
  return options;
}

template <class Model>
Learner open_learner(const TwoPartyModel& m, Model model) {
  Learner learner{.module = model.ptr(), .step = {}, .scores = {}, .source = model->source};
  learner.scores = [model](const data::Batch& x) mutable { return model->forward(x); };
  learner.step = [model, family = m.family](const data::Batch& x) mutable -> train::StepLoss {
    const torch::Tensor loss = nn::loss(family, model->forward(x), nn::labels_tensor(x));
    train::StepLoss step{.backward = [loss] { loss.backward(); }};
    if (!x.labels.empty()) step.value = loss.item<double>();
    return step;
  };
  for (const torch::Tensor& parameter : model->parameters()) learner.top.push_back(parameter.detach().clone());
  return learner;
}

template <class Model>
Learner shared_learner(protocol::Session& session, const TwoPartyModel& m, const nn::SharedTopOptions& top,
                       Model model) {
  train::SharedLearner both(model.ptr(), nn::SharedLoss(session, m.family, m.outputs, top));
  return {.module = both.ptr(),
          .step = both->step(),
          .scores = [model](const data::Batch& x) mutable { return model->open_scores(model->scores(x)); },
          .source = model->source};
}

Learner make_learner(protocol::Session& session, const TwoPartyModel& m) {
  const nn::MatMulOptions source = source_options(m);
  if (m.top == protocol::Top::kOpen) {
    if (m.hidden.empty()) return open_learner(m, nn::GeneralizedLinear(session, m.shape, m.outputs, source));
    return open_learner(m, nn::Mlp(session, m.shape, m.hidden, m.outputs, m.activation, source));
  }
  const nn::SharedTopOptions top{.batch = m.training.batch, .sgd = m.training.sgd};
  if (m.hidden.empty()) {
    return shared_learner(session, m, top, nn::SharedGeneralizedLinear(session, m.shape, m.outputs, source, top));
  }
  return shared_learner(session, m, top,
                        nn::SharedMlp(session, m.shape, m.hidden, m.outputs, m.activation, source, top));
}

/// "A's features: exchanged over lattice; B's features: over lattice".
std::string way_of(const TwoPartyModel& m, const nn::MatMul& source) {
  std::string text;
  const auto add = [&](const std::string& whose, std::optional<protocol::Update> update, const std::string& scheme) {
    if (!text.empty()) text += "; ";
    text += whose + "'s features: ";
    if (update) text += *update == protocol::Update::kEncrypted ? "updated under encryption, " : "exchanged, ";
    text += scheme;
  };
  for (const protocol::PlanRow& row : source->plan()) {
    if (row.chosen && row.party) add(std::string(name_of(*row.party)), row.update, row.scheme);
  }
  if (!text.empty()) return text;
  const auto scheme = [](const std::string& name) { return name.empty() ? std::string("lattice") : name; };
  add("A", m.source.update.value_or(protocol::Update::kExchanged), scheme(m.source.scheme_a));
  add("B",
      m.top == protocol::Top::kOpen ? std::nullopt
                                    : std::optional(m.source.update_b.value_or(protocol::Update::kExchanged)),
      scheme(m.source.scheme_b));
  return text;
}

/// One party's half.
struct PartyTraining {
  TwoPartyTraining seen{};
  ShareMatrix piece_a{};
  ShareMatrix piece_b{};
};

void count_bytes(protocol::Session& session, std::map<std::string, std::uint64_t>& bytes, bool begin) {
  for (const auto& [kind, traffic] : session.channel().sent()) {
    std::uint64_t& count = bytes[std::string(net::name_of(kind))];
    count = begin ? count - traffic.bytes : count + traffic.bytes;
  }
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void train_steps(protocol::Session& session, train::Trainer& trainer, std::size_t most_steps, Clock::time_point begin,
                 TwoPartyTraining& seen) {
  std::vector<double> laps;
  while (!trainer.done() && trainer.step() < most_steps) {
    const auto lap = Clock::now();
    const train::StepReport report = trainer.take_step();
    if (report.loss) seen.losses.push_back(*report.loss);
    if (report.step == 1) {  // keys, first weights and what is made once are not part of a step
      seen.seconds_before = seconds_since(begin);
      count_bytes(session, seen.bytes, /*begin=*/true);
    } else {
      laps.push_back(seconds_since(lap));
    }
  }
  count_bytes(session, seen.bytes, /*begin=*/false);
  for (auto& kind : seen.bytes) kind.second /= std::max<std::size_t>(laps.size(), 1);
  seen.seconds_per_step = median_of(std::move(laps));
}

PartyTraining train_party(protocol::Session& session, const TwoPartyModel& m, const TwoPartyRows& rows,
                          const TwoPartyRows& test, std::size_t most_steps) {
  const auto begin = Clock::now();
  const bool at_a = session.party() == Party::kA;
  const Learner learner = make_learner(session, m);
  PartyTraining result;
  if (m.top == protocol::Top::kOpen) {
    result.piece_a = learner.source->weight_a().piece();
    result.piece_b = learner.source->weight_b().piece();
  }
  const data::RowsInMemory training(at_a ? rows.a : rows.b);
  train::Trainer trainer(*learner.module, learner.step, training, m.training);
  train_steps(session, trainer, most_steps, begin, result.seen);
  result.seen.way = way_of(m, learner.source);
  result.seen.first_top = learner.top;
  const data::Dataset& scored = at_a ? test.a : test.b;
  if (scored.rows() > 0) result.seen.scores = train::score(learner.scores, scored, m.training.batch);
  return result;
}

/// The sum of two shares; under encryption a party has none of its peer's weights.
torch::Tensor opened_piece(const ShareMatrix& a, const ShareMatrix& b) {
  const ShareMatrix sum = a.values().empty() ? b : (b.values().empty() ? a : open(a, b));
  return nn::to_tensor(decode_ring(sum), sum.rows(), sum.cols());
}

}  // namespace

std::uint64_t TwoPartyTraining::bytes_per_step() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& kind) { return sum + kind.second; });
}

TwoPartyTraining train_two_parties(const TwoPartyModel& model, const TwoPartyRows& rows, const TwoPartyRows& test,
                                   std::size_t most_steps, std::optional<LinkEnds> link) {
  malloc_trim(0);
  const PeakMemory memory;
  const auto lattice = he::make_scheme("lattice");
  const auto paillier = he::make_scheme("paillier");
  const LinkEnds ends = link ? std::move(*link) : LinkEnds(net::make_memory_channels());
  const auto as = [&](Party party, const std::shared_ptr<net::Channel>& channel) {
    return [&, party] {
      protocol::Peer peer(party, channel, he::borrowed({lattice.get(), paillier.get()}));
      return train_party(peer.session(), model, rows, test, most_steps);
    };
  };
  auto [a, b] = protocol::run_both(as(Party::kA, ends.first), as(Party::kB, ends.second), [&] {
    ends.first->close();
    ends.second->close();
  });
  TwoPartyTraining result = std::move(b.seen);
  result.memory = memory.growth();
  for (const auto& [kind, bytes] : a.seen.bytes) result.bytes[kind] += bytes;
  if (model.top == protocol::Top::kOpen) {
    result.first_weight = torch::cat({opened_piece(a.piece_a, b.piece_a), opened_piece(a.piece_b, b.piece_b)});
  }
  return result;
}

}  // namespace blindfl::lab
