#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "blindfl/base/aligned.h"
#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"
#include "blindfl/ot/tables/plan.h"

namespace blindfl::ot {

/// Rows of numbers of 64 or 128 bits, each in whole blocks; zero at first.
template <class Word>
class TableRows {
 public:
  TableRows(std::size_t count, std::size_t cols)
      : count_(count),
        cols_(cols),
        stride_(blocks() * sizeof(UInt128) / sizeof(Word)),
        words_(count * stride_, Word{0}) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t blocks() const { return row_blocks(cols_, sizeof(Word)); }
  [[nodiscard]] std::span<Word> operator[](std::size_t row) { return {words_.data() + row * stride_, cols_}; }
  [[nodiscard]] std::span<const Word> operator[](std::size_t row) const {
    return {words_.data() + row * stride_, cols_};
  }
  [[nodiscard]] std::byte* bytes(std::size_t row) {
    return reinterpret_cast<std::byte*>(words_.data() + row * stride_);
  }
  void negate() {
    for (Word& word : words_) word = 0 - word;
  }
  /// The first `count` rows without what fills their last block.
  [[nodiscard]] SecretVector<Word> packed(std::size_t count) const {
    SecretVector<Word> out(count * cols_);
    for (std::size_t r = 0; r < count; ++r)
      std::memcpy(out.data() + r * cols_, (*this)[r].data(), cols_ * sizeof(Word));
    return out;
  }

 private:
  std::size_t count_;
  std::size_t cols_;
  std::size_t stride_;
  AlignedSecret<Word> words_;
};

template <class Word>
void add_to(std::span<Word> sum, std::span<const Word> row) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
}
template <class Word>
void subtract_from(std::span<Word> sum, std::span<const Word> row) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= row[i];
}

/// Rows of a message, one behind the other. Whoever makes one knows that the bytes suffice.
template <class Word>
class MessageRows {
 public:
  MessageRows(ByteView bytes, std::size_t cols) : bytes_(bytes), cols_(cols) {}

  void add_row_to(std::span<Word> sum, std::size_t row) const {
    const std::byte* const at = bytes_.data() + row * cols_ * sizeof(Word);
    for (std::size_t i = 0; i < cols_; ++i) {
      Word word;
      std::memcpy(&word, at + i * sizeof(Word), sizeof word);
      sum[i] += word;
    }
  }
  [[nodiscard]] MessageRows after(std::size_t rows) const {
    return {bytes_.subspan(rows * cols_ * sizeof(Word)), cols_};
  }

 private:
  ByteView bytes_;
  std::size_t cols_;
};

/// Writes the first `count` rows to `out`; returns what is behind them.
template <class Word>
std::span<std::byte> write_rows(const TableRows<Word>& rows, std::size_t count, std::span<std::byte> out) {
  const std::size_t bytes = rows.cols() * sizeof(Word);
  for (std::size_t r = 0; r < count; ++r) std::memcpy(out.data() + r * bytes, rows[r].data(), bytes);
  return out.subspan(count * bytes);
}

}  // namespace blindfl::ot
