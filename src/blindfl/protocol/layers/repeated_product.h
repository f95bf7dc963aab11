#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "blindfl/protocol/session/product.h"

namespace blindfl::protocol {

/// One party's side of a product `X * M` that is computed batch after batch, in one direction or in both: the plans,
/// one for each number of rows, the keys, and which version of M its multiplier has.
///
/// M travels encrypted once per change, not once per use. Both parties count the same changes, so neither needs a
/// message to know what the other has. An operand serves all plans of one layout, which names the set of keys, too;
/// under keys of a RepeatableScoring it is another one.
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
  /// Takes the keys of the plan for so many rows: see `Session::keys`. At the begin of each pass, before everything
  /// below, and before anything of the pass is sent: plans for other numbers of rows may have other keys, and while a
  /// model scores repeatably all are others.
  void take_keys(std::size_t rows);
  /// Says that this party will multiply batches of so many rows again and again, or encrypt the matrices for them;
  /// after `take_keys(rows)`. Once is enough, and more often does no harm.
  void expect_to_multiply(std::size_t rows);
  void expect_to_encrypt(std::size_t rows);

  // Who has M: what `send_operand` will send, 0 if the peer has this version already; the sending, of `m`, which is
  // that version; and this party's share.
  [[nodiscard]] std::uint64_t operand_bytes(std::size_t rows, std::uint64_t version);
  void send_operand(std::size_t rows, std::uint64_t version, const ShareMatrix& m);
  [[nodiscard]] ShareMatrix receive(std::size_t rows) { return receive(rows, steps_.reply); }
  /// The same in a message of another step.
  [[nodiscard]] ShareMatrix receive(std::size_t rows, net::Step reply);

  // Who has X, of a batch of `rows` rows: the same, and this party's share.
  void receive_operand(std::size_t rows, std::uint64_t version);
  /// What of the next `send` needs no operand, before it arrives. Once is enough, and `x` must then be what is sent.
  void prepare_left(std::size_t rows, const IntMatrix& x);
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t rows) { return plan(rows).reply_bytes(); }
  [[nodiscard]] ShareMatrix send(std::size_t rows, const IntMatrix& x) { return send(rows, x, steps_.reply); }
  [[nodiscard]] ShareMatrix send(std::size_t rows, const IntMatrix& x, net::Step reply);

  /// Nothing of M has travelled.
  void forget();
  /// The same in the layout for so many rows.
  void forget(std::size_t rows);

 private:
  struct Received {
    std::uint64_t version = 0;
    ReceivedOperand operand;
  };
  /// A layout, and the keys that it is encrypted under.
  struct Layout {
    std::uint64_t scoring = 0;  ///< `SchemeKeys::scoring`
    std::string key_set;
    std::string layout;
    bool operator<(const Layout& other) const {
      return std::tie(scoring, key_set, layout) < std::tie(other.scoring, other.key_set, other.layout);
    }
  };

  [[nodiscard]] Layout layout(std::size_t rows);

  Session& session_;
  const he::Scheme& scheme_;
  ProductSteps steps_;
  SpecOfRows spec_;
  const SchemeKeys* keys_ = nullptr;
  std::map<std::size_t, std::shared_ptr<const he::Plan>> plans_;  ///< by rows
  std::set<std::size_t> expected_;                                ///< the same, to multiply
  std::set<std::size_t> expected_to_encrypt_;
  std::unique_ptr<const he::LeftMatrix> left_;  ///< of the next product
  std::map<Layout, std::uint64_t> sent_;        ///< versions
  std::map<Layout, Received> received_;
};

}  // namespace blindfl::protocol
