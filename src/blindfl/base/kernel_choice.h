#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"

// Choosing among kernels for different kinds of processor. `Kernels` has a `name`; one set of them runs everywhere.

namespace blindfl {

/// Those of `fast` that are there, null stands for what this processor cannot run, and then the portable ones.
template <class Kernels>
[[nodiscard]] std::vector<const Kernels*> kernels_that_run(std::initializer_list<const Kernels*> fast,
                                                           const Kernels& portable) {
  std::vector<const Kernels*> found;
  for (const Kernels* kernels : fast) {
    if (kernels != nullptr) found.push_back(kernels);
  }
  found.push_back(&portable);
  return found;
}

/// Throws InvalidArgument, naming those that there are, if none of `available` has this name.
template <class Kernels>
[[nodiscard]] const Kernels& kernels_named(std::string_view name, const std::vector<const Kernels*>& available) {
  std::string names;
  for (const Kernels* kernels : available) {
    if (kernels->name == name) return *kernels;
    names += names.empty() ? "" : ", ";
    names += kernels->name;
  }
  fail<InvalidArgument>("this processor cannot run the kernels '", name, "'; it can run: ", names);
}

}  // namespace blindfl
