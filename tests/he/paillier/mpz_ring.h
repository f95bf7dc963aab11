#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/he/paillier/big_int.h"
#include "blindfl/he/paillier/ring.h"

namespace blindfl::he::paillier::testing {

/// A ring on GMP's numbers, whose rows hold plain residues: slow, obvious, and strict about the ring's contract.
/// Counts what it is asked for.
class MpzRing final : public Ring {
 public:
  explicit MpzRing(BigInt m, std::size_t lanes = 8)
      : m_(std::move(m)), square_(m_ * m_), lanes_(lanes), stride_((square_.bits() + 511) / 512 * 8), one_(stride_) {
    MpzRing::write(one_.data(), 1);
  }

  [[nodiscard]] std::size_t products() const { return products_; }
  [[nodiscard]] std::size_t squarings() const { return squarings_; }
  void reset_counts() { products_ = squarings_ = 0; }

  [[nodiscard]] std::string_view kernels() const override { return "mpz"; }
  [[nodiscard]] const BigInt& modulus() const override { return m_; }
  [[nodiscard]] std::size_t stride() const override { return stride_; }
  [[nodiscard]] std::size_t lanes() const override { return lanes_; }
  [[nodiscard]] const Limb* one() const override { return one_.data(); }

  void multiply(std::span<const Product> products) const override {
    Accesses accesses;
    for (const auto& [to, left, right] : products) accesses.add(to, {left, right});
    accesses.check();
    for (const auto& [to, left, right] : products) write(to, read(left) * read(right) % square_);
    products_ += products.size();
  }

  void multiply_chains(std::span<const Chain> chains) const override {
    Accesses accesses;
    for (const auto& chain : chains) accesses.add(chain.to, {chain.factors, chain.factors + chain.count});
    accesses.check();
    for (const auto& [to, factors, count] : chains) {
      BigInt product = 1;
      for (std::size_t i = 0; i < count; ++i) product = product * read(factors[i]) % square_;
      write(to, product);
      products_ += count > 0 ? count - 1 : 0;
    }
  }

  void square(std::span<const Row> rows, std::size_t times) const override {
    power(rows, BigInt::power_of_two(times));
    squarings_ += rows.size() * times;
  }

  void power(std::span<const Row> rows, const BigInt& exponent) const override {
    Accesses accesses;
    for (const auto& [to, from] : rows) accesses.add(to, {from});
    accesses.check();
    for (const auto& [to, from] : rows) write(to, paillier::power(read(from), exponent, square_));
  }

  void add_plaintext(std::span<const Plaintext> rows) const override {
    for (const auto& [to, from, value] : rows) {
      write(to, read(from) * (BigInt(1) + number(value, stride_ / 2) * m_) % square_);
    }
  }

  void write_digit(Limb* to, const BigInt& x) const override { put(to, stride_ / 2, x); }
  void write(Limb* to, const BigInt& x) const override { put(to, stride_, x); }
  [[nodiscard]] BigInt read(const Limb* row) const override { return number(row, stride_); }

  void to_bytes(const Limb* rows, std::size_t count, std::byte* out) const override {
    for (std::size_t i = 0; i < count; ++i, out += row_bytes()) {
      const BigInt x = read(rows + i * stride_);
      (x % m_).to_bytes({out, digit_bytes()});
      (x / m_).to_bytes({out + digit_bytes(), digit_bytes()});
    }
  }
  [[nodiscard]] bool from_bytes(Limb* rows, std::size_t count, const std::byte* in) const override {
    bool good = true;
    for (std::size_t i = 0; i < count; ++i, in += row_bytes()) {
      const BigInt low = BigInt::from_bytes({in, digit_bytes()});
      const BigInt high = BigInt::from_bytes({in + digit_bytes(), digit_bytes()});
      good = good && low < m_ && high < m_;
      write(rows + i * stride_, (low + high * m_) % square_);
    }
    return good;
  }

 private:
  /// That no row is written which another entry of the same call reads or writes.
  class Accesses {
   public:
    void add(const Limb* to, const std::vector<const Limb*>& from) {
      ++entries_;
      EXPECT_TRUE(writers_.emplace(to, entries_).second) << "two entries write the same row";
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % 64, 0U);
      for (const Limb* row : from) readers_.emplace_back(row, entries_);
    }
    void check() const {
      for (const auto& [row, entry] : readers_) {
        const auto writer = writers_.find(row);
        EXPECT_TRUE(writer == writers_.end() || writer->second == entry) << "an entry reads what another writes";
      }
    }

   private:
    int entries_ = 0;
    std::map<const Limb*, int> writers_;
    std::vector<std::pair<const Limb*, int>> readers_;
  };

  static void put(Limb* to, std::size_t limbs, const BigInt& x) {
    require<InvalidArgument>(x.bits() <= 64 * limbs, "a number too large for its row");
    std::fill_n(to, limbs, Limb{0});
    mpz_export(to, nullptr, -1, sizeof(Limb), 0, 0, x);
  }
  static BigInt number(const Limb* from, std::size_t limbs) {
    BigInt x;
    mpz_import(x, limbs, -1, sizeof(Limb), 0, 0, from);
    return x;
  }

  BigInt m_;
  BigInt square_;
  std::size_t lanes_;
  std::size_t stride_;
  AlignedVector<Limb> one_;
  mutable std::atomic<std::size_t> products_ = 0;
  mutable std::atomic<std::size_t> squarings_ = 0;
};

}  // namespace blindfl::he::paillier::testing
