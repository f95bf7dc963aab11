#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/domain_names.h"
#include "blindfl/app/job/entry.h"
#include "blindfl/protocol/layers/update.h"
#include "blindfl/tensor/fixed_point.h"

// What both parties must say alike: the model, its training, the encryption. Nothing in here may be a secret: the
// parties tell it to each other if it differs.

namespace blindfl::app::job {

enum class ModelKind { kLr, kMlr, kLinear, kPoisson, kMlp, kWdl, kDlrm, kFm, kDeepfm };
[[nodiscard]] std::span<const Name<ModelKind>> names_of(ModelKind /*kind*/);
/// Whether labels are classes, and not numbers.
[[nodiscard]] bool is_classifier(ModelKind kind);
/// Whether it embeds categories. In others they must be one-hot.
[[nodiscard]] bool has_embeddings(ModelKind kind);
/// Whether it has a factorisation machine, which gives one score, over numeric and one-hot features.
[[nodiscard]] bool has_factors(ModelKind kind);

/// The top of a job that does not say one. The only place: change it here, and `blindfl parameters --markdown`.
constexpr protocol::Top kDefaultTop = protocol::Top::kShared;
/// Fractional bits of scores that B gets under a shared top without asking A: finer ones tell of A's features.
constexpr int kCoarseScoreBits = 4;

/// The family of schemes whose slots a shared top computes its functions in.
constexpr std::string_view kFamilyWithSlots = "lattice";

struct Dlrm {
  std::vector<std::size_t> bottom = {64, 32};
  std::vector<std::size_t> top = {64, 32};
  std::size_t vectors = 8;

  bool operator==(const Dlrm&) const = default;
};

struct Model {
  ModelKind kind = ModelKind::kLr;
  protocol::Top top = kDefaultTop;
  int score_bits = kCoarseScoreBits;
  std::optional<std::size_t> classes{};
  std::vector<std::size_t> hidden = {64, 32};
  Activation activation = Activation::kRelu;
  std::size_t embedding_dim = 8;
  std::size_t factors = 8;
  Dlrm dlrm{};
  double largest_weight = 1024.0;
  int output_scale = 16;
  bool fine_outputs_reveal_features = false;
  std::optional<double> initial_deviation{};

  /// Whether nobody sees into the top: Z, dZ and all weights stay shared.
  [[nodiscard]] bool shared_top() const { return top == protocol::Top::kShared; }
  /// Classes that a classifier tells apart.
  [[nodiscard]] std::size_t class_count() const { return classes.value_or(2); }
  bool operator==(const Model&) const = default;
};

struct RateChange {
  std::optional<std::size_t> epoch{};
  std::optional<std::size_t> step{};
  double learning_rate = 0.0;

  bool operator==(const RateChange&) const = default;
};

struct EarlyStopping {
  std::size_t patience = 0;
  double minimum_improvement = 0.0;

  bool operator==(const EarlyStopping&) const = default;
};

struct Training {
  std::optional<std::size_t> epochs{};
  std::size_t batch = 128;
  double learning_rate = 0.05;
  std::optional<double> momentum{};
  double weight_decay = 0.0;
  std::vector<RateChange> schedule{};
  std::uint64_t order_seed = 1;
  double validation_share = 0.0;
  std::optional<double> test_share{};
  EarlyStopping early_stopping{};
  std::size_t checkpoint_every = 0;
  bool row_weights = false;
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};

  bool operator==(const Training&) const = default;
};

/// How A's weights learn; nothing is `auto`.
template <>
struct Value<std::optional<protocol::Update>> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static std::optional<protocol::Update> read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(std::optional<protocol::Update> value);
};

/// The least bits of security that a job's encryption has.
enum class Security { k112, k128 };
[[nodiscard]] std::span<const Name<Security>> names_of(Security /*security*/);

struct Scheme {
  Security security = Security::k112;
  std::string default_scheme = "lattice";
  std::vector<std::string> allowed = {"lattice", "paillier"};
  bool automatic = true;
  std::optional<std::string> features_a{};
  std::optional<std::string> features_b{};
  std::optional<std::string> tables{};  ///< a scheme, or `protocol::kByOt`
  std::optional<protocol::Update> update{};
  double line_speed = 1000.0;  ///< Mbit/s
  double round_trip = 1.0;     ///< ms
  double most_memory = 16.0;   ///< GiB

  /// All that may be used at the job's security: under 128, longer keys stand for shorter ones of the same scheme.
  [[nodiscard]] std::vector<std::string> allowed_schemes() const;
  bool operator==(const Scheme&) const = default;
};

using AlignmentMode = run::Matching;

struct Alignment {
  AlignmentMode mode = AlignmentMode::kAligned;

  bool operator==(const Alignment&) const = default;
};

struct Shared {
  Model model{};
  Training training{};
  Scheme scheme{};
  Alignment alignment{};

  bool operator==(const Shared&) const = default;
};

// The only place that knows the options of each section.
[[nodiscard]] Entries entries_of(Dlrm& dlrm);
[[nodiscard]] Entries entries_of(Model& model);
[[nodiscard]] Entries entries_of(RateChange& change);
[[nodiscard]] Entries entries_of(EarlyStopping& stopping);
[[nodiscard]] Entries entries_of(Training& training);
[[nodiscard]] Entries entries_of(Scheme& scheme);
[[nodiscard]] Entries entries_of(Alignment& alignment);
[[nodiscard]] Entries entries_of(Shared& shared);

}  // namespace blindfl::app::job
