#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "blindfl/protocol/layers/embedding_table.h"
#include "blindfl/protocol/session/session.h"

// Keys of one batch, for all tables of a layer that are looked up in by oblivious transfer. Each party asks for those
// of its own fields, and answers for those of the other's. Nothing of this needs a table or a derivative, only the
// batch's categories: where these are known ahead, asking and answering travel with the messages of the step before,
// and trees are grown while a party waits.
//
//   both: ask     <--- cross --->    choices, hidden; afterwards take_asks()
//   both: answer  <--- cross --->    keys

namespace blindfl::protocol {

class BatchKeys final : public IdleWork {
 public:
  /// For batches of so many rows; `numbers` say which these are, the same at both parties, or nothing. `tables`
  /// must outlive it.
  BatchKeys(const std::vector<std::unique_ptr<EmbeddingTable>>& tables, std::size_t rows,
            std::span<const std::uint32_t> numbers);

  /// Whether these are keys of that batch: never, if nothing says which it is.
  [[nodiscard]] bool are_of(std::span<const std::uint32_t> numbers, std::size_t rows) const;

  /// Random OTs that `ask` and `take_asks` take, both outside of any exchange.
  [[nodiscard]] static OtCount ots(const std::vector<std::unique_ptr<EmbeddingTable>>& tables, std::size_t rows);
  /// For this party's categories, field by field. Throws InvalidArgument if a row has more than one where it may not.
  void ask(std::span<const IntMatrix> categories);
  [[nodiscard]] std::uint64_t ask_bytes() const;
  void send_asks();
  void receive_asks();
  void take_asks();

  /// What is left to be sent of answers; 0 once they were.
  [[nodiscard]] std::uint64_t answer_bytes() const;
  // Nothing happens where it has happened before.
  void send_answers();
  void receive_answers();
  /// Throws ProtocolError if they are none.
  void take_answers();

  /// Gives the tables these keys, for a forward or a backward pass.
  void use();
  /// Throws InvalidArgument, naming the layer, at the second call: keys serve one backward pass.
  void serve(const std::string& layer_name);

  bool prepare() override;

 private:
  /// Calls f(product, keys) for each table by oblivious transfer whose field is this party's, or the peer's.
  template <class F>
  void for_tables(bool mine, const F& f) const;

  const std::vector<std::unique_ptr<EmbeddingTable>>& tables_;
  std::size_t rows_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::shared_ptr<LookupKeys>> keys_;  // of each table
  std::mutex answering_;                           // answers may be sent while this party waits
  bool sent_ = false;
  bool received_ = false;
  bool served_ = false;
};

}  // namespace blindfl::protocol
