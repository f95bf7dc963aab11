#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {

using Schemes = std::vector<const he::Scheme*>;

constexpr int kOpenedScale = 16;

/// What each party keeps with its pieces of the model.
struct Keys {
  MaskKey a;
  MaskKey b;
};

inline Keys draw_keys(const std::string& model = "model") {
  Random random;
  return {MaskKey::draw(random, model), MaskKey::draw(random, model)};
}

/// All that a scoring ends with: both parties' shares of Z, and Z at B.
struct Scores {
  ShareMatrix at_a;
  ShareMatrix at_b;
  std::vector<double> z;

  bool operator==(const Scores&) const = default;
};

/// Both halves of a layer, in sessions of their own.
template <class Layer, class Spec>
class Scorer {
 public:
  Scorer(const Schemes& schemes, const Spec& spec, std::size_t threads = 1)
      : parties(schemes, testing::make_channels(), testing::Record::kYes, {}, threads) {
    std::tie(a, b) = parties.run([&](Session& session) { return std::make_unique<Layer>(session, spec); });
  }

  [[nodiscard]] Layer& at(const Session& session) { return session.party() == Party::kA ? *a : *b; }

  /// `forward(layer, party)` at both, then opened. Without keys: with fresh masks.
  template <class Forward>
  Scores score(const Keys* keys, Forward&& forward) {
    const auto run = [&](Session& session) {
      std::optional<RepeatableScoring> repeatable;
      if (keys != nullptr) repeatable.emplace(session, session.party() == Party::kA ? keys->a : keys->b);
      const OutputShare share = forward(at(session), session.party());
      auto z = open_output(session, at(session).layer(), round_output(share, kOpenedScale));
      return std::pair(share.share, std::move(z));
    };
    auto [from_a, from_b] = parties.run(run);
    return {std::move(from_a.first), std::move(from_b.first), std::move(*from_b.second)};
  }

  testing::TwoParties parties;
  std::unique_ptr<Layer> a;
  std::unique_ptr<Layer> b;
};

using MatMulScorer = Scorer<MatMul, MatMulSpec>;
using EmbedScorer = Scorer<EmbedMatMul, EmbedMatMulSpec>;

/// How many values of a share are the same in another.
inline std::size_t equal_values(const ShareMatrix& x, const ShareMatrix& y) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < x.values().size(); ++i) equal += x.values()[i] == y.values()[i] ? 1 : 0;
  return equal;
}

}  // namespace blindfl::protocol
