#include "blindfl/protocol/session/hashed_fields.h"

#include "blindfl/base/secret.h"

namespace blindfl::protocol {

namespace {

/// Words on their way into a digest.
class HashedWords {
 public:
  HashedWords() { words_.reserve(kAtOnce); }

  void add(std::uint64_t word) {
    words_.push_back(word);
    if (words_.size() == kAtOnce) flush();
  }
  [[nodiscard]] Bytes finish() {
    flush();
    return digest_.finish();
  }

 private:
  static constexpr std::size_t kAtOnce = 4096;

  void flush() {
    digest_.add(std::as_bytes(std::span(words_)));
    words_.clear();
  }

  SecretVector<std::uint64_t> words_;
  DigestOfPieces digest_;
};

}  // namespace

Bytes digest_of_matrix(const IntMatrix& x) {
  const bool dense = x.kind() == IntMatrix::Kind::kDense;
  HashedWords words;
  for (const std::uint64_t fact :
       {static_cast<std::uint64_t>(dense), static_cast<std::uint64_t>(x.rows()), static_cast<std::uint64_t>(x.cols()),
        static_cast<std::uint64_t>(x.scale()), x.bound()}) {
    words.add(fact);
  }
  for (std::size_t r = 0; r < x.rows(); ++r) {
    if (dense) {
      x.for_each_in_row(r, [&](std::size_t, std::int64_t value) { words.add(static_cast<std::uint64_t>(value)); });
      continue;
    }
    x.for_each_in_row(r, [&](std::size_t column, std::int64_t value) {
      words.add(column);
      words.add(static_cast<std::uint64_t>(value));
    });
    words.add(~std::uint64_t{0});  // the end of a row: no column has this number
  }
  return words.finish();
}

Bytes digest_of_matrix(const ShareMatrix& m) {
  HashedWords words;
  for (const std::uint64_t fact : {static_cast<std::uint64_t>(m.rows()), static_cast<std::uint64_t>(m.cols()),
                                   static_cast<std::uint64_t>(m.scale()), static_cast<std::uint64_t>(m.ring_bits())}) {
    words.add(fact);
  }
  for (const UInt128 value : m.values()) {
    words.add(low64(value));
    words.add(high64(value));
  }
  return words.finish();
}

}  // namespace blindfl::protocol
