#include "blindfl/he/paillier/randomizers.h"

#include <algorithm>
#include <utility>

namespace blindfl::he::paillier {

namespace {

constexpr std::size_t kAtOnce = 8;  // what the widest kernels make in the time of one

std::vector<Limb*> row_pointers(Rows& rows) {
  std::vector<Limb*> pointers;
  pointers.reserve(rows.count());
  for (std::size_t i = 0; i < rows.count(); ++i) pointers.push_back(rows[i]);
  return pointers;
}

}  // namespace

void Randomizers::expect(std::size_t count) {
  const std::lock_guard lock(mutex_);
  target_ += count;
}

bool Randomizers::prepare() {
  const std::lock_guard lock(mutex_);
  if (stock_.size() * kAtOnce >= target_) return false;
  Rows rows(key_.ring(), kAtOnce);
  key_.encrypt_zero(row_pointers(rows), random_);
  stock_.push_back(std::move(rows));
  return true;
}

void Randomizers::take(std::span<Limb* const> to, Random& random, ThreadPool& pool) {
  if (!fresh_) {
    for (Limb* row : to) std::copy_n(key_.ring().one(), key_.ring().stride(), row);
    return;
  }
  std::size_t done = 0;
  {
    const std::lock_guard lock(mutex_);
    while (done < to.size() && !stock_.empty()) {
      const Rows rows = std::move(stock_.back());
      stock_.pop_back();
      for (std::size_t i = 0; i < rows.count() && done < to.size(); ++i) {
        std::copy_n(rows[i], key_.ring().stride(), to[done++]);
      }
    }
  }
  const auto rest = to.subspan(done);
  std::vector<Random> generators;
  const std::size_t pieces = (rest.size() + kAtOnce - 1) / kAtOnce;
  for (std::size_t i = 0; i < pieces; ++i) generators.push_back(random.fork());
  pool.parallel_for(pieces, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      key_.encrypt_zero(rest.subspan(i * kAtOnce, std::min(kAtOnce, rest.size() - i * kAtOnce)), generators[i]);
    }
  });
}

}  // namespace blindfl::he::paillier
