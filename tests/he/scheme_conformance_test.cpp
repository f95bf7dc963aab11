// What every scheme must do, written once. A scheme that passes can serve the private product.

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/he/keys.h"
#include "blindfl/he/paillier/paillier_plan.h"
#include "blindfl/he/scheme.h"
#include "blindfl/share/products.h"
#include "he/paillier/masked_view.h"
#include "he/paillier/tensor_lab.h"
#include "testing/matrices.h"
#include "testing/schemes.h"
#include "testing/uniformity.h"

namespace blindfl::he::scheme_conformance_test {
namespace {

using testing::random_matrix;
using Kind = IntMatrix::Kind;

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Scheme> scheme_ = testing::make_scheme(GetParam());
  Random random_;
  ThreadPool pool_{2};
  SeededRandom test_random_{42};
  std::unique_ptr<KeyOwner> owner_ = scheme_->generate_keys(random_);
  std::unique_ptr<Multiplier> multiplier_ = scheme_->multiplier(owner_->public_key());

  /// A ciphertext for a few values only: smaller shapes will do.
  [[nodiscard]] bool is_slow() const { return scheme_->name() == "paillier"; }

  Bytes encrypt(const Plan& plan, const ShareMatrix& m) {
    return write_to_bytes([&](ByteSink& out) { owner_->encrypt(plan, m, random_, pool_, out); });
  }
  std::unique_ptr<const Operand> load(const Plan& plan, ByteView bytes) {
    BufferSource in(bytes);
    auto operand = multiplier_->load(plan, in, pool_);
    EXPECT_EQ(in.remaining(), 0);
    return operand;
  }
  struct Masked {
    Bytes reply;
    ShareMatrix share;
  };
  Masked multiply(const Plan& plan, const IntMatrix& x, const Operand& operand) {
    Masked masked;
    masked.reply = write_to_bytes(
        [&](ByteSink& out) { masked.share = multiplier_->multiply_and_mask(plan, x, operand, random_, pool_, out); });
    return masked;
  }
  ShareMatrix open(const Plan& plan, ByteView reply) {
    BufferSource in(reply);
    return owner_->open(plan, in, pool_);
  }
  void expect_product(const IntMatrix& x, const ShareMatrix& m, int right_bits) {
    const auto plan = scheme_->plan({x.rows(), x.cols(), m.cols(), x.bound(), x.scale(), m.scale(), right_bits});
    const Bytes operand = encrypt(*plan, m);
    EXPECT_EQ(operand.size(), plan->operand_bytes());
    const Masked masked = multiply(*plan, x, *load(*plan, operand));
    EXPECT_EQ(masked.reply.size(), plan->reply_bytes());
    EXPECT_EQ(open(*plan, masked.reply) + masked.share, blindfl::multiply(x, m)) << plan->spec().describe();
  }
};

TEST_P(Conformance, SharesSumToTheProductForEveryKindAndShape) {
  const std::size_t shapes[][3] = {{1, 1, 1},    {1, 7, 3},    {5, 1, 2},   {3, 4, 1},
                                   {128, 14, 1}, {16, 63, 20}, {40, 128, 5}};
  for (const auto& [rows, inner, cols] : shapes) {
    for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
      const std::uint64_t bound = std::uint64_t{1} << 20;
      expect_product(random_matrix(kind, rows, inner, 16, bound, test_random_), random_share(inner, cols, 32, random_),
                     128);
    }
  }
}

TEST_P(Conformance, SharesSumToTheProductOfATransposedMatrix) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    const IntMatrix x = random_matrix(kind, 32, 9, 16, 1000, test_random_).transpose();
    expect_product(x, random_share(32, 4, 32, random_), 128);
  }
}

