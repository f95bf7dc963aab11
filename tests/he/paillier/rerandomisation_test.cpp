// What a reply's randomness tells its key's owner, who made the randomness of what went into it: nothing. Shown with
// the secret key in hand, and shown to be wrong where the fresh encryption of 0 is left out.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "blindfl/he/paillier/masked_reply.h"
#include "he/paillier/tensor_lab.h"
#include "testing/label.h"
#include "testing/uniformity.h"

namespace blindfl::he::paillier::rerandomisation_test {
namespace {

constexpr std::size_t kRows = 1300;
constexpr std::size_t kInner = 4;

/// What the key's owner can make of a reply, ciphertext by ciphertext.
struct View {
  std::vector<BigInt> randomness;  ///< of the reply: h^r
  std::vector<BigInt> left;        ///< of it, without what the private matrix would have made of the inputs' randomness
};

class Rerandomisation : public ::testing::TestWithParam<std::string_view> {
 protected:
  testing::TensorLab lab_{GetParam()};
  BigInt p_ = lab_.p();
  /// One row in a ciphertext, so that there are many.
  ReplyLayout layout_{InsecureParams::make(), kRows, 1, 500, 64};
  CryptoTensor m_ = make_m();

  /// Rows in equal pairs: a matrix that takes them with opposite signs has the same product as one without entries.
  CryptoTensor make_m() {
    Integers values;
    for (std::size_t i = 0; i < kInner; ++i) values.emplace_back(static_cast<std::int64_t>(1000 + i / 2));
    return lab_.encrypt({kInner, 1, layout_.slots, 0, 60}, values);
  }
  static IntMatrix heavy() {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < kRows * kInner; ++i) {
      const auto v = static_cast<std::int64_t>(1 + i / kInner);
      values.push_back(i % 2 == 0 ? v : -v);
    }
    return IntMatrix::dense(kRows, kInner, std::move(values), 0, 1 << 16);
  }
  static IntMatrix empty() {
    return IntMatrix::dense(kRows, kInner, std::vector<std::int64_t>(kRows * kInner), 0, 1 << 16);
  }

  View view(const IntMatrix& x, bool fresh) {
    Randomizers randomizers(lab_.key().public_key());
    HidingProbe::switch_hiding(randomizers, fresh, /*masks=*/true);
    const Bytes bytes = write_to_bytes([&](ByteSink& out) {
      (void)write_masked(layout_, multiply(x, m_, kInner, lab_.pool()), randomizers, lab_.random(), lab_.random(),
                         lab_.pool(), out);
    });
    EXPECT_EQ(layout_.rows_per_ciphertext, 1U);
    const BigInt n2 = lab_.n2();
    std::vector<BigInt> inputs;  // and their inverses
    for (std::size_t k = 0; k < kInner; ++k) {
      inputs.push_back(lab_.randomness(lab_.ring().read(m_.find(k))));
      inputs.push_back(inverse(inputs.back(), n2));
    }
    View seen{lab_.randomness(bytes), {}};
    for (std::size_t r = 0; r < kRows; ++r) {
      BigInt left = seen.randomness[r];
      x.for_each_in_row(r, [&](std::size_t k, std::int64_t v) {
        const BigInt& divisor = inputs[2 * k + (v < 0 ? 0 : 1)];
        if (v != 0) left = left * power(divisor, BigInt(std::abs(v)), n2) % n2;
      });
      seen.left.push_back(left);
    }
    return seen;
  }

  /// All different, uniform modulo p in their low bits, and squares modulo p half of the time.
  bool looks_fresh(const std::vector<BigInt>& randomness) const {
    std::vector<std::uint64_t> low;
    std::set<BigInt> different;
    std::size_t squares = 0;
    for (const BigInt& r : randomness) {
      low.push_back(low64(low128(r % p_)));
      different.insert(r);
      squares += mpz_legendre(r % p_, p_) == 1 ? 1 : 0;
    }
    const double excess = std::abs(static_cast<double>(squares) - kRows / 2.0) / std::sqrt(kRows / 4.0);
    return different.size() == randomness.size() && blindfl::testing::looks_uniform<std::uint64_t>(low) && excess < 6.5;
  }
};

/// What a reply tells has nothing to do with the kernels that made it, and takes long with slow ones.
std::vector<std::string_view> kernels() {
  if (blindfl::testing::kFull) return available_kernels();
  return {available_kernels().front()};
}

INSTANTIATE_TEST_SUITE_P(Kernels, Rerandomisation, ::testing::ValuesIn(kernels()), testing::name_of_kernels);

TEST_P(Rerandomisation, LeavesNothingOfHowAReplyWasComputed) {
  const View of_heavy = view(heavy(), /*fresh=*/true);
  const View of_empty = view(empty(), /*fresh=*/true);
  EXPECT_TRUE(looks_fresh(of_heavy.randomness));
  EXPECT_TRUE(looks_fresh(of_empty.randomness));
  // Whoever guesses the matrix and takes out what it would have made of the inputs finds nothing that says so.
  EXPECT_TRUE(looks_fresh(of_heavy.left));
  std::set<BigInt> all(of_heavy.randomness.begin(), of_heavy.randomness.end());
  all.insert(of_empty.randomness.begin(), of_empty.randomness.end());
  EXPECT_EQ(all.size(), 2 * kRows);
}

TEST_P(Rerandomisation, IsWhatKeepsTheKeysOwnerFromCheckingAGuess) {
  const View of_heavy = view(heavy(), /*fresh=*/false);
  const View of_empty = view(empty(), /*fresh=*/false);
  // The right guess leaves 1, and a row without features shows at once.
  for (const BigInt& left : of_heavy.left) ASSERT_EQ(left, BigInt(1));
  for (const BigInt& r : of_empty.randomness) ASSERT_EQ(r, BigInt(1));
  EXPECT_FALSE(looks_fresh(of_heavy.left));
  EXPECT_FALSE(looks_fresh(of_empty.randomness));
}

}  // namespace
}  // namespace blindfl::he::paillier::rerandomisation_test
