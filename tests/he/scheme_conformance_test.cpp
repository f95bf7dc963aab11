// What every scheme must do, written once. A scheme that passes can serve the private product.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
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

  /// Both sides of one pair of keys.
  struct Pair {
    KeySetup setup;
    std::unique_ptr<KeyOwner> owner;
    std::unique_ptr<Multiplier> multiplier;
  };
  Pair make_pair(const std::string& set) {
    Pair pair{{.set = set}, nullptr, nullptr};
    random_.fill(pair.setup.coin);
    pair.owner = scheme_->generate_keys(pair.setup, random_);
    pair.multiplier = scheme_->multiplier(pair.setup, pair.owner->public_key());
    return pair;
  }
  /// The keys of this test, for the set that the plan wants.
  const Pair& keys(const Plan& plan) {
    const auto found = pairs_.find(plan.key_set());
    return found != pairs_.end() ? found->second
                                 : pairs_.emplace(plan.key_set(), make_pair(plan.key_set())).first->second;
  }

  /// With noise enough for schemes that hide by it, whatever the left bound; others have none.
  [[nodiscard]] std::shared_ptr<const Plan> plan_of(ProductSpec spec) const {
    spec.noise_bits = 40;
    return scheme_->plan(spec);
  }

  /// A ciphertext for a few values only: smaller shapes will do.
  [[nodiscard]] bool is_slow() const { return scheme_->name() == "paillier"; }

  Bytes encrypt(const Plan& plan, const ShareMatrix& m) {
    return write_to_bytes([&](ByteSink& out) { keys(plan).owner->encrypt(plan, m, random_, pool_, out); });
  }
  std::unique_ptr<const Operand> load(const Plan& plan, ByteView bytes) {
    BufferSource in(bytes);
    auto operand = keys(plan).multiplier->load(plan, in, pool_);
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
        [&](ByteSink& out) { masked.share = keys(plan).multiplier->multiply(plan, x, operand, random_, pool_, out); });
    return masked;
  }
  ShareMatrix open(const Plan& plan, ByteView reply) {
    BufferSource in(reply);
    return keys(plan).owner->open(plan, in, random_, pool_);
  }
  /// Two shares add up to `x m` in the plan's ring, but for the error that the plan allows itself.
  static void expect_shares(const Plan& plan, const ShareMatrix& sum, const IntMatrix& x, const ShareMatrix& m) {
    const int ring_bits = plan.spec().ring_bits;
    const ShareMatrix expected = narrowed(blindfl::multiply(x, m), ring_bits);
    ASSERT_EQ(sum.ring_bits(), ring_bits);
    const ShareMatrix error = sum - expected;
    double largest = 0;
    for (const UInt128 v : error.values()) {
      const auto off = static_cast<Int128>(v << (128 - ring_bits)) >> (128 - ring_bits);
      largest = std::max(largest, std::abs(static_cast<double>(off)));
    }
    EXPECT_LE(largest, plan.largest_error()) << plan.spec().describe();
  }
  void expect_product(const IntMatrix& x, const ShareMatrix& m, int right_bits) {
    expect_product({x.rows(), x.cols(), m.cols(), x.bound(), x.scale(), m.scale(), right_bits}, x, m);
  }
  void expect_product(const ProductSpec& spec, const IntMatrix& x, const ShareMatrix& m) {
    const auto plan = plan_of(spec);
    const Bytes operand = encrypt(*plan, m);
    EXPECT_EQ(operand.size(), plan->operand_bytes());
    const Masked masked = multiply(*plan, x, *load(*plan, operand));
    EXPECT_EQ(masked.reply.size(), plan->reply_bytes());
    expect_shares(*plan, open(*plan, masked.reply) + masked.share, x, m);
  }

 private:
  std::map<std::string, Pair> pairs_;
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

TEST_P(Conformance, WorstCaseOperandsComeOutRight) {
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

TEST_P(Conformance, LeftOperandsOfAnyWidthComeOutRight) {
  for (const int bits : {1, 21, 32, 40, 55, 62}) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    const IntMatrix x = random_matrix(Kind::kDense, 6, 20, 0, bound, test_random_);
    expect_product(x, random_share(20, 3, 32, random_), 128);
    const IntMatrix edges =
        IntMatrix::dense(2, 20, std::vector<std::int64_t>(40, -static_cast<std::int64_t>(bound)), 0, bound);
    expect_product(edges, random_share(20, 3, 32, random_), 128);
  }
}