TEST_P(Conformance, WorstCaseOperandsComeOutExactly) {
  constexpr std::int64_t kLargest = (std::int64_t{1} << 20) - 1;
  const std::size_t rows = 12;
  const std::size_t inner = 33;
  std::vector<std::int64_t> largest(rows * inner, kLargest);
  std::vector<std::int64_t> alternating(rows * inner);
  for (std::size_t i = 0; i < alternating.size(); ++i) alternating[i] = i % 2 == 0 ? kLargest : -kLargest;
  const UInt128 one = 1;
  for (const auto& left : {largest, alternating, std::vector<std::int64_t>(rows * inner, 0)}) {
    const IntMatrix x = IntMatrix::dense(rows, inner, left, 16, kLargest);
    for (const UInt128 value : {UInt128{0}, one, ~UInt128{0}, one << 127, (one << 127) - 1}) {
      expect_product(x, testing::constant_share(inner, 3, 32, value), 128);
    }
  }
}

TEST_P(Conformance, LeftOperandsOfAnyWidthComeOutExactly) {
  for (const int bits : {1, 21, 32, 40, 55, 62}) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    const IntMatrix x = random_matrix(Kind::kDense, 6, 20, 0, bound, test_random_);
    expect_product(x, random_share(20, 3, 32, random_), 128);
    const IntMatrix edges =
        IntMatrix::dense(2, 20, std::vector<std::int64_t>(40, -static_cast<std::int64_t>(bound)), 0, bound);
    expect_product(edges, random_share(20, 3, 32, random_), 128);
  }
}

TEST_P(Conformance, ProductsOfManyTilesComeOutExactly) {
  const std::size_t inner = is_slow() ? 400 : 4000;
  const std::size_t cols = is_slow() ? 20 : 100;
  expect_product(random_matrix(Kind::kCsr, 30, inner, 16, 1 << 20, test_random_), random_share(inner, 20, 32, random_),
                 128);
  expect_product(random_matrix(Kind::kDense, 300, 20, 16, 1 << 20, test_random_), random_share(20, cols, 32, random_),
                 128);
}

TEST_P(Conformance, RandomProductsOfManySeedsComeOutExactly) {
  for (std::uint64_t seed = 0; seed < (is_slow() ? 8 : 24); ++seed) {
    SeededRandom random(seed, 77);
    const auto up_to = [&](std::size_t most) { return 1 + static_cast<std::size_t>(random.below(most)); };
    const Kind kind = seed % 3 == 0 ? Kind::kDense : seed % 3 == 1 ? Kind::kCsr : Kind::kOneHot;
    const std::size_t inner = up_to(seed % 4 == 0 && !is_slow() ? 700 : 90);
    const std::uint64_t bound = std::uint64_t{1} << random.below(60);
    const IntMatrix x = random_matrix(kind, up_to(150), inner, 0, bound, random);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    expect_product(x, random_share(inner, up_to(is_slow() ? 20 : 90), 32, random_), 128);
  }
}

TEST_P(Conformance, LargestOperandsOfABatchComeOutExactly) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 20;
  const std::size_t shapes[][3] = {{128, 62, 1}, {62, 128, 1}, {128, 392, 9}};
  for (const auto& [rows, inner, cols] : shapes) {
    std::vector<std::int64_t> values(rows * inner, kLargest);
    expect_product(IntMatrix::dense(rows, inner, values, 16, kLargest),
                   testing::constant_share(inner, cols, 32, (UInt128{1} << 127) - 1), 128);
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -kLargest;
    expect_product(IntMatrix::dense(rows, inner, values, 16, kLargest),
                   testing::constant_share(inner, cols, 32, UInt128{1} << 127), 128);
    expect_product(IntMatrix::dense(rows, inner, std::vector<std::int64_t>(rows * inner, 1), 0, 1),
                   testing::constant_share(inner, cols, 32, ~UInt128{0}), 128);
  }
}

TEST_P(Conformance, ABoundedRightOperandComesOutExactly) {
  const IntMatrix x = random_matrix(Kind::kDense, 6, 40, 16, 1 << 20, test_random_);
  ShareMatrix m(40, 3, 32);
  for (UInt128& v : m.values())
    v = static_cast<UInt128>(static_cast<Int128>(testing::random_value(1U << 31, test_random_)));
  expect_product(x, m, 41);
}

