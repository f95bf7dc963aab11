#pragma once

namespace blindfl {

/// What follows a hidden layer. Here and not in nn, so that programs without torch can name it.
enum class Activation { kRelu, kTanh };

/// Functions of hidden layers that sums of waves come close to, on an interval.
enum class SmoothActivation { kTanh, kSigmoid, kGelu, kSilu };

}  // namespace blindfl
