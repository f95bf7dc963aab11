#pragma once

#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "blindfl/lab/baselines/vertical_rows.h"
#include "made_up/synthetic.h"
#include "made_up/synthetic_categories.h"
#include "made_up/tables.h"
#include "made_up/vertical_split.h"

// Made-up rows of both parties for baselines and attacks, to train and to test with.

namespace blindfl::lab {

using baselines::VerticalFields;
using baselines::VerticalRows;

struct TrainAndTest {
  VerticalRows train;
  VerticalRows test;
  VerticalFields fields{};
};

inline LocalRows rows_of_table(const data::Table& table, bool with_labels) {
  return {.numeric = table, .fields = {}, .labels = with_labels ? table.labels() : std::vector<double>{}};
}

inline VerticalRows rows_of_joined(const data::Table& joined, std::size_t columns_a) {
  const made_up::VerticalSplit split = made_up::vertical_split(joined, columns_a);
  return {.a = rows_of_table(split.a, false), .b = rows_of_table(split.b, true)};
}

inline VerticalRows part_of(const VerticalRows& rows, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> chosen(end - begin);
  std::iota(chosen.begin(), chosen.end(), static_cast<std::uint32_t>(begin));
  return {.a = rows.a.select(chosen), .b = rows.b.select(chosen)};
}

/// Two thirds are for training.
inline TrainAndTest numeric_rows(const made_up::SyntheticSpec& spec) {
  const VerticalRows all = rows_of_joined(made_up::make_synthetic(spec).joined, spec.columns_a);
  const std::size_t middle = spec.rows * 2 / 3;
  return {.train = part_of(all, 0, middle), .test = part_of(all, middle, spec.rows)};
}

inline TrainAndTest categorical_rows(const made_up::SyntheticCategoriesSpec& spec) {
  const made_up::SyntheticCategories made = made_up::make_synthetic_categories(spec);
  VerticalRows all = rows_of_joined(made.joined, spec.columns_a);
  all.a.fields = made.a.encoded;
  all.b.fields = made.b.encoded;
  const std::size_t middle = spec.rows * 2 / 3;
  return {.train = part_of(all, 0, middle),
          .test = part_of(all, middle, spec.rows),
          .fields = {.a = made.a.fields, .b = made.b.fields}};
}

/// The mean over seeds, and its standard error.
struct MeanOfSeeds {
  double mean = 0;
  double error = 0;
};
inline MeanOfSeeds mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

/// The randomness of shares is fresh in every run: three standard errors, which are printed, would be left once in a
/// hundred runs of a test, and five hardly ever.
inline void expect_chance(const char* what, const std::vector<double>& of_seeds, double chance = 0.5) {
  const MeanOfSeeds seen = mean_of(of_seeds);
  std::cout << what << ": " << seen.mean << ", " << (seen.mean - chance) / seen.error << " standard errors of "
            << seen.error << " from chance, " << of_seeds.size() << " seeds\n";
  EXPECT_LT(std::abs(seen.mean - chance), 5 * seen.error) << what;
  EXPECT_LT(seen.error, 0.1) << what << ": too few rows or seeds to see anything";
}

}  // namespace blindfl::lab
