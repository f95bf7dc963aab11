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

// What a party says for itself, in the section `private`: its data, its address and certificates, its machine.

namespace blindfl::app::job {

enum class PartyName { kA, kB };
[[nodiscard]] std::span<const Name<PartyName>> names_of(PartyName /*party*/);

enum class FileFormat { kAuto, kCsv, kLibsvm };
[[nodiscard]] std::span<const Name<FileFormat>> names_of(FileFormat /*format*/);

enum class ColumnKind { kNumeric, kCategorical, kMulti, kIgnore };
[[nodiscard]] std::span<const Name<ColumnKind>> names_of(ColumnKind /*kind*/);

enum class Transform { kNone, kStandardise, kLog };
[[nodiscard]] std::span<const Name<Transform>> names_of(Transform /*transform*/);

enum class MissingValue { kMean, kZero, kError, kConstant };
[[nodiscard]] std::span<const Name<MissingValue>> names_of(MissingValue /*missing*/);

enum class PoolingKind { kSum, kMean };
[[nodiscard]] std::span<const Name<PoolingKind>> names_of(PoolingKind /*kind*/);

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

/// Which categories get a row of their own in an embedding table.
struct Vocabulary {
  std::size_t min_count = 1;
  std::optional<std::size_t> most{};
  std::optional<std::size_t> hash_buckets{};

  bool operator==(const Vocabulary&) const = default;
};

struct Column {
  std::string name{};
  std::optional<ColumnKind> kind{};
  Transform transform = Transform::kNone;
  MissingValue missing = MissingValue::kError;
  std::optional<double> constant{};
  Vocabulary vocabulary{};
  bool one_hot = false;
  std::string separator = ";";
  std::size_t most_per_row = 16;
  PoolingKind pooling = PoolingKind::kSum;

  bool operator==(const Column&) const = default;
};

struct Libsvm {
  std::optional<std::size_t> features{};
  std::size_t first_index = 1;

  bool operator==(const Libsvm&) const = default;
};

struct Data {
  std::optional<std::filesystem::path> train{};
  std::optional<std::filesystem::path> test{};
  std::optional<std::filesystem::path> score{};
  FileFormat format = FileFormat::kAuto;
  std::string delimiter = ",";
  bool header = true;
  Libsvm libsvm{};
  std::optional<std::string> id_column{};
  std::optional<std::string> label_column{};
  std::vector<std::string> missing = {"", "NA", "NaN", "null", "?"};
  ColumnKind default_kind = ColumnKind::kNumeric;
  std::vector<Column> columns{};
  Encoding numeric{};

  bool operator==(const Data&) const = default;
};

/// B's own layers.
struct Top {
  std::vector<double> class_weights{};
  std::optional<double> clip_gradient{};
  std::vector<Metric> metrics{};
  bool baseline = true;

  bool operator==(const Top&) const = default;
};

struct Link {
  std::optional<std::string> listen{};
  std::optional<std::string> dial{};
  std::optional<std::filesystem::path> certificate{};
  std::optional<std::filesystem::path> key{};
  std::optional<std::filesystem::path> peer{};
  std::optional<std::string> peer_fingerprint{};
  std::size_t patience = 300;  ///< seconds
  std::size_t keepalive = 5;   ///< seconds
  std::size_t window = 16;     ///< MiB
  bool plaintext = false;

  bool operator==(const Link&) const = default;
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
  std::optional<std::uint64_t> weight_seed{};

  bool operator==(const Run&) const = default;
};

struct Own {
  PartyName party = PartyName::kA;
  Data data{};
  Top top{};
  Link link{};
  Resources resources{};
  Run run{};

  bool operator==(const Own&) const = default;
};

// The only place that knows the options of each section.
[[nodiscard]] Entries entries_of(Vocabulary& vocabulary);
[[nodiscard]] Entries entries_of(Column& column);
[[nodiscard]] Entries entries_of(Libsvm& libsvm);
[[nodiscard]] Entries entries_of(Data& data);
[[nodiscard]] Entries entries_of(Top& top);
[[nodiscard]] Entries entries_of(Link& link);
[[nodiscard]] Entries entries_of(Resources& resources);
[[nodiscard]] Entries entries_of(Run& run);
[[nodiscard]] Entries entries_of(Own& own);

}  // namespace blindfl::app::job