TEST_P(Conformance, ProductsOfManyTilesComeOutRight) {
  const std::size_t inner = is_slow() ? 400 : 4000;
  const std::size_t cols = is_slow() ? 20 : 100;
  expect_product(random_matrix(Kind::kCsr, 30, inner, 16, 1 << 20, test_random_), random_share(inner, 20, 32, random_),
                 128);
  expect_product(random_matrix(Kind::kDense, 300, 20, 16, 1 << 20, test_random_), random_share(20, cols, 32, random_),
                 128);
}

TEST_P(Conformance, RandomProductsOfManySeedsComeOutRight) {
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

TEST_P(Conformance, LargestOperandsOfABatchComeOutRight) {
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

TEST_P(Conformance, ABoundedRightOperandComesOutRight) {
  const IntMatrix x = random_matrix(Kind::kDense, 6, 40, 16, 1 << 20, test_random_);
  ShareMatrix m(40, 3, 32);
  for (UInt128& v : m.values())
    v = static_cast<UInt128>(static_cast<Int128>(testing::random_value(1U << 31, test_random_)));
  expect_product(x, m, 41);
}

TEST_P(Conformance, AnOperandServesSeveralProductsOfTheSameLayout) {
  const ShareMatrix m = random_share(10, 4, 32, random_);
  const auto plan = plan_of({8, 10, 4, 1000, 0, 32, 128});
  const auto operand = load(*plan, encrypt(*plan, m));
  for (int i = 0; i < 3; ++i) {
    const IntMatrix x = random_matrix(Kind::kDense, 8, 10, 0, 1000, test_random_);
    const Masked masked = multiply(*plan, x, *operand);
    expect_shares(*plan, open(*plan, masked.reply) + masked.share, x, m);
  }
}

TEST_P(Conformance, BothPartiesMakeTheSamePlan) {
  const ProductSpec spec{128, 62, 1, 1 << 20, 16, 32, 128};
  const auto mine = plan_of(spec);
  const auto theirs = testing::make_scheme(GetParam())->plan(mine->spec());
  EXPECT_EQ(mine->operand_bytes(), theirs->operand_bytes());
  EXPECT_EQ(mine->reply_bytes(), theirs->reply_bytes());
  EXPECT_EQ(mine->operand_layout(), theirs->operand_layout());
}

TEST_P(Conformance, MasksAreFreshAndUniform) {
  const IntMatrix x = random_matrix(Kind::kCsr, 128, 20, 16, 1 << 20, test_random_);
  const auto plan = plan_of({128, 20, 16, 1 << 20, 16, 32, 128});
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
    const auto plan = plan_of({kRows, kInner, kCols, x.bound(), 16, 32, right_bits});
    const Bytes reply = multiply(*plan, x, *load(*plan, encrypt(*plan, m))).reply;

    const auto& layout = dynamic_cast<const paillier::PaillierPlan&>(*plan).reply();
    const auto& key = dynamic_cast<const paillier::PaillierKeyOwner&>(*keys(*plan).owner).secret_key();
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
  if (scheme_->repeats_messages()) GTEST_SKIP() << "has no masks";
  const IntMatrix x = random_matrix(Kind::kCsr, 70, 20, 16, 1 << 20, test_random_);
  const auto plan = plan_of({70, 20, 5, 1 << 20, 16, 32, 128});
  const ShareMatrix m = random_share(20, 5, 32, random_);
  const auto operand = load(*plan, encrypt(*plan, m));
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  random_.fill(key);
  const auto masked_with = [&](std::string_view context, std::size_t threads) {
    ThreadPool pool(threads);
    Random masks = Random::derived(key, as_bytes(context));
    Masked masked;
    masked.reply = write_to_bytes([&](ByteSink& out) {
      masked.share = keys(*plan).multiplier->multiply(*plan, x, *operand, random_, masks, pool, out);
    });
    expect_shares(*plan, open(*plan, masked.reply) + masked.share, x, m);
    return masked;
  };
  const Masked first = masked_with("one", 1);
  const Masked threads = masked_with("one", 3);
  // What was made ahead replaces what would be drawn now, and no mask.
  keys(*plan).multiplier->expect(*plan);
  for (int i = 0; i < 5; ++i) (void)keys(*plan).multiplier->prepare();
  const Masked prepared = masked_with("one", 1);
  for (const Masked* again : {&threads, &prepared}) {
    EXPECT_EQ(again->share, first.share);
    EXPECT_TRUE(scheme_->name() == "plain" || again->reply != first.reply);
  }
  EXPECT_NE(masked_with("two", 1).share, first.share);
}

// Keys, operands, replies and shares are functions of their inputs and of one stream, so that a message can be
// repeated.
TEST_P(Conformance, MessagesRepeatWhereTheSchemeSaysThatTheyMay) {
  if (!scheme_->repeats_messages()) GTEST_SKIP() << "does not say so";
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  random_.fill(key);
  const IntMatrix x = random_matrix(Kind::kCsr, 70, 20, 16, 1 << 20, test_random_);
  ProductSpec spec{70, 20, 5, 1 << 20, 16, 32, 128};
  spec.noise_bits = 20;
  const auto plan = scheme_->plan(spec);
  const ShareMatrix m = random_share(20, 5, 32, random_);
  KeySetup setup{.set = plan->key_set()};
  random_.fill(setup.coin);
  struct All {
    Bytes public_key, operand, reply;
    ShareMatrix kept, opened;
    bool operator==(const All&) const = default;
  };
  const auto everything = [&](std::size_t threads) {
    ThreadPool pool(threads);
    const auto stream = [&](std::string_view context) { return Random::derived(key, as_bytes(context)); };
    Random of_keys = stream("keys");
    Random of_operand = stream("operand");
    Random of_reply = stream("reply");
    Random no_masks;
    Random of_opening = stream("opening");
    const auto owner = scheme_->generate_keys(setup, of_keys);
    All all;
    all.public_key = owner->public_key();
    const auto multiplier = scheme_->multiplier(setup, all.public_key);
    all.operand = write_to_bytes([&](ByteSink& out) { owner->encrypt(*plan, m, of_operand, pool, out); });
    BufferSource operand_in(all.operand);
    const auto operand = multiplier->load(*plan, operand_in, pool);
    // Nobody called `expect`, so there is nothing to make ahead.
    EXPECT_FALSE(multiplier->prepare());
    all.reply = write_to_bytes(
        [&](ByteSink& out) { all.kept = multiplier->multiply(*plan, x, *operand, of_reply, no_masks, pool, out); });
    BufferSource reply_in(all.reply);
    all.opened = owner->open(*plan, reply_in, of_opening, pool);
    expect_shares(*plan, all.kept + all.opened, x, m);
    return all;
  };
  const All first = everything(1);
  EXPECT_TRUE(everything(1) == first);
  EXPECT_TRUE(everything(3) == first);
}

TEST_P(Conformance, KeysOfASetAreMadeFromTheCoinOfBothParties) {
  for (const std::string& set : scheme_->key_sets()) {
    const Pair pair = make_pair(set);
    EXPECT_EQ(pair.owner->public_key().size(), scheme_->public_key_bytes(set));
    if (set.empty()) continue;
    KeySetup other = pair.setup;
    other.coin[31] ^= std::byte{1};
    EXPECT_THROW((void)scheme_->multiplier(other, pair.owner->public_key()), ProtocolError)
        << "an owner that took a coin of its own is noticed";
  }
}

TEST_P(Conformance, BytesOfAnotherSizeAreAProtocolError) {
  const auto plan = plan_of({4, 5, 2, 100, 0, 32, 128});
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
        EXPECT_THROW((void)keys(*plan).multiplier->load(*plan, in, pool_), ProtocolError);
      } else {
        EXPECT_THROW((void)keys(*plan).owner->open(*plan, in, random_, pool_), ProtocolError);
      }
    }
  }
}

