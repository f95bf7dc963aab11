#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/app/job/entry.h"
#include "blindfl/app/job/shared.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/protocol/session/place.h"

// What a party says for itself, in the section `private`: its data, its address and certificates, its machine.

namespace blindfl::app::job {

enum class Metric {
  kLoss,
  kAuc,
  kPrAuc,
  kKs,
  kLift,
  kAccuracy,
  kPrecision,
  kRecall,
  kF1,
  kLogLoss,
  kRmse,
  kR2,
  kMae,
  kDeviance
};
[[nodiscard]] std::span<const Name<Metric>> names_of(Metric /*metric*/);

enum class LogLevel { kQuiet, kInfo, kDebug };
[[nodiscard]] std::span<const Name<LogLevel>> names_of(LogLevel /*level*/);

/// What A accepts that B could work out about A's features.
enum class Acceptance { kNothing, kOpenTop, kFineScores };
[[nodiscard]] std::span<const Name<Acceptance>> names_of(Acceptance /*acceptance*/);

struct Libsvm {
  std::optional<std::size_t> features{};
  std::size_t first_index = 1;

  bool operator==(const Libsvm&) const = default;
};

/// What B says about its labels, besides where they are.
struct Label {
  std::optional<std::string> positive{};

  bool operator==(const Label&) const = default;
};

struct Data {
  std::optional<std::filesystem::path> train{};
  std::optional<std::filesystem::path> test{};
  std::optional<std::filesystem::path> score{};
  prepare::FileFormat format = prepare::FileFormat::kAuto;
  std::string delimiter = ",";
  bool header = true;
  Libsvm libsvm{};
  std::optional<std::string> id_column{};
  std::optional<std::string> label_column{};
  Label label{};
  std::optional<std::string> weight_column{};
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "?"};
  std::optional<data::ColumnKind> default_kind{};
  std::vector<prepare::ColumnSpec> columns{};
  FixedPointSpec numeric{};

  /// What a listed column without a kind is.
  [[nodiscard]] data::ColumnKind kind_of(const prepare::ColumnSpec& column) const {
    return column.kind.value_or(default_kind.value_or(data::ColumnKind::kNumeric));
  }
  bool operator==(const Data&) const = default;
};

/// How much a row of each class counts: numbers, or the word `balanced`.
struct ClassWeights {
  bool balanced = false;
  std::vector<double> weights{};

  [[nodiscard]] bool empty() const { return !balanced && weights.empty(); }
  bool operator==(const ClassWeights&) const = default;
};

template <>
struct Value<ClassWeights> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static ClassWeights read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(const ClassWeights& value);
};

/// B's own layers.
struct Top {
  ClassWeights class_weights{};
  std::optional<double> clip_gradient{};
  std::vector<Metric> metrics{};
  bool baseline = true;

  bool operator==(const Top&) const = default;
};

/// One of B's peers, where it has several.
struct PeerLink {
  std::string name{};
  std::optional<std::string> listen{};
  std::optional<std::string> dial{};
  std::filesystem::path certificate{};
  std::optional<std::string> fingerprint{};

  bool operator==(const PeerLink&) const = default;
};

/// Another A, as an A names it: they talk through B.
struct OtherA {
  std::string name{};
  std::filesystem::path certificate{};
  std::optional<std::string> fingerprint{};

  bool operator==(const OtherA&) const = default;
};

struct Link {
  std::optional<std::string> name{};
  std::optional<std::string> listen{};
  std::optional<std::string> dial{};
  std::optional<std::filesystem::path> certificate{};
  std::optional<std::filesystem::path> key{};
  std::optional<std::filesystem::path> peer{};
  std::optional<std::string> peer_fingerprint{};
  std::vector<PeerLink> peers{};       ///< at B, if there are several A's
  std::vector<OtherA> others{};        ///< at each of several A's
  std::size_t patience = 300;          ///< seconds
  std::size_t patience_silent = 1800;  ///< seconds
  std::size_t keepalive = 5;           ///< seconds
  std::size_t window = 16;             ///< MiB
  bool plaintext = false;

  [[nodiscard]] bool several_as() const { return !peers.empty() || !others.empty(); }
  /// What the A's are called, in this party's order; empty if there is only one.
  [[nodiscard]] std::vector<std::string> names_of_as() const;
  bool operator==(const Link&) const = default;
};

/// What this party lets its peer ask of it. Defaults are far above what honest work needs, and below what would harm.
struct Limits {
  std::optional<std::size_t> scorings{};
  std::size_t peer_ids = 10'000'000;
  double peer_ratio = 100;
  std::size_t peer_features = 10'000'000;
  std::size_t peer_categories = 10'000'000;

  /// How often one file may be scored with one model. Under an open top the same rows in the same order open the same
  /// again; under a shared one every scoring rounds anew, and says more.
  [[nodiscard]] std::size_t scorings_of(const Model& model) const {
    return scorings.value_or(model.shared_top() ? kScoringsOfSharedTop : kScorings);
  }
  static constexpr std::size_t kScorings = 16;
  static constexpr std::size_t kScoringsOfSharedTop = 1;

  bool operator==(const Limits&) const = default;
};

struct Resources {
  std::optional<std::size_t> threads{};
  std::optional<double> memory{};  ///< GiB

  bool operator==(const Resources&) const = default;
};

struct Run {
  std::filesystem::path folder = "run";
  std::size_t keep = 2;
  LogLevel log = LogLevel::kInfo;
  bool progress = true;
  bool ledger = true;
  bool keep_view = false;
  std::optional<std::uint64_t> weight_seed{};

  bool operator==(const Run&) const = default;
};

struct Own {
  Party party = Party::kA;
  Acceptance accept = Acceptance::kNothing;
  Data data{};
  Top top{};
  Link link{};
  Limits limits{};
  Resources resources{};
  Run run{};

  bool operator==(const Own&) const = default;
};

// The only place that knows the options of each section.
[[nodiscard]] Entries entries_of(Libsvm& libsvm);
[[nodiscard]] Entries entries_of(Label& label);
[[nodiscard]] Entries entries_of(Data& data);
[[nodiscard]] Entries entries_of(Top& top);
[[nodiscard]] Entries entries_of(PeerLink& peer);
[[nodiscard]] Entries entries_of(OtherA& other);
[[nodiscard]] Entries entries_of(Link& link);
[[nodiscard]] Entries entries_of(Limits& limits);
[[nodiscard]] Entries entries_of(Resources& resources);
[[nodiscard]] Entries entries_of(Run& run);
[[nodiscard]] Entries entries_of(Own& own);

}  // namespace blindfl::app::job
