#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/protocol/layers/encrypted_update_params.h"
#include "blindfl/protocol/layers/weight_update.h"
#include "blindfl/protocol/session/output.h"

// Updates under encryption (`update: encrypted`): A's weights are W_A = U_A + V_A, where U_A is what A drew and never
// changes, and V_A exists only as [[V_A]]_B, which A itself updates. docs/protocols.md, "Updates under encryption".
//
// So are embedding tables, and all weights under a shared top, where the derivative itself is shared: what the owner
// sends is its share, and the holder adds its own. There B may be the holder as well as A.
//
//   A: EncryptedUpdateHolder                        B: EncryptedUpdateOwner
//     send_product    --- [[X V + R]]_B --->          receive_product          forward: A keeps -R
//     receive_derivative  <--- [[c dZ]]_B ---         send_derivative          backward
//     step: [[V]] += X^T [[c dZ]]                     step: counts
//
// What travels depends on the batch and the outputs and not on the number of features, and no index leaves A.

namespace blindfl::protocol {

/// A's half.
class EncryptedUpdateHolder final : public WeightUpdate {
 public:
  /// `peer` must outlive this.
  EncryptedUpdateHolder(std::shared_ptr<const EncryptedUpdateParams> params, const he::UpdateHolder& peer);

  /// Of `send_product`'s message.
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t rows) const { return params_->reply_bytes(rows); }
  /// Returns this party's share of `x V_A`. Cost: one message of `reply_bytes`. Reveals: nothing; B opens masked
  /// values.
  [[nodiscard]] ShareMatrix send_product(Session& session, std::uint32_t layer, const IntMatrix& x);
  /// Keeps what B sent for the next step. Where both parties hold a share of the derivative, `own` is this party's.
  /// Throws ProtocolError if it is not encrypted derivatives.
  void receive_derivative(Session& session, std::uint32_t layer, const IntMatrix& x, const ShareMatrix* own = nullptr);

  [[nodiscard]] const SgdPlan& plan() const override { return params_->plan(); }
  void step() override;
  void discard() override;

  /// The sum so far, encrypted under B's key, for a checkpoint or a test that has that key.
  [[nodiscard]] const he::EncryptedMatrix& sum() const { return *sum_; }
  [[nodiscard]] const he::EncryptedMatrix& window(bool previous) const { return previous ? *previous_ : *current_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

  /// Writes all that a later session needs to resume, under the same keys.
  void save(ByteSink& out, ThreadPool& pool) const;
  /// Reads what `save` wrote, and no further. Throws DataError, and changes nothing, if it is not that, or of a layer
  /// of another shape, plan or key.
  void load(ByteSource& in, ThreadPool& pool);
  /// Of the key that the weights are encrypted under.
  [[nodiscard]] const std::string& key_id() const { return peer_.key_id(); }

 private:
  using Matrix = std::unique_ptr<he::EncryptedMatrix>;
  struct Pending {
    IntMatrix x;
    Matrix derivative;
    Matrix history;  ///< null without momentum
  };

  [[nodiscard]] MaskedProduct masked_product(const Session& session, std::uint32_t layer, std::size_t rows) const;

  std::shared_ptr<const EncryptedUpdateParams> params_;
  const he::UpdateHolder& peer_;
  Matrix sum_;
  Matrix current_;   ///< the window of momentum that runs
  Matrix previous_;  ///< the one before
  std::vector<Pending> pending_;
  std::size_t steps_ = 0;
  std::size_t passes_ = 0;
  ThreadPool* pool_ = nullptr;
};

/// B's half.
class EncryptedUpdateOwner final : public WeightUpdate {
 public:
  /// `key` must outlive this.
  EncryptedUpdateOwner(std::shared_ptr<const EncryptedUpdateParams> params, const he::UpdateOwner& key)
      : params_(std::move(params)), key_(key) {}

  /// Returns this party's share of `x V_A`, where x are A's features. Throws ProtocolError if it is not a reply.
  [[nodiscard]] ShareMatrix receive_product(Session& session, std::uint32_t layer, std::size_t rows);
  /// Of `send_derivative`'s message.
  [[nodiscard]] std::uint64_t derivative_bytes(std::size_t rows) const { return params_->derivative_bytes(rows); }
  /// Cost: one message of `derivative_bytes`. Reveals: nothing to A, who has no key.
  void send_derivative(Session& session, std::uint32_t layer, const Derivative& derivative);
  /// The same for this party's share of a derivative, scaled as that of a full batch.
  void send_derivative(Session& session, std::uint32_t layer, const ShareMatrix& share);

  [[nodiscard]] const SgdPlan& plan() const override { return params_->plan(); }
  void step() override;
  void discard() override;

  [[nodiscard]] std::size_t steps() const { return steps_; }
  void save(ByteSink& out) const;
  /// As the holder's.
  void load(ByteSource& in);
  /// Of this party's key.
  [[nodiscard]] const std::string& key_id() const { return key_.key_id(); }

 private:
  /// `values` times `mean` and what the step makes of it.
  template <class Values>
  void send(Session& session, std::uint32_t layer, const Values& values, double mean);

  std::shared_ptr<const EncryptedUpdateParams> params_;
  const he::UpdateOwner& key_;
  std::size_t steps_ = 0;
  std::size_t passes_ = 0;
  std::size_t pending_ = 0;
};

}  // namespace blindfl::protocol
