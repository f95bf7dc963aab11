#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"

namespace blindfl::ot {

/// What bins are dealt by: drawn by the party with the categories, and not a secret.
using BinSeed = std::array<std::byte, 32>;

/// Which categories are in which bin. Each of kPermutations permutations of all categories is dealt, one after the
/// other, into `bins_each` bins: a category is in one bin of each. Leaf v of bin x is the category that was dealt to it
/// in round v; a last leaf stands for none.
class BinLayout {
 public:
  static constexpr std::size_t kPermutations = 4;

  /// Cost: kPermutations * `categories` random numbers. `bins_each` is a multiple of 8.
  BinLayout(const BinSeed& seed, std::size_t categories, std::size_t bins_each);

  [[nodiscard]] const BinSeed& seed() const { return seed_; }
  [[nodiscard]] std::size_t categories() const { return categories_; }
  [[nodiscard]] std::size_t bins_each() const { return bins_each_; }
  [[nodiscard]] std::size_t bins() const { return kPermutations * bins_each_; }
  /// Leaves of a bin, the last one for none.
  [[nodiscard]] std::size_t leaves() const { return (categories_ + bins_each_ - 1) / bins_each_ + 1; }

  struct Spot {
    std::uint32_t bin;
    std::uint32_t leaf;
  };
  [[nodiscard]] Spot spot(std::size_t permutation, std::uint32_t category) const;
  /// For 8 bins from 8 * group on: the category of leaf v of bin q is number 8 v + q, `categories()` where there is
  /// none.
  [[nodiscard]] const std::uint32_t* members(std::size_t group) const { return members_.data() + group * leaves() * 8; }

 private:
  BinSeed seed_;
  std::size_t categories_;
  std::size_t bins_each_;
  std::vector<std::uint32_t> positions_;  // of each category, in each permutation
  std::vector<std::uint32_t> members_;
};

/// Bins for the categories of a batch: one for each, however often it comes.
struct Placement {
  SecretVector<std::uint32_t> bin_of;    ///< each look-up's
  SecretVector<std::uint32_t> category;  ///< each bin's; as many as there are, if it has none
  SecretVector<std::uint32_t> leaf;      ///< each bin's
};

/// By a largest matching: empty only if there is none that has all. Cost: for n look-ups some n steps.
[[nodiscard]] std::optional<Placement> place_in_bins(const BinLayout& layout,
                                                     std::span<const std::uint32_t> categories);

/// The layout that steps of one table share, so that it is made once: what a party keeps from step to step. Not a
/// secret. One thread at a time.
class TableSeeds {
 public:
  /// The layout of that seed: the one of the last call, if it is the same.
  [[nodiscard]] std::shared_ptr<const BinLayout> layout(const BinSeed& seed, std::size_t categories,
                                                        std::size_t bins_each);
  /// The layout of the last call, if it is for that many, or one of a new seed.
  [[nodiscard]] std::shared_ptr<const BinLayout> current(std::size_t categories, std::size_t bins_each, Random& random);
  /// One of a new seed.
  [[nodiscard]] std::shared_ptr<const BinLayout> renewed(std::size_t categories, std::size_t bins_each, Random& random);

 private:
  std::shared_ptr<const BinLayout> last_;
};

}  // namespace blindfl::ot
