#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "blindfl/he/lattice/sparse_inverse.h"

namespace blindfl::he::lattice {

/// The tables of sparse inverse transforms, one for each modulus, made when a stride is first used. For any thread.
class SparseTables {
 public:
  using Table = std::vector<SparseInverse>;
  /// Makes a stride's table of one modulus.
  using Make = std::function<SparseInverse(std::size_t modulus, std::size_t stride)>;

  SparseTables(std::size_t moduli, Make make) : moduli_(moduli), make_(std::move(make)) {}

  /// Valid for as long as this lives.
  [[nodiscard]] const Table& of(std::size_t stride) {
    const std::lock_guard lock(mutex_);
    Table& table = tables_[stride];
    while (table.size() < moduli_) table.push_back(make_(table.size(), stride));
    return table;
  }

 private:
  std::size_t moduli_;
  Make make_;
  std::mutex mutex_;
  std::map<std::size_t, Table> tables_;
};

}  // namespace blindfl::he::lattice