TEST_P(Conformance, WhatIsEncryptedUnderAnotherKeyIsAProtocolError) {
  const auto plan = plan_of({4, 5, 2, 100, 0, 32, 128});
  const Pair other = make_pair(plan->key_set());
  const Bytes operand = encrypt(*plan, random_share(5, 2, 32, random_));
  BufferSource operand_in(operand);
  EXPECT_THROW((void)other.multiplier->load(*plan, operand_in, pool_), ProtocolError);

  const Masked masked = multiply(*plan, random_matrix(Kind::kDense, 4, 5, 0, 100, test_random_), *load(*plan, operand));
  BufferSource reply_in(masked.reply);
  EXPECT_THROW((void)other.owner->open(*plan, reply_in, random_, pool_), ProtocolError);
}

TEST_P(Conformance, WhatIsNotAPublicKeyIsAProtocolError) {
  for (const std::string& set : scheme_->key_sets()) {
    const Pair pair = make_pair(set);
    const Bytes key = pair.owner->public_key();
    EXPECT_EQ(key.size(), scheme_->public_key_bytes(set));
    Bytes longer = key;
    longer.push_back(std::byte{1});
    EXPECT_THROW((void)scheme_->multiplier(pair.setup, longer), ProtocolError);
    EXPECT_THROW((void)scheme_->multiplier(pair.setup, ByteView(key).first(key.size() - 1)), ProtocolError);
    EXPECT_THROW((void)scheme_->multiplier(pair.setup, {}), ProtocolError);
    EXPECT_THROW((void)scheme_->multiplier(pair.setup, Bytes(key.size(), std::byte{0xFF})), ProtocolError);
  }
}