TEST_P(Conformance, AnOperandServesSeveralProductsOfTheSameLayout) {
  const ShareMatrix m = random_share(10, 4, 32, random_);
  const auto plan = scheme_->plan({8, 10, 4, 1000, 0, 32, 128});
  const auto operand = load(*plan, encrypt(*plan, m));
  for (int i = 0; i < 3; ++i) {
    const IntMatrix x = random_matrix(Kind::kDense, 8, 10, 0, 1000, test_random_);
    const Masked masked = multiply(*plan, x, *operand);
    EXPECT_EQ(open(*plan, masked.reply) + masked.share, blindfl::multiply(x, m));
  }
}

TEST_P(Conformance, BothPartiesMakeTheSamePlan) {
  const ProductSpec spec{128, 62, 1, 1 << 20, 16, 32, 128};
  const auto mine = scheme_->plan(spec);
  const auto theirs = testing::make_scheme(GetParam())->plan(spec);
  EXPECT_EQ(mine->operand_bytes(), theirs->operand_bytes());
  EXPECT_EQ(mine->reply_bytes(), theirs->reply_bytes());
  EXPECT_EQ(mine->operand_layout(), theirs->operand_layout());
}

TEST_P(Conformance, MasksAreFreshAndUniform) {
  const IntMatrix x = random_matrix(Kind::kCsr, 128, 20, 16, 1 << 20, test_random_);
  const auto plan = scheme_->plan({128, 20, 16, 1 << 20, 16, 32, 128});
  const auto operand = load(*plan, encrypt(*plan, random_share(20, 16, 32, random_)));
  const Masked first = multiply(*plan, x, *operand);
  const Masked second = multiply(*plan, x, *operand);
  EXPECT_NE(first.reply, second.reply);
  EXPECT_NE(first.share, second.share);
  EXPECT_TRUE(testing::looks_uniform<UInt128>(first.share.values()));
  EXPECT_TRUE(testing::looks_uniform<UInt128>((first.share - second.share).values()));
  const ShareMatrix opened = open(*plan, first.reply);
  EXPECT_TRUE(testing::looks_uniform<UInt128>(opened.values()));
}

// Modulo 2^128 any mask of 128 bits is uniform. Paillier's owner opens integers, and sees what stands above.
class PaillierConformance : public Conformance {};

TEST_P(PaillierConformance, NothingOfTheLargestProductsShowsAboveTheirMasks) {
  struct Case {
    std::int64_t bound;  // of X
    int right_bits;      // of M
  };
  constexpr std::size_t kRows = 80;
  constexpr std::size_t kInner = 20;
  constexpr std::size_t kCols = 16;
  // Binary features against a share, features of 20 bits against a share, and against a derivative.
  for (const auto& [bound, right_bits] : {Case{1, 128}, Case{1 << 20, 128}, Case{1 << 20, 41}}) {
    std::vector<std::int64_t> left;
    for (std::size_t r = 0; r < kRows; ++r) left.insert(left.end(), kInner, r % 2 == 0 ? bound : -bound);
    const IntMatrix x = IntMatrix::dense(kRows, kInner, std::move(left), 16, static_cast<std::uint64_t>(bound));
    const UInt128 least = 0 - (UInt128{1} << (right_bits - 1));
    const ShareMatrix m = testing::constant_share(kInner, kCols, 32, least);
    const auto plan = scheme_->plan({kRows, kInner, kCols, x.bound(), 16, 32, right_bits});
    const Bytes reply = multiply(*plan, x, *load(*plan, encrypt(*plan, m))).reply;

    const auto& layout = dynamic_cast<const paillier::PaillierPlan&>(*plan).reply();
    const auto& key = dynamic_cast<const paillier::PaillierKeyOwner&>(*owner_).secret_key();
    paillier::Integers right;
    for (const UInt128 v : m.values()) right.push_back(paillier::to_big(static_cast<Int128>(v)));
    // Both factors as large as they may be, in each of the terms.
    const paillier::BigInt largest = paillier::BigInt(static_cast<std::int64_t>(kInner) * bound) *
                                     paillier::BigInt::power_of_two(static_cast<std::size_t>(right_bits - 1));
    BufferSource in(ByteView(reply).subspan(paillier::PaillierPlan::kIdBytes));
    const paillier::testing::MaskedView view{layout.mask_bits, largest, paillier::BigInt::power_of_two(64),
                                             paillier::open_masked(layout, key, in, pool_),
                                             paillier::testing::plain_product(x, right, kCols)};
    EXPECT_TRUE(view.hides_the_secret()) << plan->spec().describe();
    EXPECT_TRUE(view.reaches_its_bound());
  }
}

