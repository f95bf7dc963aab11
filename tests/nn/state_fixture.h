#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/secret_sink.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/state.h"
#include "nn/deep_fixture.h"
#include "protocol/encrypted_fixture.h"

namespace blindfl::nn {

/// What one party keeps to resume later.
struct SavedParty {
  Bytes model;
  Bytes optimizer;
  std::shared_ptr<const SecretVector<std::byte>> keys;
};
struct SavedRun {
  SavedParty a;
  SavedParty b;
};

/// Numbers of a model: the weights that nobody has, then B's own parameters.
using Numbers = std::vector<double>;

inline void add_numbers(const torch::Tensor& tensor, Numbers& to) {
  const torch::Tensor flat = tensor.detach().to(torch::kFloat64).contiguous();
  to.insert(to.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
}

/// The weights of a MatMul layer, opened with both parties' halves and keys in hand.
inline void add_weights(protocol::MatMul& a, protocol::MatMul& b, Numbers& to) {
  if (b.row_update() != nullptr) b.row_update()->refresh_all();
  if (a.holder() != nullptr) {
    Numbers weights = decode_ring(a.weight(Party::kA).piece);
    const Numbers learnt = protocol::decrypt_weights(a, b);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += learnt[i];
    to.insert(to.end(), weights.begin(), weights.end());
  } else {
    const Numbers weights = decode_ring(blindfl::open(a.weight(Party::kA).piece, b.weight(Party::kA).piece));
    to.insert(to.end(), weights.begin(), weights.end());
  }
  const Numbers weights = decode_ring(blindfl::open(a.weight(Party::kB).piece, b.weight(Party::kB).piece));
  to.insert(to.end(), weights.begin(), weights.end());
}

inline void add_weights(protocol::EmbedMatMul& a, protocol::EmbedMatMul& b, Numbers& to) {
  const Numbers weights = decode_ring(blindfl::open(a.weight()->piece, b.weight()->piece));
  to.insert(to.end(), weights.begin(), weights.end());
  for (std::size_t t = 0; t < a.tables().size(); ++t) {
    const Numbers table = protocol::opened_table(a, b, t);
    to.insert(to.end(), table.begin(), table.end());
  }
}

inline void add_sources(const GeneralizedLinear& a, const GeneralizedLinear& b, Numbers& to) {
  add_weights(a->source->layer(), b->source->layer(), to);
}
inline void add_sources(const Mlp& a, const Mlp& b, Numbers& to) {
  add_weights(a->source->layer(), b->source->layer(), to);
}
inline void add_sources(const WideDeep& a, const WideDeep& b, Numbers& to) {
  add_weights(a->wide->layer(), b->wide->layer(), to);
  add_weights(a->deep->layer(), b->deep->layer(), to);
}

inline void add_sources(const FactorizationMachine& a, const FactorizationMachine& b, Numbers& to) {
  add_weights(a->source->layer(), b->source->layer(), to);
}

/// Both parties with a model and its optimizer, from the first message to the last.
template <class Model>
class TrainingRun {
 public:
  using Make = std::function<Model(Session&)>;

  TrainingRun(const std::vector<const he::Scheme*>& schemes, const Make& make, const SgdOptions& sgd,
              const testing::SavedKeys& keys = {})
      : parties(schemes, testing::make_channels(), testing::Record::kNo, keys) {
    std::tie(a, b) = parties.run([&](Session& s) { return Side{make(s), nullptr}; });
    for (Side* party : {&a, &b}) {
      start(*party->model);
      party->optimizer = std::make_unique<FederatedOptimizer>(*party->model, sgd);
    }
  }

  /// Forward and backward of batch number `step`, without the step.
  template <class Data>
  void pass(const Data& data, std::size_t step) {
    parties.run([&](Session& s) {
      Side& party = s.party() == Party::kA ? a : b;
      party.optimizer->zero_grad();
      const data::Dataset& rows = data.at(s.party());
      const std::size_t size = data.shape.batch;
      std::vector<std::uint32_t> chosen;
      for (std::size_t i = 0; i < size; ++i) {
        chosen.push_back(static_cast<std::uint32_t>((step * size + i) % rows.rows()));
      }
      const data::Batch batch = data::make_batch(rows, chosen, size);
      loss(Family::kLogistic, party.model->forward(batch), labels_tensor(batch)).backward();
    });
  }
  void step() {
    a.optimizer->step();
    b.optimizer->step();
  }
  template <class Data>
  void train(const Data& data, std::size_t from, std::size_t to) {
    for (std::size_t t = from; t < to; ++t) {
      pass(data, t);
      step();
    }
  }

  [[nodiscard]] SavedRun save() { return {saved(a, parties.session(Party::kA)), saved(b, parties.session(Party::kB))}; }
  void load(const SavedRun& saved) {
    parties.run([&](Session& s) {
      const bool at_a = s.party() == Party::kA;
      load_party(at_a ? a : b, at_a ? saved.a : saved.b);
    });
  }
  [[nodiscard]] Numbers numbers() {
    Numbers all;
    add_sources(a.model, b.model, all);
    for (const auto& parameter : b.model->parameters()) add_numbers(parameter, all);
    return all;
  }

  struct Side {
    Model model{nullptr};
    std::unique_ptr<FederatedOptimizer> optimizer;
  };
  testing::TwoParties parties;
  Side a;
  Side b;

 private:
  /// The same numbers each time: torch has one generator for both parties' threads.
  static void start(torch::nn::Module& model) {
    const torch::NoGradGuard no_grad;
    SeededRandom random(99);
    for (auto& parameter : model.parameters()) {
      std::vector<double> values(static_cast<std::size_t>(parameter.numel()));
      for (double& v : values) v = 0.3 * random.normal();
      parameter.copy_(torch::tensor(values).reshape(parameter.sizes()));
    }
  }
  static SavedParty saved(const Side& party, const Session& session) {
    SavedParty saved;
    saved.model = write_to_bytes([&](ByteSink& out) { save_state(*party.model, out); });
    saved.optimizer = write_to_bytes([&](ByteSink& out) { party.optimizer->save(out); });
    SecretSink keys;
    session.save_keys(keys);
    saved.keys = std::make_shared<const SecretVector<std::byte>>(keys.take());
    return saved;
  }
  static void load_party(Side& party, const SavedParty& saved) {
    BufferSource model(saved.model);
    load_state(*party.model, model);
    BufferSource optimizer(saved.optimizer);
    party.optimizer->load(optimizer);
    EXPECT_EQ(model.remaining() + optimizer.remaining(), 0U);
  }
};

}  // namespace blindfl::nn
