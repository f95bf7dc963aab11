#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/protocol/layers/encrypted_update.h"
#include "blindfl/protocol/layers/lifted_gradient.h"
#include "blindfl/protocol/layers/repeated_product.h"
#include "blindfl/protocol/layers/scaled_update.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/session/ot_pools.h"
#include "blindfl/protocol/session/output.h"

// What a weight matrix W = U + V does with the features X of the party that holds U: it is multiplied with them, and
// learns from X^T D, where D is the derivative by X W, of which either party may have a share.
//
//   has X and U                                       the other, which has V
//     receive_operand      <--- [[V]] ---               send_operand            once per change of V
//     send                 --- [[X V + R]] --->         receive                 shares of X V
//     receive_derivative   <--- [[its share of D]] ---  send_derivative
//     send_gradient        --- [[X^T D + R]] --->       receive_gradient        shares of X^T D, the whole matrix
//
// Updated under encryption, V exists only as [[V]] at the party that has X, which multiplies and adds there by itself:
// no operand and no gradient travels, and nothing depends on the number of features.
//
// Where X is categories, both may come by oblivious transfer: oblivious_product.h.

namespace blindfl::protocol {

enum class Pass { kForward, kBackward };

/// What both parties make a weight's products from.
struct WeightProductSpec {
  std::string layer_name;  ///< for error messages
  std::string of;          ///< the same: whose weights these are, "A's features"
  const he::Scheme& scheme;
  std::size_t batch = 0;
  std::uint32_t layer = 0;
  net::Step operand = steps::kForwardOperand;
  net::Step product = steps::kForwardProduct;
  net::Step derivative = steps::kDerivativeOperand;
  net::Step gradient = steps::kGradientProduct;
  RepeatedProduct::SpecOfRows forward;   ///< X V
  RepeatedProduct::SpecOfRows backward;  ///< X^T D; empty where the party with X has all of D
  /// Where V is updated under encryption: how. `forward` and `backward` are not used then.
  std::optional<EncryptedUpdateSpec> update{};
  /// Where shares of X^T D are those of the update: the plan that D is scaled by.
  std::optional<SgdPlan> scaled_update{};
  /// Where shares of X^T D are lifted, and the party that has V has all of D: what a run's D may add up to.
  std::optional<double> most_derivatives{};
};

/// Keys of a batch, for its forward and its backward pass: oblivious_product.h.
struct LookupKeys;

/// One party's side of the products with one weight matrix. Both parties make the same calls at the same time.
class WeightProduct {
 public:
  /// `session` and the scheme must outlive it.
  /// Throws InvalidArgument as `Scheme::plan` and `EncryptedUpdateParams` do, ConfigError if the scheme cannot update
  /// under encryption: before anything is sent.
  static std::unique_ptr<WeightProduct> make(Session& session, std::shared_ptr<Weight> weight,
                                             const WeightProductSpec& spec);

  WeightProduct(const WeightProduct&) = delete;
  WeightProduct& operator=(const WeightProduct&) = delete;
  virtual ~WeightProduct() = default;

  /// Whether this party has X.
  [[nodiscard]] bool mine() const { return weight_->features_of == session_.party(); }

  /// Takes the keys of a pass's product of so many rows, and exchanges public ones if there are none yet: at the begin
  /// of each pass, before everything below. With updates under encryption it makes what updates the weight.
  virtual void take_keys(Pass pass, std::size_t rows) = 0;

