#include "blindfl/ot/tables/seeds.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace blindfl::ot {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Categories and bins, matched one by one along augmenting paths.
class Matching {
 public:
  Matching(const BinLayout& layout, std::size_t categories)
      : layout_(layout), owner_(layout.bins(), kNone), from_(layout.bins()), visited_(layout.bins(), kNone) {
    queue_.reserve(categories);
  }

  /// Finds a bin for one more category; those that have one may move. False, and nothing changes, if that cannot be.
  bool add(std::uint32_t category) {
    ++round_;
    queue_.assign(1, category);
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      for (std::size_t p = 0; p < BinLayout::kPermutations; ++p) {
        const std::uint32_t bin = layout_.spot(p, queue_[next]).bin;
        if (visited_[bin] == round_) continue;
        visited_[bin] = round_;
        from_[bin] = queue_[next];
        if (owner_[bin] == kNone) {
          augment(bin, category);
          return true;
        }
        queue_.push_back(owner_[bin]);
      }
    }
    return false;
  }
  [[nodiscard]] const SecretVector<std::uint32_t>& owner() const { return owner_; }

 private:
  /// Every category on the path moves to the bin that it was seen to reach; the last is the new one.
  void augment(std::uint32_t bin, std::uint32_t category) {
    for (;;) {
      const std::uint32_t mover = from_[bin];
      owner_[bin] = mover;
      if (mover == category) return;
      // The bin that it leaves: the one through which it was found.
      for (std::size_t p = 0; p < BinLayout::kPermutations; ++p) {
        const std::uint32_t old = layout_.spot(p, mover).bin;
        if (old != bin && owner_[old] == mover) {
          bin = old;
          break;
        }
      }
    }
  }

  const BinLayout& layout_;
  SecretVector<std::uint32_t> owner_;
  SecretVector<std::uint32_t> from_;
  SecretVector<std::uint32_t> visited_;
  SecretVector<std::uint32_t> queue_;
  std::uint32_t round_ = 0;
};

BinSeed drawn_seed(Random& random) {
  BinSeed seed;
  random.fill(seed);
  return seed;
}

}  // namespace

BinLayout::BinLayout(const BinSeed& seed, std::size_t categories, std::size_t bins_each)
    : seed_(seed), categories_(categories), bins_each_(bins_each), positions_(kPermutations * categories) {
  members_.assign(bins() * leaves(), static_cast<std::uint32_t>(categories));
  std::vector<std::uint32_t> dealt(categories);
  for (std::size_t p = 0; p < kPermutations; ++p) {
    SeededRandom random(seed, p);
    std::iota(dealt.begin(), dealt.end(), 0U);
    for (std::size_t i = categories; i > 1; --i) std::swap(dealt[i - 1], dealt[random.below(i)]);
    for (std::size_t i = 0; i < categories; ++i) {
      const std::uint32_t category = dealt[i];
      positions_[kPermutations * category + p] = static_cast<std::uint32_t>(i);
      const Spot at = spot(p, category);
      members_[(at.bin / 8 * leaves() + at.leaf) * 8 + at.bin % 8] = category;
    }
  }
}

BinLayout::Spot BinLayout::spot(std::size_t permutation, std::uint32_t category) const {
  const std::size_t position = positions_[kPermutations * category + permutation];
  return {.bin = static_cast<std::uint32_t>(permutation * bins_each_ + position % bins_each_),
          .leaf = static_cast<std::uint32_t>(position / bins_each_)};
}

std::optional<Placement> place_in_bins(const BinLayout& layout, std::span<const std::uint32_t> categories) {
  SecretVector<std::uint32_t> distinct(categories.begin(), categories.end());
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Matching matching(layout, distinct.size());
  for (const std::uint32_t category : distinct) {
    if (!matching.add(category)) return std::nullopt;
  }
  const auto none = static_cast<std::uint32_t>(layout.categories());
  Placement placement{.bin_of = SecretVector<std::uint32_t>(categories.size()),
                      .category = matching.owner(),
                      .leaf = SecretVector<std::uint32_t>(layout.bins())};
  for (std::size_t x = 0; x < layout.bins(); ++x) {
    std::uint32_t& category = placement.category[x];
    const bool empty = category == kNone;
    placement.leaf[x] =
        empty ? static_cast<std::uint32_t>(layout.leaves() - 1) : layout.spot(x / layout.bins_each(), category).leaf;
    if (empty) category = none;
  }
  for (std::size_t j = 0; j < categories.size(); ++j) {
    for (std::size_t p = 0; p < BinLayout::kPermutations; ++p) {
      const std::uint32_t bin = layout.spot(p, categories[j]).bin;
      if (placement.category[bin] == categories[j]) placement.bin_of[j] = bin;
    }
  }
  return placement;
}

std::shared_ptr<const BinLayout> TableSeeds::layout(const BinSeed& seed, std::size_t categories,
                                                    std::size_t bins_each) {
  const bool same =
      last_ != nullptr && last_->seed() == seed && last_->categories() == categories && last_->bins_each() == bins_each;
  if (!same) last_ = std::make_shared<const BinLayout>(seed, categories, bins_each);
  return last_;
}

std::shared_ptr<const BinLayout> TableSeeds::current(std::size_t categories, std::size_t bins_each, Random& random) {
  const bool fits = last_ != nullptr && last_->categories() == categories && last_->bins_each() == bins_each;
  return fits ? last_ : renewed(categories, bins_each, random);
}

std::shared_ptr<const BinLayout> TableSeeds::renewed(std::size_t categories, std::size_t bins_each, Random& random) {
  return layout(drawn_seed(random), categories, bins_each);
}

}  // namespace blindfl::ot
