#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/protocol/layers/repeated_product.h"
#include "blindfl/protocol/session/room_lift.h"

// Products of two shared matrices, by private products of the scheme, both at the same time:
//
//   L R = L_A R_A + L_B R_B + product(L_A at A, R_B at B) + product(L_B at B, R_A at A)
//
//   both: L in the ring of the product <--- cross --->   twice; only if L is not lifted yet (session/room_lift.h)
//   both: [[own share of R]]           <--- cross --->   only if it changed; with the first message of the lift
//   both: own L times [[the peer's]]   <--- cross --->   masked; each opens a share
//
// Shares of L modulo the product's ring, read as integers, add up to L modulo that ring: all that the sum needs.

namespace blindfl::mpc {

/// Which of three products of a layer Z = H W it is.
enum class ProductForm {
  kPlain,            ///< L R, as H W
  kLeftTransposed,   ///< L^T R, as dW = H^T dZ
  kRightTransposed,  ///< L R^T, as dH = dZ W^T
};

/// The public facts, the same at both parties. L has a row for each row of a batch.
struct SharedProductSpec {
  ProductForm form = ProductForm::kPlain;
  std::size_t batch = 0;      ///< rows of L, at most
  std::size_t left_cols = 0;  ///< of L
  std::size_t other = 0;      ///< columns of R; its rows, if it is transposed
  int left_scale = 0;
  int right_scale = 0;
  /// L is lifted from shares modulo 2^left_ring: right for values below 2^(left_ring - 2) units, and no others.
  int left_ring = 0;
  /// No result exceeds this.
  double largest = 1;
  /// Fractional bits of results that are not noise, and those that they come with.
  int precision = 16;
  int result_scale = 20;
  /// Results are shared modulo 2^result_ring.
  int result_ring = 0;
  /// Such products in the run, and how many others like it share the run: what hides one is made for all.
  std::uint64_t run_products = 1;
  std::uint64_t sharing = 1;
  std::string scheme{};
};

/// A product that cannot overflow: local, and the same at both parties.
class SharedProductParams {
 public:
  /// Throws InvalidArgument, with the numbers, if results do not fit in their ring, or the ring of the product is none
  /// that integers on the left can be of.
  explicit SharedProductParams(const SharedProductSpec& spec);

  [[nodiscard]] const SharedProductSpec& spec() const { return spec_; }
  /// Of either cross product, of a batch of so many rows.
  [[nodiscard]] he::ProductSpec product(std::size_t rows) const;
  [[nodiscard]] int product_scale() const { return spec_.left_scale + spec_.right_scale; }
  /// Of the product: what L is lifted to, and R is needed in.
  [[nodiscard]] int ring_bits() const { return ring_bits_; }
  /// What lifts L for this product, of a batch of so many rows.
  [[nodiscard]] protocol::RoomLift left_lift(std::size_t rows) const {
    return {.values = rows * spec_.left_cols, .from = spec_.left_ring, .to = ring_bits_};
  }
  [[nodiscard]] protocol::Settings settings() const;

  /// Local: the right matrix as the product takes it.
  [[nodiscard]] ShareMatrix right(const ShareMatrix& r) const;
  /// Local: from shares in the product's ring to shares modulo 2^result_ring at the result's scale. Never fails.
  [[nodiscard]] ShareMatrix result(const ShareMatrix& sum) const;

 private:
  [[nodiscard]] std::size_t result_rows(std::size_t rows) const;
  [[nodiscard]] std::uint64_t run_values() const;

  SharedProductSpec spec_;
  int result_bits_ = 0;
  int ring_bits_ = 0;
  int noise_bits_ = 0;
};

/// A shared matrix on its way to the left of products: the first lifts it, and the others take what that made.
class SharedLeft {
 public:
  /// To be lifted to 2^ring_bits, or to the ring of the first product that takes it if that is wider.
  explicit SharedLeft(ShareMatrix share, int ring_bits = 0) : share_(std::move(share)), ring_bits_(ring_bits) {}
  /// Of a share that is lifted already: any product in this ring or a narrower one takes it.
  static SharedLeft of_lifted(ShareMatrix lifted);

  [[nodiscard]] const ShareMatrix& share() const { return share_; }
  [[nodiscard]] bool is_lifted() const { return lifted_; }

