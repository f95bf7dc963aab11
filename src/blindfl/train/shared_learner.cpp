#include "blindfl/train/shared_learner.h"

#include "blindfl/base/error.h"

namespace blindfl::train {

SharedLearnerImpl::SharedLearnerImpl(const std::shared_ptr<nn::SharedModel>& of, const nn::SharedLoss& by)
    : model(register_module("model", of)), loss(register_module("loss", by)) {}

SharedLearnerImpl::SharedLearnerImpl(const std::shared_ptr<nn::SharedModel>& of)
    : model(register_module("model", of)), loss(nullptr) {}

BatchStep SharedLearnerImpl::step() const {
  require<InvalidArgument>(!loss.is_empty(), "this model was made to score, without a loss: it does not learn");
  return [of = model, by = loss](const data::Batch& batch) mutable -> StepLoss {
    auto made = std::make_shared<nn::SharedLossImpl::Step>(by->forward(of->scores(batch), batch));
    return {.backward = [made] { made->backward(); }};
  };
}

}  // namespace blindfl::train
