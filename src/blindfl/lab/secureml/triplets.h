#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/lab/secureml/words.h"

// Beaver triplets: shares of U, V and Z = U V, of random matrices that nobody knows. A matrix on the left of products
// is opened once less its U, as SecureML opens the features of a whole data set; each product has a V and a Z of its
// own.

namespace blindfl::lab::secureml {

/// This party's share of a uniformly random U. It hides one matrix, in any number of products: move-only, so that it
/// cannot hide two by mistake.
class LeftMask {
 public:
  LeftMask(std::uint32_t number, Words share)
      : number_(number), rows_(share.rows()), cols_(share.cols()), share_(std::move(share)) {}
  LeftMask(LeftMask&&) = default;
  LeftMask& operator=(LeftMask&&) = default;
  LeftMask(const LeftMask&) = delete;
  LeftMask& operator=(const LeftMask&) = delete;
  ~LeftMask() = default;

  /// Of all that its source made: the same at both parties.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] const Words& share() const { return share_; }
  /// Where triplets do not need it: its memory is given back.
  void forget_share() { share_ = Words(); }

 private:
  std::uint32_t number_;
  std::size_t rows_;
  std::size_t cols_;
  Words share_;
};

/// Shares of V and of Z, for one product.
class Triplet {
 public:
  struct Parts {
    Words v;
    Words z;
  };
  Triplet(Words v, Words z) : parts_{std::move(v), std::move(z)} {}
  Triplet(Triplet&& other) noexcept : parts_(std::move(other.parts_)), used_(std::exchange(other.used_, true)) {}
  Triplet& operator=(Triplet&&) = delete;
  Triplet(const Triplet&) = delete;
  Triplet& operator=(const Triplet&) = delete;
  ~Triplet() = default;

  [[nodiscard]] const Words& v() const { return parts_.v; }
  /// Once: the same V under two matrices would tell their difference. Throws InvalidArgument the second time.
  [[nodiscard]] Parts take() {
    require<InvalidArgument>(!std::exchange(used_, true), "a triplet was used before: make one for each product");
    return std::move(parts_);
  }

 private:
  Parts parts_;
  bool used_ = false;
};

/// Which product: `U V`, or `transpose(U) V`, of the given rows of U.
enum class Form : std::uint8_t { kPlain, kTransposed };
struct TripletSpec {
  const LeftMask& mask;
  std::span<const std::uint32_t> rows;  ///< of U, in this order
  Form form = Form::kPlain;
  std::size_t cols = 0;  ///< of V

  [[nodiscard]] std::size_t inner() const { return form == Form::kPlain ? mask.cols() : rows.size(); }
  [[nodiscard]] std::size_t result_rows() const { return form == Form::kPlain ? rows.size() : mask.cols(); }
};

/// Where a party's triplets come from. Both parties ask for the same, in the same order.
class TripletSource {
 public:
  TripletSource() = default;
  TripletSource(const TripletSource&) = delete;
  TripletSource& operator=(const TripletSource&) = delete;
  virtual ~TripletSource() = default;

  [[nodiscard]] virtual LeftMask mask(std::size_t rows, std::size_t cols) = 0;
  /// Z is exact, or off by less than `largest_error()` units. Throws InvalidArgument for an empty product or rows that
  /// the mask does not have.
  [[nodiscard]] virtual Triplet triplet(const TripletSpec& spec) = 0;
  /// What the mask hides was opened less it: sources that do not need this party's share of U give it back.
  virtual void opened(LeftMask& mask) { (void)mask; }
  /// The mask will not be needed again.
  virtual void drop(LeftMask mask) { (void)mask; }
  [[nodiscard]] virtual double largest_error() const { return 0; }

 protected:
  static void check(const TripletSpec& spec) {
    require<InvalidArgument>(!spec.rows.empty() && spec.mask.cols() > 0 && spec.cols > 0,
                             "a triplet of an empty product");
  }
};

/// Triplets that the two parties make themselves: each draws its shares of U and V, so that
///
///   Z = U_A V_A + U_B V_B + U_A V_B + U_B V_A
///
/// and only the last two need the other.
class PairTriplets : public TripletSource {
 public:
  explicit PairTriplets(Random random) : random_(std::move(random)) {}

  [[nodiscard]] LeftMask mask(std::size_t rows, std::size_t cols) final;
  [[nodiscard]] Triplet triplet(const TripletSpec& spec) final;

 private:
  /// This party's share of `U_A V_B + U_B V_A`, of its own U, transposed, and its own V.
  [[nodiscard]] virtual Words cross_products(const Words& left_transposed, const Words& v) = 0;

  Random random_;
  std::uint32_t next_mask_ = 0;
};

}  // namespace blindfl::lab::secureml
