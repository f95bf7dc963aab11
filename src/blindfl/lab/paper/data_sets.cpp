#include "blindfl/lab/paper/data_sets.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/data/table_cuts.h"
#include "blindfl/lab/paper/idx_file.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::size_t kPaperBatch = 128;
constexpr std::size_t kPaperEpochs = 10;
constexpr double kPaperMomentum = 0.9;

constexpr FixedPointSpec kBinary{.scale = 0, .largest = 1, .clip = false};
constexpr FixedPointSpec kCounts{.scale = 0, .largest = 1024, .clip = true};
constexpr FixedPointSpec kPhysics{.scale = 16, .largest = 16, .clip = true};
constexpr FixedPointSpec kPixels{.scale = 16, .largest = 1, .clip = false};

std::vector<PaperSet> make_sets() {
  return {
      {"a9a", "LR", 123, 14, 1, {}, 32'561, 0.05, kBinary, "0.018", "0.567", "0.003", {"a9a.xz", "a9a.t.xz"}},
      {"w8a", "LR", 300, 12, 1, {}, 49'749, 0.05, kBinary, "0.021", "1.214", "0.016", {"w8a.xz", "w8a.t.xz"}},
      {"connect-4", "MLP", 126, 42, 3, {64, 16}, 50'000, 0.05, kBinary, "1.114", "5.703", "0.008", {"connect-4.xz"}},
      {"higgs",
       "LR",
       28,
       28,
       1,
       {},
       8'000'000,
       0.05,
       kPhysics,
       "0.066",
       "0.178",
       "0.002",
       {"higgs.part1.xz", "higgs.part2.xz"}},
      {"news20", "MLR", 62'061, 80, 20, {}, 15'935, 0.01, kCounts, "1.817", "> 1800", "0.364", {"news20.xz"}},
      {"avazu-app", "LR", 1'000'000, 14, 1, {}, 13'000'000, 0.05, kBinary, "0.038", "out of memory", "4.727", {}},
      {"industry", "LR", 10'000'000, 12, 1, {}, 100'000'000, 0.05, kBinary, "0.034", "out of memory", "47.083", {}},
      {"fmnist",
       "MLP",
       784,
       784,
       10,
       {64},
       60'000,
       0.05,
       kPixels,
       "16.741",
       "38.913",
       "0.006",
       {"fashion-mnist/train-images-idx3-ubyte.gz", "fashion-mnist/train-labels-idx1-ubyte.gz",
        "fashion-mnist/t10k-images-idx3-ubyte.gz", "fashion-mnist/t10k-labels-idx1-ubyte.gz"}},
  };
}

data::Table read_images(const std::filesystem::path& images, const std::filesystem::path& labels) {
  constexpr double kWhite = 255;
  const IdxBytes pixels = read_idx(images);
  const IdxBytes classes = read_idx(labels);
  require<DataError>(pixels.sizes.size() == 3 && classes.sizes.size() == 1 && pixels.sizes[0] == classes.sizes[0],
                     images.string(), ": there is not a label for each image");
  std::vector<double> values(pixels.values.size());
  std::ranges::transform(pixels.values, values.begin(), [](std::uint8_t v) { return v / kWhite; });
  return data::Table::dense(pixels.sizes[0], pixels.sizes[1] * pixels.sizes[2], std::move(values),
                            {classes.values.begin(), classes.values.end()});
}

/// The most values of a row that are stored, in a party's columns.
std::size_t most_nonzeros(std::span<const data::Table* const> tables, std::size_t begin, std::size_t end) {
  std::size_t most = 1;
  for (const data::Table* table : tables) {
    for (std::size_t r = 0; r < table->rows(); ++r) {
      std::size_t count = 0;
      table->for_each_in_row(r, [&](std::size_t c, double) { count += c >= begin && c < end ? 1 : 0; });
      most = std::max(most, count);
    }
  }
  return most;
}

}  // namespace

std::span<const PaperSet> paper_sets() {
  static const std::vector<PaperSet> sets = make_sets();
  return sets;
}

const PaperSet& paper_set(std::string_view name) {
  const auto sets = paper_sets();
  const auto found = std::ranges::find(sets, name, &PaperSet::name);
  require<InvalidArgument>(found != sets.end(), "the paper has no data set '", name, "'");
  return *found;
}

std::string missing_file(const PaperSet& set, const std::filesystem::path& folder) {
  for (const std::string_view file : set.files) {
    std::error_code problem;
    if (!std::filesystem::exists(folder / file, problem)) return std::string(file);
  }
  return {};
}

PaperRows read_paper_rows(const PaperSet& set, const std::filesystem::path& folder) {
  const auto at = [&](std::size_t i) { return folder / set.files.at(i); };
  if (set.name == "fmnist") return {.train = read_images(at(0), at(1)), .test = read_images(at(2), at(3))};
  const auto read = [&](std::size_t i) {
    return data::with_class_labels(data::read_libsvm(at(i), {.cols = set.features}));
  };
  if (set.files.size() == 2) return {.train = read(0), .test = read(1)};
  const data::Table all = read(0);
  const data::RowSplit split = data::hashed_test_rows(all.rows());
  return {.train = all.select_rows(split.train), .test = all.select_rows(split.test)};
}

data::Table generated_rows(const PaperSet& set, std::size_t rows, std::uint64_t seed) {
  constexpr double kPopularity = 6;
  SeededRandom random(seed);
  std::vector<double> labels(rows);
  for (double& label : labels) label = static_cast<double>(random.below(set.outputs == 1 ? 2 : set.outputs));
  std::vector<double> values;
  if (!set.sparse()) {
    values.resize(rows * set.features);
    for (double& value : values) value = random.uniform();
    return data::Table::dense(rows, set.features, std::move(values), std::move(labels));
  }
  std::vector<std::size_t> starts{0};
  std::vector<data::Table::Column> columns;
  // Each party has its half of a row's features.
  for (std::size_t r = 0; r < rows; ++r) {
    std::set<data::Table::Column> chosen;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t first = i == 0 ? 0 : set.in_a();
      const std::size_t count = i == 0 ? set.in_a() : set.features - set.in_a();
      const std::size_t wanted = chosen.size() + std::min(set.nonzeros / 2, count);
      while (chosen.size() < wanted) {
        const double place = std::pow(random.uniform(), kPopularity) * static_cast<double>(count);
        chosen.insert(static_cast<data::Table::Column>(first + static_cast<std::size_t>(place)));
      }
    }
    columns.insert(columns.end(), chosen.begin(), chosen.end());
    starts.push_back(columns.size());
  }
  values.assign(columns.size(), 1.0);
  return data::Table::csr(rows, set.features, std::move(starts), std::move(columns), std::move(values),
                          std::move(labels));
}

data::Table some_rows(const data::Table& table, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, (table.rows() + most - 1) / most);
  std::vector<std::uint32_t> rows;
  for (std::size_t r = 0; r < table.rows(); r += step) rows.push_back(static_cast<std::uint32_t>(r));
  return table.select_rows(rows);
}

