#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "blindfl/nn/models.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/nn/shared_modules.h"

namespace blindfl::nn {

/// The loss of scores that nobody sees, by labels that B has: what a backward pass starts from.
class SharedLossImpl : public FederatedModule, public RangeWatcher {
 public:
  /// `outputs` is the number of classes for kMultinomial, 1 otherwise. `session` must outlive it.
  /// Throws as the functions do that it is made of.
  SharedLossImpl(protocol::Session& session, Family family, std::size_t outputs = 1,
                 const SharedTopOptions& options = {});
  ~SharedLossImpl() override;

  /// One step's loss: nobody knows its value.
  class Step {
   public:
    /// Runs the backward pass of all that made the scores. Once.
    void backward();

   private:
    friend class SharedLossImpl;
    Step(SharedTensor scores, SharedDerivative derivative);
    SharedTensor scores_;
    SharedDerivative derivative_;
  };
  /// Shares of the derivative of the mean loss over the batch's rows, of which B has the labels, and the weights where
  /// `SharedTopOptions::row_weights` says that rows have some (1 where a batch has none).
  /// Cost: a function of the scores; for kMultinomial a maximum and three of them; for kLinear nothing; with weights 20
  /// random OTs and 320 bytes for each score. Reveals: nothing. Throws DataError at B if a label is not one of the
  /// family's, or a weight is too large; InvalidArgument if rows have weights that were not announced, or do not count.
  [[nodiscard]] Step forward(const SharedTensor& scores, const data::Batch& batch);

  /// This party's share of the sum of the losses of a batch's rows, times their weights, 1 x 1: for `open_mean`.
  /// Cost: functions of the scores, and a product with B's labels. Reveals: nothing. Throws as `forward`.
  [[nodiscard]] ShareMatrix summed_loss(const SharedTensor& scores, const data::Batch& batch);
  /// Opens the mean over `rows` rows, whose losses add up to `sum`, to B; at A: nothing. See `shared_mean_loss`.
  [[nodiscard]] std::optional<double> open_mean(const ShareMatrix& sum, std::size_t rows);

  void check_ranges() override;

 private:
  struct Parts;
  void check(const SharedTensor& scores, const data::Batch& batch) const;
  std::unique_ptr<Parts> parts_;
};
TORCH_MODULE(SharedLoss);

}  // namespace blindfl::nn
