#include "blindfl/base/aligned.h"

#include <sys/mman.h>

namespace blindfl {

namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t alignment_for(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kHugePage ? kHugePage : 64};
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  void* p = ::operator new(bytes, alignment_for(bytes));
  // A wish; memory works without it.
  if (bytes >= 2 * kHugePage) (void)madvise(p, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return p;
}

void free_aligned(void* p, std::size_t bytes) {
  ::operator delete(p, alignment_for(bytes));
}

}  // namespace blindfl
