// Bytes from a peer that are no key, no encrypted matrix, no reply.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/share/products.h"
#include "testing/matrices.h"
#include "testing/thrown.h"

namespace blindfl::he::hostile_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

ProductSpec spec_of(std::size_t rows, std::size_t inner, std::size_t cols, int ring_bits = 64) {
  return {.rows = rows, .inner = inner, .cols = cols, .left_bound = 1 << 20, .ring_bits = ring_bits, .noise_bits = 40};
}

class HostileLattice : public ::testing::Test {
 protected:
  LatticeScheme scheme_;
  Random random_;
  ThreadPool pool_{2};
  SeededRandom seeded_{9};
  std::shared_ptr<const Plan> plan_ = scheme_.plan(spec_of(20, 300, 24));
  KeySetup setup_{.set = plan_->key_set()};
  std::unique_ptr<KeyOwner> owner_ = scheme_.generate_keys(setup_, random_);
  Bytes key_ = owner_->public_key();
  std::unique_ptr<Multiplier> multiplier_ = scheme_.multiplier(setup_, key_);
  ShareMatrix m_ = random_share(300, 24, 0, random_, 64);
  IntMatrix x_ = testing::random_matrix(IntMatrix::Kind::kCsr, 20, 300, 0, 1 << 20, seeded_);
  Bytes operand_ = write_to_bytes([this](ByteSink& out) { owner_->encrypt(*plan_, m_, random_, pool_, out); });

  void load(const Bytes& bytes) { load(bytes, *plan_); }
  void load(const Bytes& bytes, const Plan& plan) {
    BufferSource in(bytes);
    (void)multiplier_->load(plan, in, pool_);
  }
  Bytes reply() {
    BufferSource in(operand_);
    const auto operand = multiplier_->load(*plan_, in, pool_);
    return write_to_bytes(
        [&](ByteSink& out) { (void)multiplier_->multiply(*plan_, x_, *operand, random_, pool_, out); });
  }
  void open(const Bytes& bytes) { open(bytes, *plan_); }
  void open(const Bytes& bytes, const Plan& plan) {
    BufferSource in(bytes);
    (void)owner_->open(plan, in, random_, pool_);
  }
  [[nodiscard]] const lattice::LatticePlan& plan() const { return dynamic_cast<const lattice::LatticePlan&>(*plan_); }
  /// 512 bytes of ones: no residue that ends in them is below its modulus.
  static Bytes with_ones(Bytes bytes, std::size_t at) {
    std::memset(bytes.data() + at, 0xFF, 512);
    return bytes;
  }
};

TEST_F(HostileLattice, ResiduesOutOfRangeAreNamedWhereverTheyStand) {
  const Bytes good_reply = reply();
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(
        message_of<ProtocolError>([&] { load(with_ones(operand_, 48 + seeded_.below(operand_.size() - 48 - 512))); }),
        HasSubstr("residue that is not below"));
    EXPECT_THAT(message_of<ProtocolError>([&] {
                  (void)scheme_.multiplier(setup_, with_ones(key_, 16 + seeded_.below(key_.size() - 16 - 512)));
                }),
                HasSubstr("residue that is not below"));
  }
  // Digits of a reply: the primes are a little less than a power of two, and the lowest digit is cut.
  const std::size_t tile = plan().reply_tile_bytes();
  for (std::size_t t = 0; t < plan().reply_order().size(); ++t) {
    for (std::size_t l = 1; l < plan().params().moduli().size(); ++l) {
      const std::size_t begin = 16 + t * tile + plan().reply_offset(l) * 8;
      const std::size_t end = l + 1 < plan().params().moduli().size() ? 16 + t * tile + plan().reply_offset(l + 1) * 8
                                                                      : 16 + (t + 1) * tile;
      EXPECT_THAT(
          message_of<ProtocolError>([&] { open(with_ones(good_reply, begin + seeded_.below(end - begin - 512))); }),
          HasSubstr("digit that is not below"));
    }
  }
}

/// The lowest `bits` bits of the word at `at` become `value`.
Bytes with_first(Bytes bytes, std::size_t at, int bits, std::uint64_t value) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, 8);
  word = (word & ~((std::uint64_t{1} << bits) - 1)) | value;
  std::memcpy(bytes.data() + at, &word, 8);
  return bytes;
}

