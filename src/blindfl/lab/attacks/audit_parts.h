#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "blindfl/run/attack_page.h"

// What all audits of a party's own view have in common.

namespace blindfl::lab::attacks {

/// The mean of numbers, and how far one of them is from it.
struct Spread {
  double mean = 0;
  double deviation = 0;
};
[[nodiscard]] Spread spread_of(const std::vector<double>& numbers);

/// What `number(random)` is for somebody who has random numbers: `draws` times.
template <class F>
Spread by_chance(int draws, std::uint64_t seed, F&& number) {
  torch::Generator random = at::detail::createCPUGenerator(seed);
  std::vector<double> numbers;
  for (int i = 0; i < draws; ++i) numbers.push_back(number(random));
  return spread_of(numbers);
}

/// Random numbers of the shape and size of `like`, output by output, at so many fractional bits.
[[nodiscard]] torch::Tensor random_like(const torch::Tensor& like, torch::Generator& random);

/// Those columns that have two values and no more, as zeros and ones.
[[nodiscard]] torch::Tensor two_valued(const torch::Tensor& columns);

/// With a constant beside them.
[[nodiscard]] torch::Tensor with_constant(const torch::Tensor& columns);

}  // namespace blindfl::lab::attacks
