#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/ot/kernels.h"
#include "blindfl/ot/pool.h"
#include "blindfl/ot/tables/plan.h"
#include "blindfl/ot/tables/seeds.h"
#include "blindfl/ot/tables/use.h"

// Look-ups in a table, and sums of rows by category, by oblivious transfer: one party, the chooser, has the categories
// c_j, the other, the keeper, the table T and the rows D (or shares of these: what the chooser has it treats itself).
//
//   chooser                                            keeper
//   TableChooser mine(plan, use, c, pool, random);     TableKeeper mine(plan, use, pool);
//   ask()             ---- wishes, hidden ---------->  answer(ask, random)
//   take_keys(answer) <--- sums of trees ------------
//   gather(message)   <--- masked table -------------  gather(T)      shares of T[c_j]
//   scatter(message)  <--- masked rows --------------  scatter(D)     shares of the sum of D_j over c_j = v
//
// Shares add up in Z_2^64 or Z_2^128, exactly. gather and scatter may come in any order, each at most once: a pad that
// served twice would open what it hid. Both parties' objects are for one step, are never saved, and take their random
// OTs in the constructor, so these must run in the same order at both. Safe against parties that follow the protocol.
// How it works and why it is safe: docs/protocols.md, "Tables by oblivious transfer".

namespace blindfl::ot {

/// Who has the categories. What it reads and writes in its own memory depends on them.
class TableChooser {
 public:
  /// Takes plan.ots() random OTs. `seeds`, where given, keeps what bins are made of for the next step; it belongs to
  /// one table. Throws InvalidArgument if there are not plan.shape().lookups categories, each below the shape's, or the
  /// pool has too few.
  TableChooser(const TablePlan& plan, const TableUse& use, std::span<const std::uint32_t> categories,
               RandomOtReceiver& ots, Random& random, const Kernels& kernels = fastest_kernels(),
               TableSeeds* seeds = nullptr);
  TableChooser(TableChooser&& other) noexcept;
  TableChooser& operator=(TableChooser&& other) noexcept;
  TableChooser(const TableChooser&) = delete;
  TableChooser& operator=(const TableChooser&) = delete;
  ~TableChooser();

  /// Cost: plan.ask_bytes(). Reveals nothing. Throws InvalidArgument if it was called before.
  [[nodiscard]] Bytes ask();
  /// Throws InvalidArgument before `ask`, or if it was called before; ProtocolError, before anything changes, if this
  /// is not the answer to it.
  void take_keys(ByteView answer);

  /// lookups x cols. `Word`: std::uint64_t or UInt128, as at the keeper. Throws InvalidArgument before `take_keys`, or
  /// if it was called before; ProtocolError, before anything changes, if this is not the keeper's message for it.
  template <class Word>
  [[nodiscard]] SecretVector<Word> gather(ByteView message);
  /// categories x cols.
  template <class Word>
  [[nodiscard]] SecretVector<Word> scatter(ByteView message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Who has the table and the rows. No branch or address depends on these.
class TableKeeper {
 public:
  template <class Word>
  struct Sent {
    Bytes message;
    SecretVector<Word> share;
  };

  /// Takes plan.ots() random OTs. Throws InvalidArgument if the pool has too few.
  TableKeeper(const TablePlan& plan, const TableUse& use, RandomOtSender& ots,
              const Kernels& kernels = fastest_kernels(), TableSeeds* seeds = nullptr);
  TableKeeper(TableKeeper&& other) noexcept;
  TableKeeper& operator=(TableKeeper&& other) noexcept;
  TableKeeper(const TableKeeper&) = delete;
  TableKeeper& operator=(const TableKeeper&) = delete;
  ~TableKeeper();

  /// Cost: plan.answer_bytes(). Reveals nothing. Throws ProtocolError, before anything changes, if this is not the
  /// chooser's `ask`; InvalidArgument if it was called with one before, even if that call failed half-way.
  [[nodiscard]] Bytes answer(ByteView ask, Random& random);

  /// `table`: categories x cols; the share: lookups x cols. Cost: plan.gather_bytes(). Reveals nothing. Throws
  /// InvalidArgument before `answer`, if it was called before, or for another size.
  template <class Word>
  [[nodiscard]] Sent<Word> gather(std::span<const Word> table);
  /// `rows`: lookups x cols; the share: categories x cols. Cost: plan.scatter_bytes(). Reveals nothing.
  template <class Word>
  [[nodiscard]] Sent<Word> scatter(std::span<const Word> rows);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace blindfl::ot
