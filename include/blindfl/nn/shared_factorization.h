#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <vector>

#include "blindfl/nn/factorization.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/nn/shared_modules.h"

// Factorisation machines whose top nobody sees into: the squares of z, and on the way back z times the derivative by
// the score, are exact element-wise products of shares.

namespace blindfl::nn {

/// `z_0 + 1/2 sum_f z_f^2` of each row, of shared z with 1 + k columns: one column.
class SharedFactorizationImpl : public SharedModule, public RangeWatcher {
 public:
  /// Right for z_1, ..., z_k from -16 to 16; what leaves that is noticed by `nn::check_ranges`.
  SharedFactorizationImpl(protocol::Session& session, std::size_t factors, const SharedTopOptions& options = {});
  ~SharedFactorizationImpl() override;

  /// Cost: a comparison that lifts k values a row, and an element-wise product; on the way back another product, and a
  /// comparison where the derivative is not shared modulo 2^128. Reveals: nothing. Throws InvalidArgument if there are
  /// not 1 + k columns.
  SharedTensor forward(const SharedTensor& x) override;
  void check_ranges() override;
  void pretty_print(std::ostream& stream) const override;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};
TORCH_MODULE(SharedFactorization);

/// FactorizationMachine on shares. Derivatives by factors are up to 16 times those by scores: the source layer's
/// `derivative.largest` must have room for that. Its usual 256 has, for logistic losses, also with weights of rows.
class SharedFactorizationMachineImpl : public SharedModel {
 public:
  /// Throws InvalidArgument without factors, if `derivative.largest` is too small, or as the layers do.
  SharedFactorizationMachineImpl(protocol::Session& session, const FeatureShape& shape,
                                 std::size_t factors = kDefaultFactors, const MatMulOptions& options = {},
                                 const SharedTopOptions& top_options = {});
  SharedTensor scores(const data::Batch& batch) override { return bias(pairs(shared_output(source->shares(batch)))); }

  MatMul source;
  SharedFactorization pairs;
  SharedBias bias;
};
TORCH_MODULE(SharedFactorizationMachine);

/// DeepFm on shares.
class SharedDeepFmImpl : public SharedModel {
 public:
  /// As DeepFm and SharedFactorizationMachine.
  SharedDeepFmImpl(protocol::Session& session, const FeatureShape& numeric, const CategoryShape& categories,
                   std::size_t factors, const std::vector<std::size_t>& hidden,
                   Activation activation = Activation::kRelu, const TwoSourceOptions& options = {},
                   const SharedTopOptions& top_options = {});
  SharedTensor scores(const data::Batch& batch) override;

  MatMul source;
  SharedFactorization pairs;
  EmbedMatMul deep;
  SharedBias bias;
  SharedSequential top;
};
TORCH_MODULE(SharedDeepFm);

}  // namespace blindfl::nn