 private:
  friend class SharedProduct;
  ShareMatrix share_;
  int ring_bits_ = 0;
  bool lifted_ = false;
};

/// What of a product of shared matrices travels.
struct ProductParts {
  bool operand = true;  ///< R has changed
  bool lift = true;     ///< L is not lifted yet
};
/// Of a product that both parties carry out as `plan`; `lift` is what lifts its L.
[[nodiscard]] PartyCost shared_product_cost(const he::Plan& plan, const protocol::RoomLift& lift, ProductParts parts);

/// Between the parties of a session.
class SharedProduct {
 public:
  static constexpr std::uint64_t kOnce = protocol::RepeatedProduct::kOnce;

  /// The same spec at both parties, which compare a digest. `session` must outlive it.
  /// Throws as `SharedProductParams` and `he::Scheme::plan` do.
  SharedProduct(Session& session, const SharedProductSpec& spec);
  SharedProduct(const SharedProduct&) = delete;
  SharedProduct& operator=(const SharedProduct&) = delete;
  ~SharedProduct() = default;

  [[nodiscard]] const SharedProductParams& params() const { return params_; }
  [[nodiscard]] const he::Plan& plan(std::size_t rows) { return product_.plan(rows); }
  using Parts = ProductParts;
  /// Of a batch of so many rows.
  [[nodiscard]] PartyCost cost(std::size_t rows, Parts parts);
  [[nodiscard]] PartyCost cost(std::size_t rows) { return cost(rows, Parts()); }
  /// No result is further off than this, of an L and a result that fit in their rings.
  [[nodiscard]] double largest_error(std::size_t rows);

  /// This party's share of the product, at `result_scale` modulo 2^result_ring. `r` of the same `version` as before
  /// does not travel again; `kOnce`: it always travels. Lifts `l`, if it is not.
  /// Cost: `cost`, all flights both ways; at the first use of a set of parameters its keys. Reveals: nothing.
  /// Throws InvalidArgument if a matrix has another shape, scale or too narrow a ring, before anything is sent;
  /// ProtocolError if the peer's bytes are not what they must be.
  [[nodiscard]] ShareMatrix product(SharedLeft& l, const ShareMatrix& r, std::uint64_t version = kOnce);
  [[nodiscard]] ShareMatrix product(ShareMatrix l, const ShareMatrix& r, std::uint64_t version = kOnce) {
    SharedLeft left(std::move(l));
    return product(left, r, version);
  }
  /// One of several at the same time, such as dW and dH.
  struct Task {
    SharedProduct* product = nullptr;
    SharedLeft* l = nullptr;
    const ShareMatrix* r = nullptr;
    std::uint64_t version = kOnce;
  };
  /// Several, of one session, in no more flights than one takes; both parties in the same order. Cost: the sum of all
  /// bytes, the most flights. Throws as `product`; InvalidArgument if there is none, one twice, or of several sessions.
  [[nodiscard]] static std::vector<ShareMatrix> products(std::span<const Task> tasks);

  /// No R has travelled: where a run goes back to an earlier state.
  void forget() { product_.forget(); }

 private:
  /// What a product works with, from its factors to this party's shares.
  struct Run {
    std::size_t rows = 0;  ///< of the batch
    ShareMatrix right;
    std::uint64_t version = kOnce;
    IntMatrix left{};
    ShareMatrix multiplied{};
    ShareMatrix opened{};
  };
  [[nodiscard]] Run checked(const Task& task);
  void take_keys(const Run& run);
  [[nodiscard]] std::uint64_t operand_bytes(const Run& run) { return product_.operand_bytes(run.rows, run.version); }
  void send_operand(const Run& run) { product_.send_operand(run.rows, run.version, run.right); }
  void receive_operand(const Run& run) { product_.receive_operand(run.rows, run.version); }
  void send_reply(Run& run) { run.multiplied = product_.send(run.rows, run.left); }
  void receive_reply(Run& run) { run.opened = product_.receive(run.rows); }
  [[nodiscard]] ShareMatrix finished(const Run& run, ShareMatrix own) const;
  /// Returns whether anything was to be lifted; if so, `beside` has travelled, too.
  static bool lift_left(std::span<const Task> tasks, const protocol::Beside& beside);

  Session& session_;
  SharedProductParams params_;
  std::uint32_t layer_;
  protocol::RepeatedProduct product_;
};

}  // namespace blindfl::mpc
