#include "blindfl/prepare/encoded_file.h"

#include <algorithm>

namespace blindfl::prepare {

std::size_t rows_of_piece(std::size_t cells) {
  return std::clamp<std::size_t>(kPieceCells / std::max<std::size_t>(cells, 1), 1, kPieceRows);
}

}  // namespace blindfl::prepare
