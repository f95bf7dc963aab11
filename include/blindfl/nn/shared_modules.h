#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/nn/shared_tensor.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "blindfl/protocol/session/session.h"  // torch asks for a whole type where a module is made
#include "blindfl/tensor/activation.h"

// Layers of a top model on shares, which read like torch's. Each party has a share of every weight, value and
// derivative, and no layer opens anything:
//
// ```
// blindfl::SharedSequential top(blindfl::SharedReLU(s, options), blindfl::SharedLinear(s, 64, 16, options),
//                               blindfl::SharedReLU(s, options), blindfl::SharedLinear(s, 16, 1, options));
// const blindfl::SharedTensor scores = top->forward(shared_output(source->shares(batch)));
// ```

namespace blindfl::nn {

using protocol::SharedTopOptions;

/// A layer of a shared top. One backward pass for each forward pass, as the losses make them.
class SharedModule : public FederatedModule {
 public:
  virtual SharedTensor forward(const SharedTensor& x) = 0;
  SharedTensor operator()(const SharedTensor& x) { return forward(x); }
};

/// x W + b, of shared x, W and b.
class SharedLinearImpl : public SharedModule {
 public:
  /// Draws this party's initial shares, so that weights and bias are as torch's Linear starts them. `session` must
  /// outlive it. Throws InvalidArgument if a product could overflow or hide too little.
  SharedLinearImpl(protocol::Session& session, std::size_t in, std::size_t out, const SharedTopOptions& options = {});
  ~SharedLinearImpl() override;

  /// Cost: a product of shared matrices; on the way back two at the same time. Reveals: nothing.
  SharedTensor forward(const SharedTensor& x) override;

  [[nodiscard]] FederatedParameter weight() const { return weight_; }
  [[nodiscard]] FederatedParameter bias() const { return bias_; }

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;
  void pretty_print(std::ostream& stream) const override;

 private:
  struct Parts;
  SharedLinearImpl(protocol::Session& session, std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;  ///< also of the passes that are under way
  FederatedParameter weight_;
  FederatedParameter bias_;
};
TORCH_MODULE(SharedLinear);

/// A bias alone: what follows a source layer.
class SharedBiasImpl : public SharedModule {
 public:
  /// Normal numbers of that standard deviation to begin with.
  SharedBiasImpl(protocol::Session& session, std::size_t width, double deviation = 0,
                 const SharedTopOptions& options = {});
  ~SharedBiasImpl() override;

  /// Local: nothing is sent.
  SharedTensor forward(const SharedTensor& x) override;
  [[nodiscard]] FederatedParameter bias() const { return bias_; }

  [[nodiscard]] std::optional<protocol::Settings> state_settings() const override;
  void save_layer(ByteSink& out) const override;
  void load_layer(ByteSource& in) override;

 private:
  struct Parts;
  SharedBiasImpl(protocol::Session& session, std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;
  FederatedParameter bias_;
};
TORCH_MODULE(SharedBias);

/// max(x, 0), by comparison and selection: exact for magnitudes below 2^8, but that values from 0 to 2^-12 may
/// become 0. `check_ranges` tells whether larger ones were there.
class SharedReLUImpl : public SharedModule, public RangeWatcher {
 public:
  explicit SharedReLUImpl(protocol::Session& session, const SharedTopOptions& options = {});
  ~SharedReLUImpl() override;

  /// Cost: see mpc::SharedRelu. Reveals: nothing.
  SharedTensor forward(const SharedTensor& x) override;
  void check_ranges() override;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};
TORCH_MODULE(SharedReLU);

using blindfl::SmoothActivation;

/// A smooth function of `width` values a row, and its derivative.
class SharedActivationImpl : public SharedModule, public RangeWatcher {
 public:
  /// Right from -options.hidden_range to options.hidden_range. Throws as the functions do that it is made of.
  SharedActivationImpl(protocol::Session& session, SmoothActivation function, std::size_t width,
                       const SharedTopOptions& options = {});
  ~SharedActivationImpl() override;

  /// Cost: one round trip for the function and its derivative; on the way back an element-wise product, and a
  /// comparison that lifts it. Reveals: nothing.
  SharedTensor forward(const SharedTensor& x) override;
  void check_ranges() override;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};
TORCH_MODULE(SharedActivation);

/// Layers one after the other.
class SharedSequentialImpl : public SharedModule {
 public:
  SharedSequentialImpl() = default;
  template <class... Modules>
  explicit SharedSequentialImpl(const Modules&... modules) {
    (push_back(modules.ptr()), ...);
  }

  void push_back(const std::shared_ptr<SharedModule>& layer);
  SharedTensor forward(const SharedTensor& x) override;
  [[nodiscard]] std::size_t size() const { return layers_.size(); }

 private:
  std::vector<std::shared_ptr<SharedModule>> layers_;
};
TORCH_MODULE(SharedSequential);

}  // namespace blindfl::nn
