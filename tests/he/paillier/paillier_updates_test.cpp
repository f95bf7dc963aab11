// What updates under encryption live on: matrices that stay encrypted with the party that has no key.

#include "blindfl/he/paillier/paillier_updates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "he/paillier/tensor_lab.h"
#include "testing/plain/plain_scheme.h"
#include "testing/thrown.h"

namespace blindfl::he::paillier::paillier_updates_test {
namespace {

using testing::small_key;

class PaillierUpdatesTest : public ::testing::Test {
 protected:
  static constexpr int kScale = 20;
  static constexpr int kBits = 67;
  static constexpr int kHiding = 40;

  [[nodiscard]] EncryptedShape shape(std::size_t rows, int bits = 60) const {
    return {rows, 2, updates_.masked_width(kBits, kHiding), kScale, bits};
  }
  [[nodiscard]] UpdateReply reply(std::size_t parts) const { return {3, 2, parts, kBits, kHiding}; }

  /// Encrypted by the owner, read by the holder.
  template <class Values>
  [[nodiscard]] std::unique_ptr<EncryptedMatrix> sent(const Values& values, double factor) {
    const Bytes bytes = write_to_bytes(
        [&](ByteSink& out) { owner_.write_encrypted(shape(3, 40), values, factor, random_, pool_, out); });
    EXPECT_EQ(bytes.size(), updates_.matrix_bytes(shape(3, 40)));
    BufferSource in(bytes);
    return holder_.read(shape(3, 40), in, pool_);
  }
  /// Both parties' shares of the sum, added up.
  [[nodiscard]] std::vector<double> product(const std::vector<const EncryptedMatrix*>& matrices, const PublicSum& sum) {
    const UpdateReply facts = reply(sum.factors.size());
    const auto products = holder_.multiply(facts, x_, 4, matrices, pool_);
    ShareMatrix kept;
    const Bytes bytes = write_to_bytes(
        [&](ByteSink& out) { kept = holder_.write_masked(facts, *products, sum, random_, random_, pool_, out); });
    EXPECT_EQ(bytes.size(), updates_.reply_bytes(facts));
    BufferSource in(bytes);
    return decode_ring(blindfl::open(kept, owner_.open(facts, sum, in, pool_)));
  }

  const SecretKey& key_ = small_key(available_kernels().front());
  PaillierUpdates updates_{key_.public_key().params()};
  Randomizers randomizers_{key_.public_key()};
  PaillierUpdateHolder holder_{key_.shared_public_key(), randomizers_};
  PaillierUpdateOwner owner_{key_};
  Random random_;
  ThreadPool pool_;
  // X has the rows (1 0 2 0), (0 0 0 0), (0 -3 0 1), and D is (0.5 1), (2 -4), (-1 0.25).
  IntMatrix x_ = IntMatrix::dense(3, 4, {1, 0, 2, 0, 0, 0, 0, 0, 0, -3, 0, 1}, 0, 8);
  IntMatrix d_ = IntMatrix::dense(3, 2, {2, 4, 8, -16, -4, 1}, 2, 16);
};

TEST_F(PaillierUpdatesTest, ProductsWithWhatWasAddedAreShared) {
  const auto m = holder_.zeros(shape(4));
  holder_.add_transposed_product(*m, x_, *sent(d_, 0.5), pool_);
  // X X^T is diagonal here: 5, 0, 10.
  const std::vector<double> expected{0.5 * 5 * 0.5, 0.5 * 5 * 1, 0, 0, 0.5 * 10 * -1, 0.5 * 10 * 0.25};
  const std::vector<double> got = product({m.get()}, {{1.0}, 4, kScale - 4});
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0x1p-14) << i;
}

TEST_F(PaillierUpdatesTest, SharesOfSeveralProductsAddUpWithTheirFactors) {
  const auto first = holder_.zeros(shape(4));
  const auto second = holder_.zeros(shape(4));
  holder_.add_transposed_product(*first, x_, *sent(d_, 1.0), pool_);
  holder_.add_transposed_product(*second, x_, *sent(d_, 2.0), pool_);
  const std::vector<double> got = product({first.get(), second.get()}, {{1.0, -0.25}, 4, kScale - 4});
  const std::vector<double> expected{0.5 * 5 * 0.5, 0.5 * 5 * 1, 0, 0, 0.5 * 10 * -1, 0.5 * 10 * 0.25};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0x1p-14) << i;
}

TEST_F(PaillierUpdatesTest, TheHoldersShareIsAddedToTheOwners) {
  const ShareMatrix whole = rescale(to_ring(d_), 30);
  ShareMatrix of_owner = whole;
  for (UInt128& v : of_owner.values()) v = UInt128{12345678901} * (v + 3);
  const auto derivative = sent(of_owner, 0.5);
  holder_.add(*derivative, whole - of_owner, 0.5);
  const auto m = holder_.zeros(shape(4));
  holder_.add_transposed_product(*m, x_, *derivative, pool_);
  const std::vector<double> expected{0.5 * 5 * 0.5, 0.5 * 5 * 1, 0, 0, 0.5 * 10 * -1, 0.5 * 10 * 0.25};
  const std::vector<double> got = product({m.get()}, {{1.0}, 4, kScale - 4});
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0x1p-14) << i;
}

TEST_F(PaillierUpdatesTest, WhatIsSavedIsLoadedAgain) {
  const auto m = holder_.zeros(shape(4));
  holder_.add_transposed_product(*m, x_, *sent(d_, 1.0), pool_);
  const Bytes saved = write_to_bytes([&](ByteSink& out) { holder_.save(*m, out, pool_); });
  BufferSource in(saved);
  const auto again = holder_.load(shape(4), in, pool_);
  EXPECT_EQ(in.remaining(), 0U);
  const testing::TensorLab lab(key_);
  EXPECT_EQ(lab.decrypt(testing::own(*again)), lab.decrypt(testing::own(*m)));
  BufferSource for_a_smaller_one(saved);
  EXPECT_THROW((void)holder_.load(shape(1), for_a_smaller_one, pool_), DataError);
}

TEST(Updates, AreRefusedWhereASchemeHasNone) {
  const blindfl::testing::PlainScheme plain;
  EXPECT_EQ(plain.updates(), nullptr);
  EXPECT_EQ(
      blindfl::testing::message_of<ConfigError>([&] { (void)updates_of<ConfigError>(plain, "wide", "A's rows"); }),
      "layer 'wide': updates under encryption need the scheme 'paillier' for A's rows, not 'plain'");
}

}  // namespace
}  // namespace blindfl::he::paillier::paillier_updates_test
