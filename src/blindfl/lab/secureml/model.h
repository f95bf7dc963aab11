#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/lab/secureml/products.h"
#include "blindfl/mpc/shared_relu.h"

namespace blindfl::lab::secureml {

/// What becomes of the last layer's scores. Derivatives are predictions less labels for either.
enum class Output : std::uint8_t {
  kScores,            ///< as they are: linear regression, half the squared error
  kPiecewiseSigmoid,  ///< clamp(z + 1/2, 0, 1), SecureML's approximate sigmoid, and the logistic loss' derivative
};

/// A network of full layers without biases, with ReLU between them; with one layer a regression. Who wants a bias
/// appends a column of ones to the features.
struct ModelSpec {
  /// Of the features, of hidden layers and of the outputs. With several outputs labels are one-hot, and each output
  /// is trained against its own column.
  std::vector<std::size_t> widths{};
  Output output = Output::kPiecewiseSigmoid;
  /// The learning rate over the batch size is 2^-rate_bits, so that weights are updated by truncation alone, as
  /// SecureML updates them.
  int rate_bits = 0;

  /// The `rate_bits` of a learning rate. Throws InvalidArgument if it is no power of two times the batch size, or is
  /// beyond 2^-30 to 1 of it.
  [[nodiscard]] static int rate_bits_of(double learning_rate, std::size_t batch);
};

/// Training on shares: linear and logistic regression and multi-layer perceptrons by SGD, as Mohassel and Zhang,
/// "SecureML: A System for Scalable Privacy-Preserving Machine Learning", S&P 2017, has them. Between the parties of a
/// session; both do the same.
///
/// Comparisons are those of this house (mpc/comparison.h), where SecureML has garbled circuits; predictions of several
/// classes are piecewise sigmoids, where it has a ratio of ReLUs. Nothing is opened but differences from masks.
class Model {
 public:
  /// From this party's shares of features, labels and initial weights: widths[i] x widths[i + 1] each. The features are
  /// opened less their mask here, once. All must outlive it. Throws InvalidArgument if shapes do not fit.
  Model(protocol::Session& session, TripletSource& triplets, const ModelSpec& spec, Words features, Words labels,
        std::vector<Words> weights);

  /// One step with the given rows. Cost: a triplet for each product, and what ReLU takes. Reveals: nothing.
  void step(std::span<const std::uint32_t> rows);
  /// This party's share of predictions.
  [[nodiscard]] Words predict(std::span<const std::uint32_t> rows);
  /// This party's shares.
  [[nodiscard]] const std::vector<Words>& weights() const { return weights_; }

 private:
  /// What a forward pass leaves for the backward pass: inputs of the layers behind the first.
  struct Pass {
    std::vector<LeftMatrix> hidden;
    Words prediction;
  };
  [[nodiscard]] Pass forward(std::span<const std::uint32_t> rows, mpc::SharedRelu::Keep keep);
  [[nodiscard]] Words layer_product(std::size_t layer, const Pass& pass, std::span<const std::uint32_t> rows, Form form,
                                    const Words& right);
  [[nodiscard]] Words activated(const Words& scores);
  /// The derivative of the layer's input's own input, from that of its output.
  [[nodiscard]] Words derivative_below(std::size_t layer, const Words& derivative);
  void drop(Pass pass);

  protocol::Session& session_;
  ModelSpec spec_;
  Products products_;
  LeftMatrix features_;
  Words labels_;
  std::vector<Words> weights_;
  std::vector<std::unique_ptr<mpc::SharedRelu>> relus_;
  std::unique_ptr<mpc::SharedRelu> clamp_;
};

}  // namespace blindfl::lab::secureml
