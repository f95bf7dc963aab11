#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace blindfl {

/// An allocator that overwrites memory with zeros before giving it back.
template <class T>
class ClearingAllocator {
 public:
  using value_type = T;

  ClearingAllocator() = default;
  template <class U>
  ClearingAllocator(const ClearingAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): rebinding

  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, std::size_t n) {
    explicit_bzero(p, n * sizeof(T));
    std::allocator<T>().deallocate(p, n);
  }
  template <class U>
  bool operator==(const ClearingAllocator<U>& /*other*/) const {
    return true;
  }
};

/// A vector for keys and shares: its memory is cleared when it is freed.
template <class T>
using SecretVector = std::vector<T, ClearingAllocator<T>>;

}  // namespace blindfl
