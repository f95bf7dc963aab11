// What a user's own program may look like; it knows nothing of BlindFL but the installed package.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "blindfl/tensor/int_matrix.h"

int main() {
  const auto x = blindfl::IntMatrix::dense(2, 3, {1, -2, 3, 4, 5, -6}, /*scale=*/0, /*bound=*/6);
  const std::vector<std::int64_t> expected = {1, 4, -2, 5, 3, -6};
  if (x.transpose().to_dense() != expected) {
    std::cerr << "consumer: the transpose of a 2 x 3 matrix is wrong\n";
    return 1;
  }
  std::cout << "consumer: BlindFL works from outside\n";
  return 0;
}
