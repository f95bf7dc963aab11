#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/ot/tables/tables.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/layers/weight_product.h"

// Products of categories with an embedding table by oblivious transfer (ot/tables): exact, and without ciphertexts. A
// row of X looks up as many categories as it may have at most, and adds them up; in the place of those that it lacks it
// looks up a spare one, whose row of the table is 0 and whose gradient is dropped.
//
//   has X and U                                       the other, which has V
//     ask, send_ask        --- choices, hidden --->     receive_ask, take_ask
//     receive_answer       <--- keys ---                send_answer     both ahead of the batch, if it is known
//     receive_operand      <--- masked V ---            send_operand
//     send                                              receive         shares of X V: no message
//     receive_derivative   <--- masked D ---            send_derivative the same keys, other masks
//     send_gradient                                     receive_gradient shares of X^T D: no message
//
// A message has what all calls of a batch (lookup_plan.h) say, one after the other.
//
// V travels rounded, modulo a power of 2, as shares of embeddings are needed. Keys are fresh in every pass, while masks
// repeat, too: shares are uniformly random then as ever, and add up to the same.

namespace blindfl::protocol {

/// One party's keys of one batch. Never saved.
struct LookupKeys {
  std::vector<ot::TableChooser> choosers{};  ///< of each call, at the party that has X
  std::vector<ot::TableKeeper> keepers{};    ///< at the other
  Bytes ask{};                               ///< until it is sent, or answered
  Bytes answer{};                            ///< until it is sent, or taken
  std::size_t done = 0;                      ///< calls that are answered, or whose answer is taken
};

struct ObliviousProductSpec {
  std::string layer_name;  ///< for error messages
  std::uint32_t layer = 0;
  std::size_t dimension = 0;
  std::size_t most = 1;   ///< categories of a row
  std::size_t calls = 0;  ///< that a batch is looked up in: see `lookup_plan`
  int lookup_scale = 0;   ///< that V is rounded to
  int gradient_ring = 0;  ///< of shares of X^T D
};

/// One party's side of a table that is looked up in, and learns, by oblivious transfer.
class ObliviousProduct final : public WeightProduct {
 public:
  /// Of a digest that goes with the masked table while masks repeat.
  static constexpr std::size_t kDigestBytes = 32;

  ObliviousProduct(Session& session, std::shared_ptr<Weight> weight, ObliviousProductSpec spec);

  void take_keys(Pass /*pass*/, std::size_t /*rows*/) override {}

  OtCount ots(std::size_t rows) override;
  std::uint64_t ask_bytes(std::size_t rows) override { return plan(rows).ask_bytes(); }
  /// Throws InvalidArgument if a row has more categories than it may, or parts of them.
  void ask(LookupKeys& keys, const IntMatrix& x) override;
  void send_ask(LookupKeys& keys) override;
  void receive_ask(LookupKeys& keys, std::size_t rows) override;
  void take_ask(LookupKeys& keys, std::size_t rows) override;
  std::uint64_t answer_bytes(std::size_t rows) override { return plan(rows).answer_bytes(); }
  void send_answer(LookupKeys& keys) override;
  void receive_answer(LookupKeys& keys, std::size_t rows) override;
  void take_answer(LookupKeys& keys) override;
  bool prepare_keys(LookupKeys& keys) override;
  void use_keys(const std::shared_ptr<LookupKeys>& keys) override { keys_ = keys; }
  Bytes peer_digest() const override { return peer_digest_; }

  std::uint64_t operand_bytes(std::size_t rows) override;
  void send_operand(std::size_t rows) override;
  ShareMatrix receive(std::size_t rows) override;
  std::uint64_t derivative_bytes(std::size_t rows) override { return plan(rows).scatter_bytes(sizeof(UInt128)); }
  void send_derivative(const Derivative& derivative) override;
  void send_derivative(const ShareMatrix& share) override;
  std::optional<ShareMatrix> receive_gradient(std::size_t rows) override;

  void receive_operand(std::size_t rows) override;
  std::uint64_t product_bytes(std::size_t /*rows*/) override { return 0; }
  ShareMatrix send(const IntMatrix& x) override;
  void receive_derivative(const IntMatrix& x, const ShareMatrix* own) override;
  std::uint64_t gradient_bytes(std::size_t /*rows*/) override { return 0; }
  std::optional<ShareMatrix> send_gradient(const IntMatrix& x, const ShareMatrix* own) override;

  /// What was under way is forgotten; steps are counted on, so that no key comes back.
  void load(ByteSource& in) override;

  /// This party's share of the table as it is looked up in: rounded, modulo 2^kPieceRing. A function of the share.
  [[nodiscard]] ShareMatrix rounded_table() const;

 private:
  [[nodiscard]] const LookupPlan& plan(std::size_t rows);
  [[nodiscard]] ot::TableUse next_use();
  /// One call more of an answer; false if it is whole.
  [[nodiscard]] bool make_answer(LookupKeys& keys);
  /// The same of an answer that is taken.
  [[nodiscard]] bool take_call(LookupKeys& keys);
  [[nodiscard]] net::Message message(net::Step step, std::uint64_t size) const;
  [[nodiscard]] net::Message table_message(std::size_t rows);
  /// A keyed digest of the table, which only this party can compute.
  [[nodiscard]] Bytes own_digest(const ShareMatrix& table) const;
  /// Closes the channel if what `step` is given is not what it must be.
  template <class Step>
  auto closing(Step&& step);

  ObliviousProductSpec spec_;
  std::map<std::size_t, LookupPlan> plans_;  // by rows
  std::uint64_t step_ = 0;                   // of this session: never set back; each call is one
  ot::TableSeeds seeds_;
  std::shared_ptr<LookupKeys> keys_;  // of the pass that is under way
  Bytes masked_;
  Bytes peer_digest_;
  std::optional<ShareMatrix> share_;  // of the lookup at the party that has V; of the gradient at either
};

}  // namespace blindfl::protocol