TwoPartyRows cut_rows(const PaperSet& set, const data::Table& table) {
  const data::VerticalSplit split = data::vertical_split(table, set.in_a());
  const FixedPoint encoding(set.encoding);
  return {.a = data::make_dataset(split.a, encoding), .b = data::make_dataset(split.b, encoding)};
}

TwoPartyModel model_of(const PaperSet& set, std::span<const data::Table* const> tables) {
  TwoPartyModel model;
  model.family = set.family();
  model.hidden = set.hidden;
  model.outputs = set.outputs;
  model.shape = {.in_a = set.in_a(),
                 .in_b = set.features - set.in_a(),
                 .batch = kPaperBatch,
                 .features_a = set.encoding,
                 .features_b = set.encoding};
  if (set.sparse()) {
    model.shape.nonzeros_a = most_nonzeros(tables, 0, set.in_a());
    model.shape.nonzeros_b = most_nonzeros(tables, set.in_a(), set.features);
  }
  model.training.epochs = kPaperEpochs;
  model.training.batch = kPaperBatch;
  // A split of our own may have more rows than the paper's.
  std::size_t rows = set.train_rows;
  for (const data::Table* table : tables) rows = std::max(rows, table->rows());
  model.training.sgd = {.learning_rate = set.learning_rate,
                        .momentum = kPaperMomentum,
                        .steps = kPaperEpochs * ((rows + kPaperBatch - 1) / kPaperBatch)};
  return model;
}

}  // namespace blindfl::lab::paper
