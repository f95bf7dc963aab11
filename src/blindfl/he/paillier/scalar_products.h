#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/ring.h"

// Many products of powers at once: a matrix of small exponents, private to who multiplies, times a matrix of
// ciphertexts. One power for each entry would take some twenty products; the methods here share the work between the
// entries of a row, of a column, or of both, and come to between one product for an entry (0 and 1) and about two and a
// half (dense, 16 bits).

namespace blindfl::he::paillier {

/// A sparse matrix of small signed exponents. The entries of a row may come in any order and repeat bases.
struct Scalars {
  struct Entry {
    std::uint32_t base;
    std::int64_t exponent;  ///< of a magnitude of at most 2^62
  };
  std::vector<std::size_t> row_starts;  ///< rows + 1 of them: where in `entries` a row begins
  std::vector<Entry> entries;
  std::size_t bases = 0;  ///< entries refer to bases below this

  [[nodiscard]] std::size_t rows() const { return row_starts.empty() ? 0 : row_starts.size() - 1; }
  [[nodiscard]] std::span<const Entry> row(std::size_t r) const {
    return std::span(entries).subspan(row_starts[r], row_starts[r + 1] - row_starts[r]);
  }
};

enum class ScalarMethod {
  kTables,   ///< tables of each base's odd powers, shared by all rows; squarings shared by a row's entries
  kBuckets,  ///< rows in groups: what the same rows of a group need is multiplied once for all of them
  kChains,   ///< each row alone, entries helping each other: for bases that hardly any two rows share
};

/// How to multiply, and what it takes.
struct ScalarChoice {
  ScalarMethod method = ScalarMethod::kTables;
  /// kTables: bits of the widest window a base may take, 1 to 8. kBuckets: rows of a group, 1 to 12.
  int size = 8;
  /// kTables: windows have digits of both signs, which are fewer, whatever the sign of the exponents.
  bool balanced = false;
  /// kTables: all powers instead of the odd ones, for each window of the exponents, so that rows have nothing to
  /// square: for rows too short to share squarings. Not for balanced digits.
  bool combs = false;
  /// kTables: negative digits take powers of the base's inverse, instead of a second product to divide by.
  bool inverses = false;

  std::size_t products = 0;
  std::size_t squarings = 0;
  bool inversion = false;  ///< whether a number is inverted; one is enough, however many are needed

  /// In products. A squaring takes three quarters of one, an inversion what some hundred take.
  [[nodiscard]] double cost() const {
    return static_cast<double>(products) + 0.75 * static_cast<double>(squarings) + (inversion ? 150.0 : 0.0);
  }
};

/// The least costly way to multiply, from the exponents alone. What `accumulate` adds is the same for all and not in
/// it: one product for each output whose row has entries.
/// Throws InvalidArgument as `multiply_scalars`.
[[nodiscard]] ScalarChoice choose(const Scalars& scalars, std::size_t groups);

/// outputs[r * groups + g] = the product over row r's entries of bases[base * groups + g]^exponent; with `accumulate`,
/// times what is there. A row without entries, or with none but zeros, gives 1.
///
/// Outputs are rows of their own: none is a base, none is there twice. The result does not depend on the number of
/// threads. Reveals, by the time it takes: something of the exponents, which are the caller's own; nothing of the
/// bases. Throws InvalidArgument if the scalars are malformed, or if a base to divide by has no inverse.
void multiply_scalars(const Ring& ring, const Scalars& scalars, const Limb* const* bases, std::size_t groups,
                      Limb* const* outputs, bool accumulate, ThreadPool& pool,
                      std::optional<ScalarChoice> forced = std::nullopt);

}  // namespace blindfl::he::paillier
