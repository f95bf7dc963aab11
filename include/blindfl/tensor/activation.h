#pragma once

namespace blindfl {

/// What follows a hidden layer. Here and not in nn, so that programs without torch can name it.
enum class Activation { kRelu, kTanh };

}  // namespace blindfl
