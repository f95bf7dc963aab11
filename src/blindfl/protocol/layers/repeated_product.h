#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "blindfl/protocol/session/product.h"

namespace blindfl::protocol {

/// One party's side of a product `X * M` that is computed batch after batch, in one direction or in both: the plans,
/// one for each number of rows, the keys, and which version of M its multiplier has.
///
/// M travels encrypted once per change, not once per use. Both parties count the same changes, so neither needs a
/// message to know what the other has. An operand serves all plans of one layout.
class RepeatedProduct {
 public:
  /// Of an M that is used once: it always travels, and nobody keeps it.
  static constexpr std::uint64_t kOnce = 0;
  using SpecOfRows = std::function<he::ProductSpec(std::size_t rows)>;

  /// `session` and `scheme` must outlive it.
  RepeatedProduct(Session& session, const he::Scheme& scheme, const ProductSteps& steps, SpecOfRows spec)
      : session_(session), scheme_(scheme), steps_(steps), spec_(std::move(spec)) {}

  /// Throws InvalidArgument as `Scheme::plan` does.
  [[nodiscard]] const he::Plan& plan(std::size_t rows);
  /// See `Session::keys`. Before everything below.
  void take_keys() { keys_ = &session_.keys(scheme_.name()); }
  /// Says that this party will multiply batches of so many rows again and again.
  void expect(std::size_t rows) { keys_->peer->expect(plan(rows)); }

  // Who has M: what `send_operand` will send, 0 if the peer has this version already; the sending, of `m`, which is
  // that version; and this party's share, `X M + R`.
  [[nodiscard]] std::uint64_t operand_bytes(std::size_t rows, std::uint64_t version);
  void send_operand(std::size_t rows, std::uint64_t version, const ShareMatrix& m);
  [[nodiscard]] ShareMatrix receive(std::size_t rows);

  // Who has X, of a batch of `rows` rows: the same, and this party's share, `-R`.
  void receive_operand(std::size_t rows, std::uint64_t version);
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t rows) { return plan(rows).reply_bytes(); }
  [[nodiscard]] ShareMatrix send(std::size_t rows, const IntMatrix& x);

  /// Nothing of M has travelled.
  void forget();

 private:
  struct Received {
    std::uint64_t version = 0;
    std::unique_ptr<const he::Operand> operand;
  };

  Session& session_;
  const he::Scheme& scheme_;
  ProductSteps steps_;
  SpecOfRows spec_;
  const SchemeKeys* keys_ = nullptr;
  std::map<std::size_t, std::shared_ptr<const he::Plan>> plans_;  ///< by rows
  std::map<std::string, std::uint64_t> sent_;                     ///< versions by layout
  std::map<std::string, Received> received_;                      ///< by layout
};

}  // namespace blindfl::protocol
