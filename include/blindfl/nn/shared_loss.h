#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"
#include "blindfl/nn/models.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/nn/shared_modules.h"

namespace blindfl::nn {

/// What B learns of how good a model is on many rows.
struct SharedMeans {
  double loss = 0;
  std::optional<double> accuracy{};  ///< of classes: the part of the rows that are right, weights or none
};

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

  /// Shares of what rows say of a model, batch by batch: of all of them together, means are opened.
  class Tally {
    friend class SharedLossImpl;
    std::size_t rows_ = 0;
    std::optional<ShareMatrix> loss_;
    std::optional<ShareMatrix> right_;
    /// Of classes: rows that are not counted yet, and a bit of B's for each (see mpc::count_right).
    SecretVector<UInt128> margins_;
    std::vector<bool> turned_;
  };
  /// Adds this party's shares of a batch's losses, times their weights, and, for classes, of which rows are right, each
  /// of which counts once: a score of 0 or more is one of class 1, and of more classes the largest is taken.
  /// Cost: functions of the scores, and a product with B's labels; for kMultinomial `mpc::own_scores_cost`; for classes
  /// `mpc::count_right_cost` of many rows at once. Reveals: nothing. Throws as `forward`.
  void add(Tally& tally, const SharedTensor& scores, const data::Batch& batch);
  /// Opens the means to B; at A: nothing. See `shared_means`.
  [[nodiscard]] std::optional<SharedMeans> open_means(Tally tally);

  void check_ranges() override;

 private:
  struct Parts;
  void check(const SharedTensor& scores, const data::Batch& batch) const;
  void compare(Tally& tally);
  std::unique_ptr<Parts> parts_;
};
TORCH_MODULE(SharedLoss);

}  // namespace blindfl::nn
