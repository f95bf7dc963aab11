#pragma once

#include <cstddef>
#include <cstdint>

#include "blindfl/protocol/layers/sgd_plan.h"

namespace blindfl::protocol {

/// How long a run is. Masks and noise hide each value with a small chance of failing, so what hides all of them must
/// know how many there will be. Public: both parties must say the same.
struct RunLength {
  /// Forward passes of a layer, of full batches: training, validation, steps that are taken again after resume, tests,
  /// scoring. Whoever makes more has one bit less hiding with each doubling. 0: twice the declared steps
  /// (`SgdOptions::steps`, times `passes_per_step`), or `kPassesIfUndeclared`.
  std::uint64_t passes = 0;
  /// Source layers of the model: they share what the run may give away.
  std::size_t layers = 1;
  /// The rows to train on, if their products with B's numeric features are made once before the first step, as Trainer
  /// does. For planners, which then do not count these products in every step; 0: they do.
  std::size_t kept_rows = 0;
};

constexpr std::uint64_t kPassesIfUndeclared = 2000;

/// The passes that are counted on.
[[nodiscard]] std::uint64_t counted_passes(const RunLength& run, const SgdOptions& sgd);

/// `ProductSpec::run_values` of a product that opens `values` values in each of `passes` passes, in a layer with
/// `products` products. At most 2^62.
[[nodiscard]] std::uint64_t run_values(const RunLength& run, std::uint64_t passes, double values, std::size_t products);

/// Throws InvalidArgument, saying what to do, if a length cannot be: no layers, or more than 2^40 passes.
void check_run_length(const RunLength& run, const char* layer);

}  // namespace blindfl::protocol
