#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
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

constexpr double kStandardErrors = 3;

inline bool near_chance(const std::string& what, const std::vector<double>& of_seeds, double chance) {
  const MeanOfSeeds seen = mean_of(of_seeds);
  std::cout << what << ": " << seen.mean << ", " << (seen.mean - chance) / seen.error << " standard errors of "
            << seen.error << " from chance, " << of_seeds.size() << " seeds\n";
  EXPECT_LT(seen.error, 0.1) << what << ": too few rows or seeds to see anything";
  return std::abs(seen.mean - chance) < kStandardErrors * seen.error;
}

/// Of what is the same in every run.
inline void expect_chance(const std::string& what, const std::vector<double>& of_seeds, double chance = 0.5) {
  EXPECT_TRUE(near_chance(what, of_seeds, chance)) << what;
}

/// An attack that is to tell nothing.
struct VainAttack {
  std::string what;
  double chance = 0.5;
};
/// What each of several attacks told with the seeds first, first + 1, ...
using OfSeeds = std::function<std::vector<std::vector<double>>(std::uint64_t first, std::uint64_t count)>;

/// Of what has shares in it, whose randomness is fresh in every run: of few seeds, chance alone leaves three standard
/// errors once in fifty runs. What left them is drawn again, with other seeds and four times as many, which alone
/// decide then. What is no chance is further away the more there are.
inline void expect_chance(const std::vector<VainAttack>& attacks, std::uint64_t seeds, const OfSeeds& of_seeds) {
  constexpr std::uint64_t kTimes = 4;
  const std::vector<std::vector<double>> told = of_seeds(1, seeds);
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    if (!near_chance(attacks[i].what, told.at(i), attacks[i].chance)) again.push_back(i);
  }
  if (again.empty()) return;
  const std::vector<std::vector<double>> told_again = of_seeds(seeds + 1, kTimes * seeds);
  for (const std::size_t i : again) expect_chance(attacks[i].what, told_again.at(i), attacks[i].chance);
}

}  // namespace blindfl::lab
