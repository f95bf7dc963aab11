#pragma once

#include <torch/torch.h>

#include <memory>

#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/train/trainer.h"

namespace blindfl::train {

/// A model with a shared top beside the loss that it is trained with, as one module: Trainer steps through it, and
/// TrainingLoop watches the ranges of both, and saves what there is of them.
///
/// ```
/// blindfl::train::SharedLearner learner(model.ptr(), blindfl::SharedLoss(session, Family::kLogistic, 1, options));
/// blindfl::train::Trainer trainer(*learner, learner->step(), rows, train_options);
/// blindfl::train::TrainingLoop loop(run, *learner, trainer);
/// ```
class SharedLearnerImpl : public nn::FederatedModule {
 public:
  SharedLearnerImpl(const std::shared_ptr<nn::SharedModel>& model, const nn::SharedLoss& loss);
  /// Of a finished model, which is to score and not to learn: what was saved of a learner is loaded into it, and the
  /// functions of a loss, which take seconds to make, are not made.
  explicit SharedLearnerImpl(const std::shared_ptr<nn::SharedModel>& model);

  /// Scores and loss of a batch: nobody learns the value. Throws InvalidArgument without a loss.
  [[nodiscard]] BatchStep step() const;

  std::shared_ptr<nn::SharedModel> model;
  nn::SharedLoss loss;  ///< empty of a model that only scores
};
TORCH_MODULE(SharedLearner);

}  // namespace blindfl::train
