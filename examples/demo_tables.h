#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/data/table.h"
#include "made_up/synthetic_categories.h"

// What the demos have in common: made-up people, each company's table of them, and plain libtorch on tables side by
// side.

namespace demo {

using People = blindfl::made_up::SyntheticCategories;
using Rows = std::vector<std::uint32_t>;

/// A categorical field of a company's, and what each person has of it: parts of `People`, which must outlive it.
struct Field {
  const blindfl::CategoryField* field;
  const blindfl::IntMatrix* encoded;
};

/// Who has which columns of whom.
struct Company {
  std::string folder;
  std::string columns;    ///< what its numeric columns are called, before their number
  std::size_t first = 0;  ///< of the numeric columns of all
  std::size_t count = 0;  ///< of these
  std::vector<Field> fields{};
  std::string label{};       ///< what the labels' column is called; empty: it has none
  std::size_t lacks = 2;     ///< it does not know one person of so many
  bool other_order = false;  ///< than the others

  [[nodiscard]] bool knows(std::size_t person) const { return person % lacks != lacks - 1; }
};

/// Writes what a company has of some people to `folder`/`company.folder`/`name`.
/// Throws DataError if that is not possible.
void write_table(const std::filesystem::path& folder, std::string_view name, const Company& company,
                 const People& people, std::size_t begin, std::size_t end);

/// Those of some people that all these companies know.
[[nodiscard]] Rows common(const std::vector<Company>& companies, std::size_t begin, std::size_t end);

/// What is trained on tables side by side.
struct PlainTask {
  std::vector<Company> companies{};  ///< whose columns
  std::vector<Field> one_hot{};      ///< binary features in place of embeddings
  Rows train{};
  Rows test{};
  std::size_t epochs = 6;
};
/// The AUC of plain libtorch: Wide & Deep with hidden layers 16 and 8, as the demos' jobs have it.
[[nodiscard]] double plain_auc(const People& people, const PlainTask& task);

/// The AUC of scores that `blindfl predict` wrote.
[[nodiscard]] double federated_auc(const People& people, const std::filesystem::path& scores);

}  // namespace demo
