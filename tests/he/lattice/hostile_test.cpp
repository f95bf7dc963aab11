// Bytes from a peer that are no key, no encrypted matrix, no reply.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/keys.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/share/products.h"
#include "testing/matrices.h"
#include "testing/thrown.h"

namespace blindfl::he::hostile_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

class HostileLattice : public ::testing::Test {
 protected:
  LatticeScheme scheme_;
  Random random_;
  ThreadPool pool_{2};
  SeededRandom seeded_{9};
  std::unique_ptr<KeyOwner> owner_ = scheme_.generate_keys(random_);
  std::unique_ptr<Multiplier> multiplier_ = scheme_.multiplier(owner_->public_key());
  std::shared_ptr<const Plan> plan_ = scheme_.plan({20, 300, 24, 1 << 20, 0, 32, 128});
  ShareMatrix m_ = random_share(300, 24, 32, random_);
  IntMatrix x_ = testing::random_matrix(IntMatrix::Kind::kCsr, 20, 300, 0, 1 << 20, seeded_);
  Bytes operand_ = write_to_bytes([this](ByteSink& out) { owner_->encrypt(*plan_, m_, random_, pool_, out); });

  void load(const Bytes& bytes) {
    BufferSource in(bytes);
    (void)multiplier_->load(*plan_, in, pool_);
  }
  Bytes reply() {
    BufferSource in(operand_);
    const auto operand = multiplier_->load(*plan_, in, pool_);
    return write_to_bytes(
        [&](ByteSink& out) { (void)multiplier_->multiply_and_mask(*plan_, x_, *operand, random_, pool_, out); });
  }
  void open(const Bytes& bytes) {
    BufferSource in(bytes);
    (void)owner_->open(*plan_, in, pool_);
  }
  /// 512 bytes of ones: no residue that ends in them is below its modulus.
  static Bytes with_ones(Bytes bytes, std::size_t at) {
    std::memset(bytes.data() + at, 0xFF, 512);
    return bytes;
  }
};

TEST_F(HostileLattice, ResiduesOutOfRangeAreNamedWhereverTheyStand) {
  const Bytes good_reply = reply();
  const Bytes key = owner_->public_key();
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(
        message_of<ProtocolError>([&] { load(with_ones(operand_, 48 + seeded_.below(operand_.size() - 48 - 512))); }),
        HasSubstr("residue that is not below"));
    EXPECT_THAT(message_of<ProtocolError>(
                    [&] { (void)scheme_.multiplier(with_ones(key, 48 + seeded_.below(key.size() - 48 - 512))); }),
                HasSubstr("residue that is not below"));
    // A reply's first polynomials; further on there are results, where any bytes are a number.
    EXPECT_THAT(message_of<ProtocolError>([&] { open(with_ones(good_reply, 16 + seeded_.below(8192 * 3 * 6 - 512))); }),
                HasSubstr("residue that is not below"));
  }
}

TEST_F(HostileLattice, TheLastResidueBelowTheModulusPassesAndTheModulusItselfDoesNot) {
  const lattice::Params params{lattice::ParamsSpec{}};
  const lattice::Modulus& m = params.moduli()[0];
  // The first residue of the first tile: the low 48 bits of the first word.
  for (const auto& [value, passes] : {std::pair{m.value() - 1, true}, {m.value(), false}, {m.value() + 1, false}}) {
    Bytes bytes = operand_;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + 48, 8);
    word = (word & ~((std::uint64_t{1} << 48) - 1)) | value;
    std::memcpy(bytes.data() + 48, &word, 8);
    if (passes) {
      EXPECT_NO_THROW(load(bytes));
    } else {
      EXPECT_THROW(load(bytes), ProtocolError);
    }
  }
}

TEST_F(HostileLattice, AKeyOfOtherParametersIsNamedAsSuch) {
  const LatticeScheme other(lattice::Params({8192, {48, 48, 48, 35, 34}, 2}), LatticeScheme::Options{});
  const Bytes key = other.generate_keys(random_)->public_key();
  Bytes padded = key;
  padded.resize(scheme_.public_key_bytes());
  EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(padded); }), HasSubstr("other parameters"));
  EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(key); }), HasSubstr("bytes"));
}

TEST_F(HostileLattice, WhatIsNoKeyIsRefused) {
  Bytes zeros = owner_->public_key();
  std::fill(zeros.begin() + 48, zeros.end(), std::byte{0});
  EXPECT_THAT(message_of<ProtocolError>([&] { (void)scheme_.multiplier(zeros); }), HasSubstr("does not look like one"));
  Bytes text = owner_->public_key();
  for (std::size_t i = 48; i < text.size(); ++i) text[i] = static_cast<std::byte>("lorem ipsum "[i % 12]);
  EXPECT_THROW((void)scheme_.multiplier(text), ProtocolError);
}

TEST_F(HostileLattice, AForeignKeyIdIsRefusedBeforeAnythingIsComputed) {
  for (std::size_t byte = 0; byte < 16; ++byte) {
    Bytes operand = operand_;
    operand[byte] ^= std::byte{1};
    EXPECT_THAT(message_of<ProtocolError>([&] { load(operand); }), HasSubstr("a key that is not the peer's"));
  }
  Bytes changed = reply();
  changed[15] ^= std::byte{0x80};
  EXPECT_THAT(message_of<ProtocolError>([&] { open(changed); }), HasSubstr("a key that is not this party's"));
}

TEST_F(HostileLattice, AnyBytesAtAllEndInAnErrorOrInNumbersOfTheRightShape) {
  const Bytes good_reply = reply();
  for (int i = 0; i < 60; ++i) {
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
      EXPECT_EQ(multiplier_->multiply_and_mask(*plan_, x_, *loaded, random_, pool_, out).rows(), 20U);
      EXPECT_EQ(out.bytes().size(), plan_->reply_bytes());
    } catch (const ProtocolError&) {
      EXPECT_NE(operand, operand_);
    }
    try {
      BufferSource in(masked);
      EXPECT_EQ(owner_->open(*plan_, in, pool_).cols(), 24U);
    } catch (const ProtocolError&) {
      EXPECT_NE(masked, good_reply);
    }
  }
}

}  // namespace
}  // namespace blindfl::he::hostile_test
