#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace blindfl::data {

/// Lets tables of strings be asked for a piece of text without a copy of it.
struct TextHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// A column of categories as a file has them: each name once, and 4 bytes for each time it occurs.
struct CategoryColumn {
  static constexpr std::uint32_t kMissing = ~std::uint32_t{0};

  std::string name;
  /// The names of the categories, in the order in which they first occurred.
  std::vector<std::string> dictionary{};
  /// Places in `dictionary`, or `kMissing`.
  std::vector<std::uint32_t> codes{};
  /// Row r has codes[i] for row_starts[r] <= i < row_starts[r + 1]. None: one code in each row.
  std::vector<std::size_t> row_starts{};

  [[nodiscard]] bool has_several() const { return !row_starts.empty(); }
  [[nodiscard]] std::size_t rows() const { return has_several() ? row_starts.size() - 1 : codes.size(); }
  [[nodiscard]] std::span<const std::uint32_t> codes_of(std::size_t row) const;
};

/// Collects a column, category by category.
class CategoryColumnBuilder {
 public:
  /// `several`: a row may have any number of categories, and `end_row()` ends it. Otherwise each one is a row.
  CategoryColumnBuilder(std::string name, bool several);

  void add(std::string_view category);
  void add_missing() { column_.codes.push_back(CategoryColumn::kMissing); }
  void end_row() { column_.row_starts.push_back(column_.codes.size()); }

  /// The column; the builder is empty afterwards.
  [[nodiscard]] CategoryColumn finish();

 private:
  CategoryColumn column_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> places_;
};

}  // namespace blindfl::data
