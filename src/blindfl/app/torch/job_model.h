#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/plan/job_layers.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/factorization.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/models.h"
#include "blindfl/nn/shared_factorization.h"
#include "blindfl/train/shared_learner.h"
#include "blindfl/train/trainer.h"

namespace blindfl::app {

/// How B's numeric labels are standardised for training: (label - center) / scale. Derivatives then have a range that
/// does not depend on the labels' unit, and tells nothing of them. Scores are in the labels' own unit again.
struct LabelScaling {
  double center = 0;
  double scale = 1;
};
/// Mean and standard deviation of those that are numbers; a scale of 1 where all are the same.
[[nodiscard]] LabelScaling standardised(const std::vector<double>& labels);

/// A job's model, as training and scoring need it.
struct JobModel {
  std::shared_ptr<nn::FederatedModule> module;
  /// At B: scores. Under a shared top they are opened here, rounded: for finished models alone.
  train::Forward forward;
  train::SharedLearner learner = nullptr;  ///< of a shared top: what is trained, `module` itself; else empty
  nn::Family family{};
  std::size_t outputs = 1;
  LabelScaling labels{};                ///< of linear regression, at B
  std::vector<protocol::PlanRow> plan;  ///< what the planner weighed and chose for the source layers
  bool encrypted_update = false;        ///< A's weights, or some of its tables, learn under encryption
  bool encrypted_update_b = false;      ///< some of B's tables do

  [[nodiscard]] bool shared_top() const { return !learner.is_empty(); }
};

/// What the layers of a model are called in a job, as those of nn take it.
[[nodiscard]] nn::DlrmShape dlrm_shape(const job::Model& model);

/// What a model is made for: a finished one that is loaded needs no loss.
enum class ModelUse { kTraining, kScoring };

/// Makes the model with this party's initial shares. Both parties make it at the same time.
/// Throws ConfigError or InvalidArgument if the layers could overflow, or no scheme suits.
/// `layers` are those of all pairs of an A and B, of which a party takes its own: see `Session::place`.
[[nodiscard]] JobModel make_model(const protocol::Sessions& sessions, const job::Model& model, const JobLayers& layers,
                                  ModelUse use = ModelUse::kTraining);

/// Probabilities, expected counts, or expected labels in their own unit.
[[nodiscard]] torch::Tensor job_predictions(const JobModel& model, const torch::Tensor& scores);

/// The mean loss of rows as B's job wants it, with weights of classes and rows. At A, a value without meaning.
[[nodiscard]] train::WeightedLoss job_loss(const JobModel& model, const std::vector<double>& class_weights);

}  // namespace blindfl::app
