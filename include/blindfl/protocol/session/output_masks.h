#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/protocol/session/place.h"

namespace blindfl::protocol {

/// What an A has in common with each other A, and B does not know: from `agree_on_masks`.
class OutputMasks {
 public:
  /// A key of 256 bits.
  using Key = SecretVector<std::byte>;

  /// `names` of all A's, in B's order; `keys` the same, with none at `own`. Throws InvalidArgument if they do not fit.
  OutputMasks(std::vector<std::string> names, std::size_t own, std::vector<Key> keys);

  // A copy would give the same masks once more, for other values.
  OutputMasks(const OutputMasks&) = delete;
  OutputMasks& operator=(const OutputMasks&) = delete;
  OutputMasks(OutputMasks&&) = default;
  OutputMasks& operator=(OutputMasks&&) = default;
  ~OutputMasks() = default;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] Place place() const { return {own_, names_.size()}; }

  /// The shape of an output that is opened.
  struct Shape {
    std::size_t rows = 0;
    std::size_t cols = 0;
    int ring_bits = 64;
  };
  /// This A's mask for its share of the next output, a word for each value: uniformly random modulo 2^ring_bits, and
  /// with those of all other A's the sum is 0. Each output has its own, also of the same layer, step or rows: the A's
  /// count what they open, all alike, for they run the same model.
  ///
  /// `about` says which output it is: the sum is 0 only where all A's say the same, and have bound the same. Where one
  /// was told something else, by a B that lies, the sum is as random as each mask, and B reads nothing.
  /// Throws InvalidArgument for a ring of more than 64 bits.
  [[nodiscard]] SecretVector<std::uint64_t> next(const Shape& shape, ByteView about = {});

  /// From here on, masks are those of such a `what`: what all A's must have alike, and B could tell them differently.
  /// It stays until another value is bound under the same word.
  void bind(std::string_view what, ByteView value);
  /// Binds all that others are bound to, whose place these take.
  void bind_as(const OutputMasks& others) { bound_ = others.bound_; }

  /// Another secret that this A has with the one at that place of `names`, for a purpose of its own.
  /// Throws InvalidArgument if there is no such A, or it is this one.
  [[nodiscard]] Key secret_with(std::size_t other, std::string_view purpose) const;

 private:
  [[nodiscard]] Random stream(std::size_t other, ByteView context) const;

  std::vector<std::string> names_;
  std::size_t own_;
  std::vector<Key> keys_;
  std::uint64_t opened_ = 0;
  std::map<std::string, Bytes, std::less<>> bound_;
};

}  // namespace blindfl::protocol