TEST_P(Conformance, AnOperandOfAnotherLayoutIsRefused) {
  const auto small = plan_of({4, 5, 2, 100, 0, 32, 128});
  const auto large = plan_of({4, 300, 2, 100, 0, 32, 128});
  ASSERT_NE(small->operand_layout(), large->operand_layout());
  const auto operand = load(*small, encrypt(*small, random_share(5, 2, 32, random_)));
  BufferSink reply;
  EXPECT_THROW((void)keys(*large).multiplier->multiply(
                   *large, random_matrix(Kind::kDense, 4, 300, 0, 100, test_random_), *operand, random_, pool_, reply),
               InvalidArgument);
}

TEST_P(Conformance, ALeftOperandBeyondThePlansBoundIsRefusedBeforeAnythingIsWritten) {
  const auto plan = plan_of({4, 5, 2, 100, 0, 32, 128});
  const auto operand = load(*plan, encrypt(*plan, random_share(5, 2, 32, random_)));
  BufferSink reply;
  EXPECT_THROW((void)keys(*plan).multiplier->multiply(*plan, random_matrix(Kind::kDense, 4, 5, 0, 101, test_random_),
                                                      *operand, random_, pool_, reply),
               InvalidArgument);
  EXPECT_TRUE(reply.bytes().empty());
}

TEST_P(Conformance, KeysAreSavedOrSayThatTheyCannotBe) {
  const auto plan = plan_of({2, 3, 2, 9, 0, 16, 128});
  const KeyOwner& owner = *keys(*plan).owner;
  if (!owner.can_be_saved()) {
    EXPECT_THROW((void)write_to_bytes([&](ByteSink& out) { owner.save(out); }), InvalidArgument);
    BufferSource in({});
    EXPECT_THROW((void)scheme_->load_keys(in), DataError);
    return;
  }
  const Bytes saved = write_to_bytes([&](ByteSink& out) {
    owner.save(out);
    out.write_u8(7);
  });
  BufferSource in(saved);
  const auto again = scheme_->load_keys(in);
  EXPECT_EQ(in.remaining(), 1U);
  EXPECT_EQ(again->public_key(), owner.public_key());
  // What was masked under the old keys is opened by the loaded ones.
  const IntMatrix x = random_matrix(Kind::kDense, 2, 3, 0, 9, test_random_);
  const ShareMatrix m = random_share(3, 2, 16, random_);
  const Masked masked = multiply(*plan, x, *load(*plan, encrypt(*plan, m)));
  BufferSource reply(masked.reply);
  EXPECT_EQ(again->open(*plan, reply, random_, pool_) + masked.share, blindfl::multiply(x, m));
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