TEST_F(HostileLattice, TheLastResidueBelowTheModulusPassesAndTheModulusItselfDoesNot) {
  const Bytes good_reply = reply();
  const lattice::Modulus& m = plan().params().moduli()[0];
  const lattice::Modulus& second = plan().params().moduli()[1];
  for (const int beyond : {-1, 0, 1}) {
    const Bytes operand = with_first(operand_, 48, m.bits(), m.value() + static_cast<std::uint64_t>(beyond));
    const Bytes masked = with_first(good_reply, 16 + 8 * plan().reply_offset(1), second.bits(),
                                    second.value() + static_cast<std::uint64_t>(beyond));
    if (beyond < 0) {
      EXPECT_NO_THROW(load(operand));
      EXPECT_NO_THROW(open(masked));
    } else {
      EXPECT_THROW(load(operand), ProtocolError);
      EXPECT_THROW(open(masked), ProtocolError);
    }
  }
}

// A cut digit is below ceil(q / 2^cut): with few bits cut, that is less than its bits could hold.
TEST_F(HostileLattice, DigitsThatAreCutHaveABoundOfTheirOwn) {
  const auto params = std::make_shared<const lattice::Params>(plan().params());
  for (const int cut : {0, 1, 2, 5, 12, params->moduli()[0].bits() - 8}) {
    lattice::NoiseBudget budget = plan().budget();
    budget.cut = cut;
    const lattice::LatticePlan own(params, plan().spec(), plan().tiling(), budget);
    BufferSource in(operand_);
    const auto operand = multiplier_->load(own, in, pool_);
    const Bytes good =
        write_to_bytes([&](ByteSink& out) { (void)multiplier_->multiply(own, x_, *operand, random_, pool_, out); });
    const std::uint64_t largest = (params->moduli()[0].value() - 1) >> cut;
    const int bits = own.reply_bits(0);
    EXPECT_NO_THROW(open(with_first(good, 16, bits, largest), own)) << cut;
    if (largest + 1 < std::uint64_t{1} << bits) {
      EXPECT_THROW(open(with_first(good, 16, bits, largest + 1), own), ProtocolError) << cut;
    }
    if (cut != plan().budget().cut) {
      EXPECT_THROW(open(good), ProtocolError) << "a reply of another plan has another size";
    }
  }
}

TEST_F(HostileLattice, TruncatedMessagesAreRefused) {
  const Bytes good_reply = reply();
  const auto every_size = [](std::size_t size) {
    std::vector<std::size_t> sizes;
    for (std::size_t s = 0; s < 70; ++s) sizes.push_back(s);
    for (std::size_t s = 70; s < size; s += 1 + size / 50) sizes.push_back(s);
    for (std::size_t s = 1; s < 10; ++s) sizes.push_back(size - s);
    return sizes;
  };
  for (const std::size_t size : every_size(operand_.size())) {
    EXPECT_THROW(load(Bytes(operand_.begin(), operand_.begin() + static_cast<std::ptrdiff_t>(size))), ProtocolError);
  }
  for (const std::size_t size : every_size(good_reply.size())) {
    EXPECT_THROW(open(Bytes(good_reply.begin(), good_reply.begin() + static_cast<std::ptrdiff_t>(size))),
                 ProtocolError);
  }
  for (const std::size_t size : every_size(key_.size())) {
    EXPECT_THROW((void)scheme_.multiplier(setup_, ByteView(key_).first(size)), ProtocolError);
  }
}

TEST_F(HostileLattice, AKeyOfOtherParametersIsNamedAsSuch) {
  for (const std::string& set : scheme_.key_sets()) {
    if (set == setup_.set) continue;
    const Bytes key = scheme_.generate_keys({set, {}}, random_)->public_key();
    Bytes padded = key;
    padded.resize(scheme_.public_key_bytes(setup_.set));
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(setup_, padded); }),
                HasSubstr("other parameters"));
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(setup_, key); }), HasSubstr("bytes"));
  }
  EXPECT_THROW((void)scheme_.multiplier({"no such set", {}}, key_), InvalidArgument);
  EXPECT_THROW((void)scheme_.generate_keys({"", {}}, random_), InvalidArgument);
}

TEST_F(HostileLattice, AKeyOfAnotherSetRefusesAPlan) {
  const std::string other = scheme_.key_sets().back();
  ASSERT_NE(other, setup_.set);
  const auto owner = scheme_.generate_keys({other, {}}, random_);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                (void)write_to_bytes([&](ByteSink& out) { owner->encrypt(*plan_, m_, random_, pool_, out); });
              }),
              HasSubstr("a plan for keys of the set"));
}

