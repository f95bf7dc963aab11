#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/mpc/party_cost.h"
#include "blindfl/protocol/layers/repeated_product.h"

// Products of two shared matrices, by private products of the scheme, both at the same time:
//
//   L R = L_A R_A + L_B R_B + product(L_A at A, R_B at B) + product(L_B at B, R_A at A)
//
//   both: [[own share of R]]           <--- cross --->   only if it changed
//   A: what B's pieces of L lack       --->              only if L has no pieces yet (share/integer_pieces.h)
//   both: own L times [[the peer's]]   <--- cross --->   masked; each opens a share
//
// The pieces of L add up to it over the integers, so that the sum is right in whatever ring R is needed in.

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
  /// Assumed of the magnitude of L's values: a larger one is as right, and less well hidden by its pieces.
  double largest_left = 1;
  /// No result exceeds this.
  double largest = 1;
  /// Fractional bits of results that are not noise, and those that they come with.
  int precision = 16;
  int result_scale = 20;
  /// Of results: 128, for which they are lifted, with a chance to fail; or less, which never fails.
  int result_ring = ShareMatrix::kMostRingBits;
  /// Such products in the run, and how many others like it share the run: what hides one is made for all.
  std::uint64_t run_products = 1;
  std::uint64_t sharing = 1;
  std::string scheme{};
};

/// A product that cannot overflow: local, and the same at both parties.
class SharedProductParams {
 public:
  /// Throws InvalidArgument, with the numbers, if results could not be lifted or rescaled safely, or if pieces of so
  /// many values of that size would hide them too little.
  explicit SharedProductParams(const SharedProductSpec& spec);

  [[nodiscard]] const SharedProductSpec& spec() const { return spec_; }
  /// Of either cross product, of a batch of so many rows.
  [[nodiscard]] he::ProductSpec product(std::size_t rows) const;
  [[nodiscard]] int product_scale() const { return spec_.left_scale + spec_.right_scale; }
  [[nodiscard]] int ring_bits() const { return ring_bits_; }
  /// The chance that a lift fails in all products of the run, of full batches; 0 where there is none.
  [[nodiscard]] double failure_of_run() const;
  /// Kullback-Leibler divergence, in nats, of all pieces of the run.
  [[nodiscard]] double divergence_of_run() const;
  [[nodiscard]] protocol::Settings settings() const;

  /// Local: the right matrix as the product takes it.
  [[nodiscard]] ShareMatrix right(const ShareMatrix& r) const;
  /// Local: from shares in the product's ring to shares modulo 2^result_ring at the result's scale.
  [[nodiscard]] ShareMatrix result(const ShareMatrix& sum) const;

 private:
  [[nodiscard]] std::size_t result_rows(std::size_t rows) const;
  [[nodiscard]] bool lifts() const { return spec_.result_ring == ShareMatrix::kMostRingBits; }
  [[nodiscard]] std::uint64_t run_values() const;
  [[nodiscard]] double pieces_of_run() const;

  SharedProductSpec spec_;
  int result_bits_ = 0;
  int ring_bits_ = 0;
  int noise_bits_ = 0;
};

/// A shared matrix on its way to the left of products: the first makes pieces of it, and the others take these.
class SharedLeft {
 public:
  explicit SharedLeft(ShareMatrix share) : share_(std::move(share)) {}
  /// Of pieces that are there already.
  static SharedLeft of_pieces(ShareMatrix pieces);

  [[nodiscard]] const ShareMatrix& share() const { return share_; }
  [[nodiscard]] bool has_pieces() const { return pieces_.has_value(); }
  [[nodiscard]] const IntMatrix& pieces() const { return *pieces_; }

 private:
  friend class SharedProduct;
  ShareMatrix share_;
  std::optional<IntMatrix> pieces_;
};

/// What of a product of shared matrices travels.
struct ProductParts {
  bool operand = true;  ///< R has changed
  bool pieces = true;   ///< L has no pieces yet
};
/// Of a product whose L has `left_values` values, and which both parties carry out as `plan`.
[[nodiscard]] PartyCost shared_product_cost(const he::Plan& plan, std::size_t left_values, ProductParts parts);

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
  /// No result is further off than this, unless a lift failed.
  [[nodiscard]] double largest_error(std::size_t rows);

  /// This party's share of the product, at `result_scale` modulo 2^result_ring. `r` of the same `version` as before
  /// does not travel again; `kOnce`: it always travels. Makes pieces of `l`, if it has none.
  /// Cost: `cost`, two flights, each both ways; at the first use of a set of parameters its keys. Reveals: nothing.
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
  [[nodiscard]] net::Message corrections(const SharedLeft& left) const;
  void send_pieces(SharedLeft& left);
  void receive_pieces(SharedLeft& left);

  Session& session_;
  SharedProductParams params_;
  std::uint32_t layer_;
  protocol::RepeatedProduct product_;
};

/// This party's share of what `share` hides, in the ring of 2^128 and as integers (share/integer_pieces.h): a lift that
/// never fails. `share` is modulo 2^64 or more. `layer` is what both parties know the message by.
/// Cost: `pieces_cost`. Reveals: nothing, as `divergence_of_piece` counts it. Throws InvalidArgument for a narrower
/// ring; ProtocolError at B if the shares do not belong together.
[[nodiscard]] ShareMatrix make_pieces(Session& session, std::uint32_t layer, const ShareMatrix& share);
/// Throws InvalidArgument, naming `what` they are pieces of, if so many of a run, of numbers up to `largest` at that
/// scale, would hide them too little.
void check_pieces(std::string_view what, double largest, int scale, double run_values);
[[nodiscard]] inline PartyCost pieces_cost(std::size_t values) {
  return {.a_bytes = values * sizeof(std::uint64_t), .flights = 1};
}

}  // namespace blindfl::mpc