  // Products by oblivious transfer have keys for each batch: the party that has X asks, and the other answers. No other
  // products do. OTs are taken by `ask` and `take_ask`, outside of any exchange. See batch_keys.h, which calls these.
  [[nodiscard]] virtual OtCount ots(std::size_t /*rows*/) { return {}; }
  [[nodiscard]] virtual std::uint64_t ask_bytes(std::size_t /*rows*/) { return 0; }
  virtual void ask(LookupKeys& /*keys*/, const IntMatrix& /*x*/) {}
  virtual void send_ask(LookupKeys& /*keys*/) {}
  virtual void receive_ask(LookupKeys& /*keys*/, std::size_t /*rows*/) {}
  virtual void take_ask(LookupKeys& /*keys*/, std::size_t /*rows*/) {}
  [[nodiscard]] virtual std::uint64_t answer_bytes(std::size_t /*rows*/) { return 0; }
  virtual void send_answer(LookupKeys& /*keys*/) {}
  virtual void receive_answer(LookupKeys& /*keys*/, std::size_t /*rows*/) {}
  virtual void take_answer(LookupKeys& /*keys*/) {}
  /// Makes an answer that is to be sent, or takes one that has arrived. Returns false if there is none.
  virtual bool prepare_keys(LookupKeys& /*keys*/) { return false; }
  /// Before `send_operand` or `receive_operand` of a pass, and again before its `send_derivative` or
  /// `receive_derivative`. Null where there are none.
  virtual void use_keys(const std::shared_ptr<LookupKeys>& /*keys*/) {}
  /// While masks repeat, at the party that has X, after `receive_operand`: what tells V from others. Empty where shares
  /// of X V repeat themselves.
  [[nodiscard]] virtual Bytes peer_digest() const { return {}; }

  // The party that has V: what it will send, the sending, and its shares. No gradient: none travels, or it is the
  // update already, and kept for the next step.
  [[nodiscard]] virtual std::uint64_t operand_bytes(std::size_t rows) = 0;
  virtual void send_operand(std::size_t rows) = 0;
  [[nodiscard]] virtual ShareMatrix receive(std::size_t rows) = 0;
  [[nodiscard]] virtual std::uint64_t derivative_bytes(std::size_t rows) = 0;
  /// Of the summed loss, over fewer rows in a short batch, which count for more then.
  virtual void send_derivative(const Derivative& derivative) = 0;
  /// As of a full batch.
  virtual void send_derivative(const ShareMatrix& share) = 0;
  [[nodiscard]] virtual std::optional<ShareMatrix> receive_gradient(std::size_t rows) = 0;

  // The party that has X. `own` is its share of D; null if it has none.
  /// What of `send` needs no operand, while the peer still encrypts.
  virtual void prepare(const IntMatrix& /*x*/) {}
  virtual void receive_operand(std::size_t rows) = 0;
  [[nodiscard]] virtual std::uint64_t product_bytes(std::size_t rows) = 0;
  [[nodiscard]] virtual ShareMatrix send(const IntMatrix& x) = 0;
  virtual void receive_derivative(const IntMatrix& x, const ShareMatrix* own) = 0;
  [[nodiscard]] virtual std::uint64_t gradient_bytes(std::size_t rows) = 0;
  [[nodiscard]] virtual std::optional<ShareMatrix> send_gradient(const IntMatrix& x, const ShareMatrix* own) = 0;

  /// The product X V, for who multiplies more rows than a batch has; null where V is updated under encryption.
  [[nodiscard]] virtual RepeatedProduct* forward_product() { return nullptr; }

  // Updates under encryption: at the party that has X, and at the other. Null elsewhere.
  [[nodiscard]] virtual EncryptedUpdateHolder* holder() const { return nullptr; }
  [[nodiscard]] virtual EncryptedUpdateOwner* owner() const { return nullptr; }
  /// Steps that they have seen; 0 where there are none.
  [[nodiscard]] virtual std::uint64_t steps() const { return 0; }
  /// Counts all changes of what masks of a forward pass hide.
  [[nodiscard]] std::uint64_t version() const { return weight_->version + steps(); }

  /// Adds the key that V is encrypted under to what saved state must fit, if it is.
  virtual void add_state_settings(const std::string& /*name*/, Settings& /*settings*/) const {}
  /// Writes what there is beside the weight.
  virtual void save(ByteSink& /*out*/) const {}
  /// Reads what `save` wrote. What was sent before is sent again.
  virtual void load(ByteSource& in) = 0;

 protected:
  WeightProduct(Session& session, std::shared_ptr<Weight> weight) : session_(session), weight_(std::move(weight)) {}

  Session& session_;
  std::shared_ptr<Weight> weight_;
};

}  // namespace blindfl::protocol
