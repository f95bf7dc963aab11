#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/data/table.h"
#include "blindfl/lab/two_party_training.h"
#include "blindfl/tensor/family.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::lab::paper {

/// A data set of the paper, the model that it trains on it, and seconds of a mini-batch in its efficiency tables.
struct PaperSet {
  std::string_view name;
  std::string_view model;  ///< "LR"
  std::size_t features = 0;
  std::size_t nonzeros = 0;  ///< of a row, on average
  std::size_t outputs = 1;
  std::vector<std::size_t> hidden;
  std::size_t train_rows = 0;  ///< as the paper has them
  double learning_rate = 0.05;
  FixedPointSpec encoding{};
  std::string_view blindfl;  ///< the paper's seconds, as it prints them
  std::string_view secureml;
  std::string_view client_aided;
  std::vector<std::string_view> files;  ///< what must be there; none: the set is not public or not here

  [[nodiscard]] bool sparse() const { return nonzeros < features; }
  [[nodiscard]] std::size_t in_a() const { return (features + 1) / 2; }
  [[nodiscard]] Family family() const { return outputs == 1 ? Family::kLogistic : Family::kMultinomial; }
};

/// In the order of the paper's table; Fashion-MNIST last.
[[nodiscard]] std::span<const PaperSet> paper_sets();
/// Throws InvalidArgument if there is none of that name.
[[nodiscard]] const PaperSet& paper_set(std::string_view name);

/// Rows with their labels, which are 0, 1, 2, ...
struct PaperRows {
  data::Table train;
  data::Table test;
};

/// The first of a set's files that is not in the folder; empty if all are there.
[[nodiscard]] std::string missing_file(const PaperSet& set, const std::filesystem::path& folder);
/// Reads a set whose files are there: the public split, or the one that hashes of row numbers make.
/// Throws DataError if a file is damaged.
[[nodiscard]] PaperRows read_paper_rows(const PaperSet& set, const std::filesystem::path& folder);
/// Rows of the same shape, with labels that say nothing: for measuring time. A few features of sparse ones are much
/// more popular than the others.
[[nodiscard]] data::Table generated_rows(const PaperSet& set, std::size_t rows, std::uint64_t seed);

/// Every n-th row, so that there are at most `most`.
[[nodiscard]] data::Table some_rows(const data::Table& table, std::size_t most);

/// A table cut between the parties, encoded.
[[nodiscard]] TwoPartyRows cut_rows(const PaperSet& set, const data::Table& table);
/// The model of the set, with room for rows of these tables.
[[nodiscard]] TwoPartyModel model_of(const PaperSet& set, std::span<const data::Table* const> tables);

}  // namespace blindfl::lab::paper
