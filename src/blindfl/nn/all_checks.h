#pragma once

#include <exception>

#include "blindfl/nn/range_watcher.h"

namespace blindfl::nn {

/// Several range checks, all of which are made although one finds values outside: what the others have seen is of the
/// same steps, which are not to be used, and would be held against those that are taken instead.
class AllChecks {
 public:
  template <class Check>
  void run(Check&& check) {
    try {
      check();
    } catch (const OutOfRange&) {
      if (!first_) first_ = std::current_exception();
    }
  }
  /// Throws the first OutOfRange, if there was one.
  void finish() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace blindfl::nn
