#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

/// Something of each peer, in the order of the sessions; or the same of all.
template <class T>
class PerPeer {
 public:
  PerPeer(T all) : all_{std::move(all)} {}  // NOLINT(google-explicit-constructor): with one peer, it is that one's
  /// Throws InvalidArgument if there is none.
  PerPeer(std::vector<T> each) : all_(std::move(each)) {  // NOLINT(google-explicit-constructor): the same of several
    require<InvalidArgument>(!all_.empty(), "there is no peer that it is of");
  }

  /// Of the peer at that place among `of`. Throws InvalidArgument if there is neither one for all nor one for each.
  [[nodiscard]] const T& at(std::size_t place, std::size_t of) const {
    require<InvalidArgument>(all_.size() == 1 || all_.size() == of, "there are ", all_.size(), " shapes or options of ",
                             of, " peers");
    return all_.size() == 1 ? all_.front() : all_[place];
  }
  /// One for all, or one for each.
  [[nodiscard]] const std::vector<T>& all() const { return all_; }

 private:
  std::vector<T> all_;
};

}  // namespace blindfl::protocol