TEST_P(Conformance, MasksAreWhatTheirSourceGivesWhateverElseIsDrawn) {
  const IntMatrix x = random_matrix(Kind::kCsr, 70, 20, 16, 1 << 20, test_random_);
  const auto plan = scheme_->plan({70, 20, 5, 1 << 20, 16, 32, 128});
  const ShareMatrix m = random_share(20, 5, 32, random_);
  const auto operand = load(*plan, encrypt(*plan, m));
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  random_.fill(key);
  const auto masked_with = [&](std::string_view context, std::size_t threads) {
    ThreadPool pool(threads);
    Random masks = Random::derived(key, as_bytes(context));
    Masked masked;
    masked.reply = write_to_bytes([&](ByteSink& out) {
      masked.share = multiplier_->multiply_and_mask(*plan, x, *operand, random_, masks, pool, out);
    });
    EXPECT_EQ(open(*plan, masked.reply) + masked.share, blindfl::multiply(x, m));
    return masked;
  };
  const Masked first = masked_with("one", 1);
  const Masked threads = masked_with("one", 3);
  // What was made ahead replaces what would be drawn now, and no mask.
  multiplier_->expect(*plan);
  for (int i = 0; i < 5; ++i) (void)multiplier_->prepare();
  const Masked prepared = masked_with("one", 1);
  for (const Masked* again : {&threads, &prepared}) {
    EXPECT_EQ(again->share, first.share);
    EXPECT_TRUE(scheme_->name() == "plain" || again->reply != first.reply);
  }
  EXPECT_NE(masked_with("two", 1).share, first.share);
}

TEST_P(Conformance, BytesOfAnotherSizeAreAProtocolError) {
  const auto plan = scheme_->plan({4, 5, 2, 100, 0, 32, 128});
  Bytes operand = encrypt(*plan, random_share(5, 2, 32, random_));
  const auto loaded = load(*plan, operand);
  Bytes reply = multiply(*plan, random_matrix(Kind::kDense, 4, 5, 0, 100, test_random_), *loaded).reply;
  for (Bytes* bytes : {&operand, &reply}) {
    Bytes shorter(bytes->begin(), bytes->end() - 1);
    Bytes longer = *bytes;
    longer.push_back(std::byte{0});
    for (const Bytes& wrong : {shorter, longer, Bytes{}}) {
      BufferSource in(wrong);
      if (bytes == &operand) {
        EXPECT_THROW((void)multiplier_->load(*plan, in, pool_), ProtocolError);
      } else {
        EXPECT_THROW((void)owner_->open(*plan, in, pool_), ProtocolError);
      }
    }
  }
}

TEST_P(Conformance, WhatIsEncryptedUnderAnotherKeyIsAProtocolError) {
  const auto plan = scheme_->plan({4, 5, 2, 100, 0, 32, 128});
  const auto other = scheme_->generate_keys(random_);
  const Bytes operand = encrypt(*plan, random_share(5, 2, 32, random_));
  const auto other_multiplier = scheme_->multiplier(other->public_key());
  BufferSource operand_in(operand);
  EXPECT_THROW((void)other_multiplier->load(*plan, operand_in, pool_), ProtocolError);

  const Masked masked = multiply(*plan, random_matrix(Kind::kDense, 4, 5, 0, 100, test_random_), *load(*plan, operand));
  BufferSource reply_in(masked.reply);
  EXPECT_THROW((void)other->open(*plan, reply_in, pool_), ProtocolError);
}

