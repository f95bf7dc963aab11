#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/base/aligned.h"
#include "blindfl/base/random.h"
#include "blindfl/he/lattice/kernels.h"

namespace blindfl::he::lattice {

/// Tests that hold for every set of kernels.
class AnyKernels : public ::testing::TestWithParam<std::string> {
 protected:
  using Values = AlignedVector<std::uint64_t>;

  const Kernels& kernels_ = kernels_by_name(GetParam());
  SeededRandom random_{3};

  Values random_values(std::size_t n, const Modulus& m) {
    Values values(n);
    for (auto& v : values) v = random_.below(m.value());
    return values;
  }
};

/// Those that this processor can run.
inline std::vector<std::string> kernel_names() {
  std::vector<std::string> all;
  for (const Kernels* kernels : available_kernels()) all.emplace_back(kernels->name);
  return all;
}

}  // namespace blindfl::he::lattice
