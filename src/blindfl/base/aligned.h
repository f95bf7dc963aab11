#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace blindfl {

/// Memory aligned to 64 bytes, without any contents. Throws std::bad_alloc.
[[nodiscard]] void* allocate_aligned(std::size_t bytes);
void free_aligned(void* p, std::size_t bytes);

/// An allocator of memory that vector units like, aligned to 64 bytes and, where there is much of it, in huge pages;
/// with `Clear`, overwritten before it is given back. Numbers that nobody gave a value have none: writing zeros first
/// can cost more than what follows.
template <class T, bool Clear = false>
class AlignedAllocator {
 public:
  using value_type = T;

  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard library looks for it
    using other = AlignedAllocator<U, Clear>;  // NOLINT(readability-identifier-naming)
  };

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U, Clear>& /*other*/) {}  // NOLINT(google-explicit-constructor): rebinding

  T* allocate(std::size_t n) { return static_cast<T*>(allocate_aligned(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) {
    if constexpr (Clear) explicit_bzero(p, n * sizeof(T));
    free_aligned(p, n * sizeof(T));
  }
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  template <class U>
  bool operator==(const AlignedAllocator<U, Clear>& /*other*/) const {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

/// For keys, masks and plaintexts: cleared when freed.
template <class T>
using AlignedSecret = std::vector<T, AlignedAllocator<T, true>>;

}  // namespace blindfl
