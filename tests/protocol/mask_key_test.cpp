#include "blindfl/protocol/session/mask_key.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "testing/matrices.h"
#include "testing/steps.h"
#include "testing/uniformity.h"

namespace blindfl::protocol::mask_key_test {
namespace {

using Kind = IntMatrix::Kind;

class MaskKeys : public ::testing::Test {
 protected:
  static UInt128 first_mask(const MaskKey& key, const MaskedProduct& product, const IntMatrix& x) {
    Random masks = key.masks(product, x);
    return masks.next_u128();
  }
  /// One of the MaskedProducts that tests change.
  static MaskedProduct lookup() { return {Party::kA, steps::kLookupProduct, 3, Bytes(4, std::byte{7})}; }

  Random random_;
  SeededRandom test_random_{5};
  MaskKey key_ = MaskKey::draw(random_, "model 1");
};

TEST_F(MaskKeys, GiveTheSameMasksForTheSameProductOnly) {
  const IntMatrix x = testing::random_matrix(Kind::kDense, 4, 6, 16, 1000, test_random_);
  std::vector<MaskedProduct> products(5, lookup());
  products[1].multiplier = Party::kB;
  products[2].step = steps::kForwardProduct;
  products[3].layer = 4;
  products[4].layout.push_back(std::byte{0});
  std::set<UInt128> masks;
  for (const MaskedProduct& product : products) {
    masks.insert(first_mask(key_, product, x));
    EXPECT_EQ(first_mask(key_, product, x), first_mask(key_, product, x));
  }
  masks.insert(first_mask(key_.for_model("model 2"), lookup(), x));
  masks.insert(first_mask(MaskKey::draw(random_, "model 1"), lookup(), x));
  EXPECT_EQ(masks.size(), products.size() + 2);
  EXPECT_EQ(first_mask(key_.for_model("model 2").for_model("model 1"), lookup(), x), first_mask(key_, lookup(), x));
}

/// A step of each kind, with all that it must have.
std::vector<RepeatedStep> steps_of_each_kind() {
  const auto digest = [](int i) { return Bytes(32, static_cast<std::byte>(i)); };
  using Step = RepeatedStep;
  return {{Step::Kind::kEncrypt, Party::kA, steps::kForwardOperand, 3, Bytes(9), digest(1), digest(2), {}},
          {Step::Kind::kMultiply, Party::kA, steps::kForwardProduct, 3, Bytes(9), digest(1), digest(2), digest(3)},
          {Step::Kind::kOpen, Party::kA, steps::kForwardProduct, 3, Bytes(9), digest(1), {}, digest(3)}};
}

TEST_F(MaskKeys, GiveOtherRandomnessToAStepOfWhichAnythingIsAnother) {
  std::set<UInt128> draws;
  std::size_t made = 0;
  const auto draw = [&](const MaskKey& key, const RepeatedStep& step) {
    Random first = key.randomness(step);
    Random again = key.randomness(step);
    const UInt128 drawn = first.next_u128();
    EXPECT_EQ(again.next_u128(), drawn);
    draws.insert(drawn);
    ++made;
  };
  for (const RepeatedStep& step : steps_of_each_kind()) {
    draw(key_, step);
    draw(key_.for_model("model 2"), step);
    draw(MaskKey::draw(random_, "model 1"), step);
    RepeatedStep other = step;
    other.party = Party::kB;
    draw(key_, other);
    other = step;
    other.step = steps::kLookupProduct;
    draw(key_, other);
    other = step;
    other.layer = 4;
    draw(key_, other);
    for (Bytes RepeatedStep::*field :
         {&RepeatedStep::product, &RepeatedStep::public_key, &RepeatedStep::matrix, &RepeatedStep::received}) {
      other = step;
      if ((other.*field).empty()) continue;
      (other.*field).back() ^= std::byte{1};
      draw(key_, other);
    }
    other = step;
    other.product.push_back(std::byte{0});
    draw(key_, other);
  }
  // A step is not taken for one of another kind, or for masks, where all else is the same.
  RepeatedStep first = steps_of_each_kind()[1];
  draw(key_, first);
  --made;
  EXPECT_EQ(draws.size(), made);
  EXPECT_FALSE(draws.contains(first_mask(key_, {Party::kA, steps::kForwardProduct, 3, Bytes(9)}, IntMatrix())));
}

TEST_F(MaskKeys, GiveNoRandomnessToAStepOfWhichAnythingIsMissing) {
  for (const RepeatedStep& step : steps_of_each_kind()) {
    for (Bytes RepeatedStep::*field : {&RepeatedStep::public_key, &RepeatedStep::matrix, &RepeatedStep::received}) {
      RepeatedStep wrong = step;
      wrong.*field = (wrong.*field).empty() ? Bytes(32) : Bytes();
      EXPECT_THROW((void)key_.randomness(wrong), InvalidArgument);
    }
  }
}

// One secret under two coins would be two samples with the same errors: their difference tells the secret.
TEST_F(MaskKeys, GiveOtherKeysForAnotherModelOwnerSchemeSetOrCoin) {
  const RepeatedKeys keys{Party::kA, "lattice", "degree 4096", {.set = "small"}};
  std::vector<RepeatedKeys> all(6, keys);
  all[1].owner = Party::kB;
  all[2].scheme = "other";
  all[3].parameters = "degree 8192";
  all[4].setup.set = "large";
  all[5].setup.coin[31] = std::byte{1};
  std::set<UInt128> draws;
  const auto draw = [&](const MaskKey& key, const RepeatedKeys& made) {
    Random random = key.randomness(made);
    draws.insert(random.next_u128());
  };
  for (const RepeatedKeys& made : all) draw(key_, made);
  draw(key_.for_model("model 2"), keys);
  draw(MaskKey::draw(random_, "model 1"), keys);
  EXPECT_EQ(draws.size(), all.size() + 2);
  draw(key_, keys);
  EXPECT_EQ(draws.size(), all.size() + 2) << "the same again";
}

TEST_F(MaskKeys, HaveAPartOfACoinForEachModel) {
  const Bytes part = key_.coin_part();
  EXPECT_EQ(part.size(), 32U);
  EXPECT_EQ(key_.coin_part(), part);
  EXPECT_NE(key_.for_model("model 2").coin_part(), part);
  EXPECT_NE(MaskKey::draw(random_, "model 1").coin_part(), part);
  EXPECT_NE(to_hex(part), key_.fingerprint());
}

// Fields have lengths: what ends one cannot begin the next.
TEST_F(MaskKeys, DoNotTakeOneFieldForAnother) {
  const IntMatrix x;
  MaskedProduct one = lookup();
  MaskedProduct other = lookup();
  one.layout = Bytes(1, std::byte{'b'});
  other.layout = {};
  EXPECT_NE(first_mask(key_.for_model("a"), one, x), first_mask(key_.for_model("ab"), other, x));
}

TEST_F(MaskKeys, TellAnyTwoMatricesApart) {
  const auto csr = [](std::vector<std::size_t> starts, std::vector<IntMatrix::Column> columns,
                      std::vector<std::int64_t> values) {
    return IntMatrix::csr(2, 3, std::move(starts), std::move(columns), std::move(values), 0, 9);
  };
  const std::vector<IntMatrix> matrices{
      IntMatrix::dense(2, 3, {1, 2, 3, 4, 5, 6}, 0, 9),
      IntMatrix::dense(3, 2, {1, 2, 3, 4, 5, 6}, 0, 9),
      IntMatrix::dense(2, 3, {1, 2, 3, 4, 5, -6}, 0, 9),
      IntMatrix::dense(2, 3, {4, 5, 6, 1, 2, 3}, 0, 9),
      IntMatrix::dense(2, 3, {1, 2, 3, 4, 5, 6}, 1, 9),
      csr({0, 1, 2}, {0, 1}, {1, 2}),
      csr({0, 2, 2}, {0, 1}, {1, 2}),
      csr({0, 0, 2}, {0, 1}, {1, 2}),
      csr({0, 1, 2}, {0, 2}, {1, 2}),
      csr({0, 1, 2}, {0, 1}, {1, 3}),
      IntMatrix::one_hot(3, {0, 1}),
      IntMatrix::one_hot(3, {0, 2}),
      IntMatrix::one_hot(3, {0, IntMatrix::kNoColumn}),
      IntMatrix::one_hot(3, {IntMatrix::kNoColumn, 0}),
  };
  std::set<UInt128> masks;
  for (const IntMatrix& x : matrices) masks.insert(first_mask(key_, lookup(), x));
  EXPECT_EQ(masks.size(), matrices.size());
}

TEST_F(MaskKeys, HashLargeMatricesToTheLastValue) {
  std::vector<std::int64_t> values(50000, 3);
  const IntMatrix x = IntMatrix::dense(50, 1000, values, 0, 9);
  values.back() = 4;
  EXPECT_NE(first_mask(key_, lookup(), x), first_mask(key_, lookup(), IntMatrix::dense(50, 1000, values, 0, 9)));
}

TEST_F(MaskKeys, MakeMasksThatLookUniform) {
  std::vector<UInt128> masks;
  for (std::int64_t i = 0; i < 2000; ++i) {
    masks.push_back(first_mask(key_, lookup(), IntMatrix::dense(1, 1, {i}, 0, 2000)));
  }
  EXPECT_TRUE(testing::looks_uniform<UInt128>(masks));
}

TEST_F(MaskKeys, AreSavedAndRead) {
  const IntMatrix x = testing::random_matrix(Kind::kCsr, 4, 6, 16, 1000, test_random_);
  Bytes saved = write_to_bytes([&](ByteSink& out) { key_.save(out); });
  saved.push_back(std::byte{42});  // what follows belongs to somebody else
  BufferSource in(saved);
  const MaskKey read = MaskKey::load(in);
  EXPECT_EQ(in.remaining(), 1U);
  EXPECT_EQ(read.model(), "model 1");
  EXPECT_EQ(read.fingerprint(), key_.fingerprint());
  EXPECT_EQ(first_mask(read, lookup(), x), first_mask(key_, lookup(), x));
  EXPECT_NE(key_.for_model("model 2").fingerprint(), key_.fingerprint());
  EXPECT_NE(MaskKey::draw(random_, "model 1").fingerprint(), key_.fingerprint());
}

TEST_F(MaskKeys, AreNotReadFromAnythingElse) {
  const Bytes saved = write_to_bytes([&](ByteSink& out) { key_.save(out); });
  const auto load = [](ByteView bytes) {
    BufferSource in(bytes);
    (void)MaskKey::load(in);
  };
  for (std::size_t size = 0; size < saved.size(); ++size) {
    EXPECT_THROW(load(ByteView(saved).first(size)), DataError) << size;
  }
  constexpr std::size_t kLength = 4 + 4 + MaskKey::kSecretBytes;  // where the model's length stands
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}, kLength + 1, kLength + 3}) {
    Bytes damaged = saved;
    damaged[at] ^= std::byte{0xff};
    EXPECT_THROW(load(damaged), DataError) << at;
  }
  Bytes nameless = saved;
  nameless[kLength] = std::byte{0};
  EXPECT_THROW(load(nameless), DataError);
}

TEST_F(MaskKeys, NeedAModelWithAName) {
  EXPECT_THROW((void)MaskKey::draw(random_, ""), InvalidArgument);
  EXPECT_THROW((void)key_.for_model(std::string(MaskKey::kLongestModel + 1, 'x')), InvalidArgument);
  EXPECT_NO_THROW((void)key_.for_model(std::string(MaskKey::kLongestModel, 'x')));
}

}  // namespace
}  // namespace blindfl::protocol::mask_key_test
