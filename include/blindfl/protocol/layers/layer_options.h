#pragma once

#include <cstddef>
#include <string>

#include "blindfl/protocol/layers/run_length.h"
#include "blindfl/protocol/layers/sgd_plan.h"
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
};

/// What a MatMul layer is told beside its shape.
struct MatMulLayerOptions {
  std::string name = "matmul";  ///< for error messages
  /// Of the derivative of the summed loss by Z. Exceeding its range is an error at B unless it clips.
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};
  int weight_scale = 32;
  double largest_weight = 1024.0;  ///< assumed of trained weights; it sizes what must not overflow
  int gradient_scale = 32;         ///< of gradients and momentum
  int output_scale = 16;           ///< Z is opened at this many fractional bits and no more
  /// Allows an output_scale above 20. It gives A's features away to B: from a finer Z they follow by lattice reduction.
  bool fine_outputs_reveal_features = false;
  /// Deviation of the initial weights; 0 stands for 1 / sqrt(3 (in_a + in_b)), as torch's Linear has it.
  double initial_deviation = 0.0;
  /// Names of the session's schemes that carry the products with A's and with B's features, forward and backward;
  /// empty: the session's default.
  std::string scheme_a{};
  std::string scheme_b{};
  /// With updates under encryption: how training will go, which sizes what must not overflow. It must be what the
  /// optimizer gets, and `steps` must be given.
  SgdOptions sgd{};
  /// How much will be hidden in all, which sizes masks: forward passes, those of scoring included.
  RunLength run{};
};

/// What an Embed-MatMul layer is told beside its shape.
struct EmbedLayerOptions {
  std::string name = "embed";  ///< for error messages
  /// Of the derivative of the summed loss by Z. Exceeding its range is an error at B unless it clips.
  FixedPointSpec derivative{.scale = 32, .largest = 256.0, .clip = false};
  int weight_scale = 32;
  double largest_weight = 64.0;     ///< assumed of trained weights; it sizes what must not overflow
  double largest_embedding = 16.0;  ///< assumed of trained tables
  int embedding_scale = 20;         ///< of the looked-up embeddings that are multiplied with the weights
  int gradient_scale = 28;
  int output_scale = 16;  ///< Z is opened at this many fractional bits and no more
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
