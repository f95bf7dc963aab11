#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "blindfl/lab/secureml/triplet_ways.h"

// What a mini-batch costs SecureML: matrix products alone, triplets included, as the paper's efficiency table counts
// it. Both parties run as threads over a memory channel, one thread each; with a third party that is a third thread,
// over channels of its own.

namespace blindfl::lab::secureml {

/// One layer's products of one mini-batch: batch x features times features x outputs forward, and features x batch
/// times batch x outputs backward.
struct BatchShape {
  std::size_t batch = 128;
  std::size_t features = 0;  ///< of both parties together; shares are dense, so zeros count
  std::size_t outputs = 1;
};

/// Per mini-batch. What is made once for a run (keys, base OTs, the shares of the rows and their opening less a mask)
/// is not in it.
struct BatchCost {
  double seconds = 0;        ///< until both parties have their shares of both products
  std::uint64_t bytes = 0;   ///< payloads that all parties together send
  std::uint64_t memory = 0;  ///< bytes of matrices and messages that all parties together hold at once, counted
};

/// Carries out `steps` mini-batches of made-up numbers after a first that does not count: the median's seconds, the
/// mean bytes. Throws InvalidArgument for an empty shape or no steps.
[[nodiscard]] BatchCost measure_batch(const BatchShape& shape, Triplets triplets, std::size_t steps);

/// What `measure_batch` would find, from two smaller numbers of features that are measured: seconds and bytes grow with
/// the features as a straight line does. Memory is counted for the whole shape.
struct Prediction {
  BatchCost cost;
  std::string how;            ///< "measured", or "measured at 1,000 and 2,000 features, along a straight line"
  bool extrapolated = false;  ///< the latter
};
/// Shapes of up to `most_features` are measured themselves.
[[nodiscard]] Prediction predict_batch(const BatchShape& shape, Triplets triplets, std::size_t steps,
                                       std::size_t most_features = 4096);

/// Bytes that all parties together need to hold the products of one mini-batch: counted, nothing is run.
[[nodiscard]] std::uint64_t batch_memory(const BatchShape& shape, Triplets triplets);
/// Bytes that both parties together need for the shares of a data set, its masks and openings: what SecureML holds for
/// a whole run.
[[nodiscard]] std::uint64_t data_set_memory(std::size_t rows, std::size_t features);

/// What a machine has, for all parties together.
struct Limits {
  std::uint64_t memory = 0;
  double seconds = 1800;
};
/// Why a mini-batch cannot be run within the limits, in words with figures ("needs 161 GB of memory, ..."); nothing if
/// it can. By its memory, which is counted; by the time that was predicted for it; by either, where `predict_batch` is
/// asked unless memory refuses already.
[[nodiscard]] std::optional<std::string> refusal_by_memory(const BatchShape& shape, Triplets triplets,
                                                           const Limits& limits);
[[nodiscard]] std::optional<std::string> refusal_by_time(const Prediction& prediction, const Limits& limits);
[[nodiscard]] std::optional<std::string> refusal(const BatchShape& shape, Triplets triplets, const Limits& limits);

}  // namespace blindfl::lab::secureml
