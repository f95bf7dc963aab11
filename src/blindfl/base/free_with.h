#pragma once

namespace blindfl {

/// A deleter for what a C library frees with a function: std::unique_ptr<BIO, FreeWith<BIO_free>>.
template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* p) const {
    kFree(p);
  }
};

}  // namespace blindfl
