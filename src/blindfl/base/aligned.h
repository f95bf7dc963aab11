#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

namespace blindfl {

/// An allocator of memory that vector units like, aligned to 64 bytes; with `Clear`, overwritten before it is given
/// back.
template <class T, bool Clear = false>
class AlignedAllocator {
 public:
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard library looks for it
    using other = AlignedAllocator<U, Clear>;  // NOLINT(readability-identifier-naming)
  };

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U, Clear>& /*other*/) {}  // NOLINT(google-explicit-constructor): rebinding

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t n) {
    if constexpr (Clear) explicit_bzero(p, n * sizeof(T));
    ::operator delete(p, kAlignment);
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
