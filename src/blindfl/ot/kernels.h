#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "blindfl/base/aligned.h"
#include "blindfl/ot/block.h"

// The loops that take the time: AES-128 under many keys, and the transposition of a tile. Each set of kernels gives the
// same bytes; which one runs is chosen at run time. No branch and no memory address depends on secrets.

namespace blindfl::ot {

/// Rows of the leaves of 8 trees, which stand side by side: leaf v of tree q is number 8 v + q. Block i of the row of a
/// leaf s of tree t is AES(s ^ {i, t}) ^ s; rows are numbers of 64 bits, or of 128, and are added as such.
struct LeafRows {
  const Block* leaves;
  std::size_t count;    ///< of a tree
  std::size_t trees;    ///< of the 8, the first of which count
  std::uint64_t first;  ///< number of the first tree
  std::size_t blocks;   ///< of a row
  bool wide;            ///< numbers of 128 bits
  /// Where in `columns` the row of leaf 8 v + q goes; null: to row v.
  const std::uint32_t* to;
  std::byte* columns;
  std::byte* sums;  ///< of each tree's rows
};

/// Keys that were expanded are `key_bytes` each, in a form that only the same kernels know.
struct Kernels {
  std::string_view name;
  std::size_t key_bytes;

  /// Prepares `count` keys for the functions below.
  void (*expand)(const Block* keys, std::size_t count, std::byte* expanded);
  /// Gives back what `expand` took besides memory; null if that is nothing.
  void (*release)(std::byte* expanded, std::size_t count);

  /// out[i] = AES(in[i]), under one expanded key. `out` may be `in`.
  void (*encrypt)(const std::byte* key, const Block* in, Block* out, std::size_t count);

  /// One tree, one tile. Leaf y, of 2^depth, has the stream r_y: AES of {counter.low + i, counter.high}, i < 16, 256
  /// bytes. Row j, of `depth`, becomes the sum of r_y over all y whose bit j is set; `sum` that of all. With
  /// `first_unknown` leaf 0 counts as zero, which no row notices.
  void (*fold)(const std::byte* keys, int depth, bool first_unknown, const Block& counter, std::byte* rows,
               std::byte* sum);

  /// 128 rows of 256 bytes become 2048 blocks: bit r of block c is bit c of row r (bit c & 7 of its byte c / 8).
  void (*transpose)(const std::byte* rows, Block* out);

  /// TMMO: out[i] = p(p(x) ^ tweak) ^ p(x), where p is AES under one expanded key, x is in[i] ^ offset, and the tweak
  /// is {first + i, domain}. `out` may not be `in`.
  void (*hash)(const std::byte* key, const Block* in, const Block& offset, Block* out, std::uint64_t first,
               std::size_t count, std::uint64_t domain);

  /// A level of 8 trees, whose `count` parents stand side by side as leaves do. The child on side b of a parent s of
  /// tree t is AES(s ^ {b, t}) ^ s, t = first, ..., first + 7. sums[8 b + q] becomes the XOR of all children of tree q
  /// on side b. `children` may not be `parents`.
  void (*grow)(const std::byte* key, const Block* parents, std::size_t count, std::uint64_t first, Block* children,
               Block* sums);

  /// Adds the row of every leaf to its column, and to the sum of its tree.
  void (*add_rows)(const std::byte* key, const LeafRows& rows);
};

/// Works everywhere: AES by OpenSSL.
[[nodiscard]] const Kernels& portable_kernels();
/// Null where this processor cannot run them.
[[nodiscard]] const Kernels* aesni_kernels();
[[nodiscard]] const Kernels* vaes_kernels();

/// Every set that this processor can run, the fastest first; the portable one is always among them.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
[[nodiscard]] inline const Kernels& fastest_kernels() {
  return *available_kernels().front();
}
/// The set of that name. Throws InvalidArgument, naming those there are, if this processor cannot run it.
[[nodiscard]] const Kernels& kernels_by_name(std::string_view name);

/// Expanded keys, cleared when freed.
class CipherKeys {
 public:
  CipherKeys(const Kernels& kernels, const Block* keys, std::size_t count);
  CipherKeys(CipherKeys&& other) noexcept;
  CipherKeys& operator=(CipherKeys&& other) noexcept;
  CipherKeys(const CipherKeys&) = delete;
  CipherKeys& operator=(const CipherKeys&) = delete;
  ~CipherKeys();

  [[nodiscard]] const std::byte* at(std::size_t i) const { return expanded_.data() + i * kernels_->key_bytes; }
  [[nodiscard]] const Kernels& kernels() const { return *kernels_; }

 private:
  void release();

  const Kernels* kernels_;
  AlignedSecret<std::byte> expanded_;
};

}  // namespace blindfl::ot
