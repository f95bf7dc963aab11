#pragma once

#include <mutex>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/public_key.h"

namespace blindfl::he::paillier {

/// Fresh encryptions of 0 under the peer's key: made ahead while this party waits, each used once.
class Randomizers {
 public:
  /// `key` must outlive this.
  explicit Randomizers(const PublicKey& key) : key_(key) {}

  /// Says that `count` more will be taken at a time.
  void expect(std::size_t count);
  /// Makes a few. Returns false if there are enough.
  bool prepare();

  /// Writes one to each of `to`: those that are there, and new ones.
  void take(std::span<Limb* const> to, Random& random, ThreadPool& pool);

  /// Whether what is re-randomised is masked too. It is.
  [[nodiscard]] bool masks() const { return masks_; }

 private:
  // Tests show what a reply tells without either.
  friend struct HidingProbe;
  bool fresh_ = true;
  bool masks_ = true;

  const PublicKey& key_;
  std::mutex mutex_;
  Random random_;
  std::size_t target_ = 0;
  std::vector<Rows> stock_;  ///< of `kAtOnce` rows each
};

}  // namespace blindfl::he::paillier