TEST_P(Conformance, WhatIsNotAPublicKeyIsAProtocolError) {
  const Bytes key = owner_->public_key();
  EXPECT_EQ(key.size(), scheme_->public_key_bytes());
  Bytes longer = key;
  longer.push_back(std::byte{1});
  EXPECT_THROW((void)scheme_->multiplier(longer), ProtocolError);
  EXPECT_THROW((void)scheme_->multiplier(ByteView(key).first(key.size() - 1)), ProtocolError);
  EXPECT_THROW((void)scheme_->multiplier({}), ProtocolError);
  EXPECT_THROW((void)scheme_->multiplier(Bytes(key.size(), std::byte{0xFF})), ProtocolError);
}

TEST_P(Conformance, AnOperandOfAnotherLayoutIsRefused) {
  const auto small = scheme_->plan({4, 5, 2, 100, 0, 32, 128});
  const auto large = scheme_->plan({4, 300, 2, 100, 0, 32, 128});
  ASSERT_NE(small->operand_layout(), large->operand_layout());
  const auto operand = load(*small, encrypt(*small, random_share(5, 2, 32, random_)));
  BufferSink reply;
  EXPECT_THROW((void)multiplier_->multiply_and_mask(*large, random_matrix(Kind::kDense, 4, 300, 0, 100, test_random_),
                                                    *operand, random_, pool_, reply),
               InvalidArgument);
}

TEST_P(Conformance, ALeftOperandBeyondThePlansBoundIsRefusedBeforeAnythingIsWritten) {
  const auto plan = scheme_->plan({4, 5, 2, 100, 0, 32, 128});
  const auto operand = load(*plan, encrypt(*plan, random_share(5, 2, 32, random_)));
  BufferSink reply;
  EXPECT_THROW((void)multiplier_->multiply_and_mask(*plan, random_matrix(Kind::kDense, 4, 5, 0, 101, test_random_),
                                                    *operand, random_, pool_, reply),
               InvalidArgument);
  EXPECT_TRUE(reply.bytes().empty());
}

TEST_P(Conformance, KeysAreSavedOrSayThatTheyCannotBe) {
  if (!owner_->can_be_saved()) {
    EXPECT_THROW((void)write_to_bytes([&](ByteSink& out) { owner_->save(out); }), InvalidArgument);
    BufferSource in({});
    EXPECT_THROW((void)scheme_->load_keys(in), DataError);
    return;
  }
  const Bytes saved = write_to_bytes([&](ByteSink& out) {
    owner_->save(out);
    out.write_u8(7);
  });
  BufferSource in(saved);
  const auto again = scheme_->load_keys(in);
  EXPECT_EQ(in.remaining(), 1U);
  EXPECT_EQ(again->public_key(), owner_->public_key());
  // What was masked under the old keys is opened by the loaded ones.
  const auto plan = scheme_->plan({2, 3, 2, 9, 0, 16, 128});
  const IntMatrix x = random_matrix(Kind::kDense, 2, 3, 0, 9, test_random_);
  const ShareMatrix m = random_share(3, 2, 16, random_);
  const Masked masked = multiply(*plan, x, *load(*plan, encrypt(*plan, m)));
  BufferSource reply(masked.reply);
  EXPECT_EQ(again->open(*plan, reply, pool_) + masked.share, blindfl::multiply(x, m));
  for (std::size_t size = 0; size + 1 < saved.size(); size += 61) {
    BufferSource cut(ByteView(saved).first(size));
    EXPECT_THROW((void)scheme_->load_keys(cut), DataError) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Conformance, ::testing::ValuesIn(testing::scheme_and_kernel_names()),
                         [](const auto& scheme) { return scheme.param; });
INSTANTIATE_TEST_SUITE_P(Schemes, PaillierConformance, ::testing::Values("paillier"),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::he::scheme_conformance_test
