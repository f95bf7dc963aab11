#pragma once

#include <cstddef>
#include <string>

#include "blindfl/protocol/layers/run_length.h"
#include "blindfl/protocol/layers/sgd_plan.h"
#include "blindfl/protocol/session/top.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::protocol {

/// The public shape of both parties' features.
struct FeatureShape {
  std::size_t in_a = 0;  ///< A's features; 0 if A has none in this layer
  std::size_t in_b = 0;
  std::size_t batch = 128;  ///< the most rows a batch may have
  FixedPointSpec features_a{};
  FixedPointSpec features_b{};
  /// The most features of a row that are not 0; 0: all of them. A row with more is an error at its owner.
  std::size_t nonzeros_a = 0;
  std::size_t nonzeros_b = 0;
  /// Where B has several A's, and this is the layer with one of them: how many, and the features of the others. Initial
  /// weights follow from all.
  std::size_t peers = 1;
  std::size_t in_others = 0;
};

/// What a MatMul layer is told beside its shape.
struct MatMulLayerOptions {
  std::string name = "matmul";  ///< for error messages
  Top top = Top::kOpen;
  /// Of the derivative of the summed loss by Z. Exceeding its range is an error at B unless it clips. Under a shared
  /// top nobody sees it: the range is assumed, and for the top to keep.
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};
  int weight_scale = 32;
  double largest_weight = 1024.0;  ///< assumed of trained weights; it sizes what must not overflow
  int gradient_scale = 32;         ///< of gradients and momentum, at most: see MatMulParams
  /// Z is opened at this many fractional bits and no more. Under a shared top its shares have more, and those below are
  /// noise.
  int output_scale = 16;
  /// Assumed of |Z|, the sum of all layers that are opened together: it sizes the ring of its shares. A larger one is
  /// an error at B, as soon as it is opened; under a shared top nobody notices.
  double largest_output = 32768.0;
  /// Under a shared top: bits that the ring of Z has beyond that, for a top that lifts its shares from it. Each lift of
  /// a Z as large as it may be fails with a chance of 2^-(these bits + 5).
  int output_room = 0;
  /// Allows an output_scale above 20. It gives A's features away to B: from a finer Z they follow by lattice reduction.
  bool fine_outputs_reveal_features = false;
  /// Deviation of the initial weights; 0 stands for 1 / sqrt(3 (in_a + in_b)), as torch's Linear has it.
  double initial_deviation = 0.0;
  /// Names of the session's schemes that carry the products with A's and with B's features, forward and backward;
  /// empty: the session's default.
  std::string scheme_a{};
  std::string scheme_b{};
  /// How training will go. Updates under encryption need it, with `steps`, because it sizes what must not overflow.
  /// Where it is plain SGD with `steps`, shares of gradients are those of updates, which takes less to hide. Either way
  /// it must be what the optimizer gets.
  SgdOptions sgd{};
  /// How much will be hidden in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
};

/// What an Embed-MatMul layer is told beside its shape.
struct EmbedLayerOptions {
  std::string name = "embed";  ///< for error messages
  Top top = Top::kOpen;
  /// Of the derivative of the summed loss by Z. Exceeding its range is an error at B unless it clips. Under a shared
  /// top nobody sees it: the range is assumed, and for the top to keep.
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};
  int weight_scale = 32;
  double largest_weight = 64.0;     ///< assumed of trained weights; it sizes what must not overflow
  double largest_embedding = 16.0;  ///< assumed of trained tables
  int embedding_scale = 20;         ///< of looked-up embeddings, at most: in long runs less hides them better
  int gradient_scale = 28;
  /// Z is opened at this many fractional bits and no more. Under a shared top its shares have more, and those below are
  /// noise.
  int output_scale = 16;
  /// Assumed of |Z|, the sum of all layers that are opened together: it sizes the ring of its shares. A larger one is
  /// an error at B, as soon as it is opened; under a shared top nobody notices.
  double largest_output = 32768.0;
  /// Under a shared top: as of a MatMul layer.
  int output_room = 0;
  /// Allows an output_scale above 20. It gives A's features away to B: from a finer Z they follow by lattice reduction.
  bool fine_outputs_reveal_features = false;
  /// Deviation of the initial weights; 0 stands for 1 / sqrt(3 * inputs), as torch's Linear has it.
  double initial_deviation = 0.0;
  double table_deviation = 1.0;  ///< of the initial tables, as torch's Embedding has it
  std::string scheme{};          ///< for products with the weights; empty: the session's default
  /// For fields that are updated under encryption: how training will go. It must be what the optimizer gets, and
  /// `steps` must be given.
  SgdOptions sgd{};
  /// How much will be hidden in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
};

}  // namespace blindfl::protocol