TEST_F(HostileLattice, WhatIsNoKeyIsRefused) {
  Bytes zeros = key_;
  std::fill(zeros.begin() + 16, zeros.end(), std::byte{0});
  EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(setup_, zeros); }),
              HasSubstr("does not look like one"));
  Bytes text = key_;
  for (std::size_t i = 16; i < text.size(); ++i) text[i] = static_cast<std::byte>("lorem ipsum "[i % 12]);
  EXPECT_THROW((void)scheme_.multiplier(setup_, text), ProtocolError);
  // The second prime's half alone.
  Bytes half = key_;
  std::fill(half.begin() + static_cast<std::ptrdiff_t>(16 + (half.size() - 16) / 2), half.end(), std::byte{0});
  EXPECT_THROW((void)scheme_.multiplier(setup_, half), ProtocolError);
}

TEST_F(HostileLattice, EveryBitOfAHeaderCounts) {
  const Bytes good_reply = reply();
  for (std::size_t bit = 0; bit < 128; ++bit) {
    const auto flipped = [&](Bytes bytes) {
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      return bytes;
    };
    EXPECT_THAT(message_of<ProtocolError>([&] { load(flipped(operand_)); }), HasSubstr("a key that is not the peer's"));
    EXPECT_THAT(message_of<ProtocolError>([&] { open(flipped(good_reply)); }),
                HasSubstr("a key that is not this party's"));
    EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(setup_, flipped(key_)); }),
                HasSubstr("other parameters"));
  }
}

// A key, a coin, a set, a plan that is another: nothing of it is taken.
TEST_F(HostileLattice, MessagesOfAnotherKeyCoinOrPlanAreRefused) {
  const Bytes good_reply = reply();
  const auto other = scheme_.generate_keys(setup_, random_);
  KeySetup other_coin = setup_;
  other_coin.coin[0] ^= std::byte{1};
  BufferSource operand_in(operand_);
  EXPECT_THROW((void)scheme_.multiplier(setup_, other->public_key())->load(*plan_, operand_in, pool_), ProtocolError);
  EXPECT_THROW((void)scheme_.multiplier(other_coin, key_), ProtocolError);
  BufferSource in(good_reply);
  EXPECT_THROW((void)other->open(*plan_, in, random_, pool_), ProtocolError);
  for (const ProductSpec& spec : {spec_of(200, 300, 24), spec_of(20, 300, 100), spec_of(20, 3000, 24)}) {
    const auto plan = scheme_.plan(spec);
    if (plan->key_set() != setup_.set) continue;
    if (plan->operand_bytes() != operand_.size()) {
      EXPECT_THROW(load(operand_, *plan), ProtocolError);
    }
    if (plan->reply_bytes() != good_reply.size()) {
      EXPECT_THROW(open(good_reply, *plan), ProtocolError);
    }
  }
}

TEST_F(HostileLattice, AnyBytesAtAllEndInAnErrorOrInNumbersOfTheRightShape) {
  const Bytes good_reply = reply();
  for (int i = 0; i < 40; ++i) {
    Bytes operand = operand_;
    Bytes masked = good_reply;
    for (int k = 0; k < 8; ++k) {
      operand[seeded_.below(operand.size())] ^= static_cast<std::byte>(1 + seeded_.below(255));
      masked[seeded_.below(masked.size())] ^= static_cast<std::byte>(1 + seeded_.below(255));
    }
    try {
      BufferSource in(operand);
      const auto loaded = multiplier_->load(*plan_, in, pool_);
      BufferSink out;
      EXPECT_EQ(multiplier_->multiply(*plan_, x_, *loaded, random_, pool_, out).rows(), 20U);
      EXPECT_EQ(out.bytes().size(), plan_->reply_bytes());
    } catch (const ProtocolError&) {
      EXPECT_NE(operand, operand_);
    }
    try {
      BufferSource in(masked);
      EXPECT_EQ(owner_->open(*plan_, in, random_, pool_).cols(), 24U);
    } catch (const ProtocolError&) {
      EXPECT_NE(masked, good_reply);
    }
  }
}

}  // namespace
}  // namespace blindfl::he::hostile_test
