// Bytes from a peer that are no operand and no reply of slots.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"
#include "slot_lab.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice {

/// Far below the floor of security, for short messages.
struct InsecureParams {
  static Params make(const ParamsSpec& spec) { return {spec, Params::Floor::kIgnored}; }
};

namespace slots_hostile_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

class HostileSlots : public ::testing::Test {
 protected:
  LatticeScheme scheme_{{InsecureParams::make({512, {50, 50}})}, {}};
  const Slots& slots_ = *scheme_.slots();
  SlotLab lab_{slots_};
  std::shared_ptr<const SlotPlan> plan_ = slots_.plan(slot_spec(100, 5));
  const LatticeSlotPlan& own_ = LatticeSlotPlan::of(*plan_);
  std::vector<std::uint32_t> share_ = std::vector<std::uint32_t>(100, 123456789);
  BufferSink operand_sink_;
  std::unique_ptr<SlotKey> key_ = encrypted(operand_sink_);
  Bytes operand_ = operand_sink_.bytes();
  Bytes reply_ = write_to_bytes([this](ByteSink& out) { multiply(operand_, out); });
  std::size_t key_bytes_ = PublicKey::bytes(own_.params());

  std::unique_ptr<SlotKey> encrypted(ByteSink& out) {
    return slots_.encrypt(plan_, lab_.coin(), share_, lab_.random(), lab_.pool(), out);
  }
  void multiply(const Bytes& operand, ByteSink& out) {
    BufferSource in(operand);
    (void)slots_.multiply(*plan_, lab_.coin(), in, share_, lab_.random(), lab_.pool(), out);
  }
  void load(const Bytes& operand) {
    BufferSink out;
    multiply(operand, out);
  }
  /// Under a key of its own, because a key opens once; `reply` is edited for it.
  template <class Edit>
  void open(Edit&& edit) {
    BufferSink sink;
    const auto key = encrypted(sink);
    Bytes reply = write_to_bytes([&](ByteSink& out) { multiply(sink.bytes(), out); });
    edit(reply);
    BufferSource in(reply);
    (void)key->open(in, lab_.pool());
  }
};

TEST_F(HostileSlots, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < operand_.size(); size += size < 64 ? 1 : 97) {
    EXPECT_THROW(load(Bytes(operand_.begin(), operand_.begin() + static_cast<std::ptrdiff_t>(size))), ProtocolError);
  }
  for (std::size_t size = 0; size < reply_.size(); size += size < 32 ? 1 : 311) {
    EXPECT_THROW(open([&](Bytes& reply) { reply.resize(size); }), ProtocolError) << size;
  }
  EXPECT_NO_THROW(load(operand_));
  EXPECT_NO_THROW(open([](Bytes&) {}));
}

TEST_F(HostileSlots, ResiduesOutOfRangeAreRefused) {
  const auto with_ones = [](Bytes bytes, std::size_t at) {
    std::memset(bytes.data() + at, 0xFF, 512);
    return bytes;
  };
  SeededRandom seeded(4);
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(message_of<ProtocolError>([&] { load(with_ones(operand_, 16 + seeded.below(key_bytes_ - 16 - 512))); }),
                HasSubstr("residue that is not below"));
    const std::size_t first = key_bytes_ + sizeof(Seed);
    EXPECT_THAT(message_of<ProtocolError>(
                    [&] { load(with_ones(operand_, first + seeded.below(operand_.size() - first - 512))); }),
                HasSubstr("an operand of slots has a residue"));
  }
  // The upper digit of a reply, whose modulus is a little below a power of two.
  const std::size_t upper = sizeof(KeyId) + 8 * packed_words(512, own_.reply_bits(0));
  EXPECT_THAT(message_of<ProtocolError>([&] { open([&](Bytes& reply) { reply = with_ones(reply, upper + 64); }); }),
              HasSubstr("digit that is not below"));
}

TEST_F(HostileSlots, TheLastDigitBelowTheModulusPassesAndTheModulusItselfDoesNot) {
  const Modulus& m = own_.params().moduli()[1];
  const std::size_t upper = sizeof(KeyId) + 8 * packed_words(512, own_.reply_bits(0));
  for (const int beyond : {-1, 0, 1}) {
    const auto edit = [&](Bytes& reply) {
      std::uint64_t word = 0;
      std::memcpy(&word, reply.data() + upper, 8);
      word = (word & ~((std::uint64_t{1} << m.bits()) - 1)) | (m.value() + static_cast<std::uint64_t>(beyond));
      std::memcpy(reply.data() + upper, &word, 8);
    };
    if (beyond < 0) {
      EXPECT_NO_THROW(open(edit));
    } else {
      EXPECT_THROW(open(edit), ProtocolError);
    }
  }
}

TEST_F(HostileSlots, OtherCoinsAndPlansAndKeysAreNoticed) {
  SlotSpec other_spec = plan_->spec();
  other_spec.frequencies[2] += 1;
  const auto other = slots_.plan(other_spec);
  ASSERT_EQ(other->operand_bytes(), plan_->operand_bytes());
  BufferSource in(operand_);
  BufferSink out;
  EXPECT_THAT(message_of<ProtocolError>(
                  [&] { (void)slots_.multiply(*other, lab_.coin(), in, share_, lab_.random(), lab_.pool(), out); }),
              HasSubstr("of other parameters, or of another coin"));
  Coin coin = lab_.coin();
  coin[5] ^= std::byte{1};
  BufferSource again(operand_);
  EXPECT_THROW((void)slots_.multiply(*plan_, coin, again, share_, lab_.random(), lab_.pool(), out), ProtocolError);
  EXPECT_THAT(message_of<ProtocolError>([&] { open([&](Bytes& reply) { reply = reply_; }); }),
              HasSubstr("under a key that is not this operand's"));
}

TEST_F(HostileSlots, SharesOfAnotherLengthAreRefused) {
  BufferSink out;
  share_.pop_back();
  EXPECT_THROW((void)encrypted(out), InvalidArgument);
  EXPECT_THROW(load(operand_), InvalidArgument);
}

}  // namespace
}  // namespace slots_hostile_test
}  // namespace blindfl::he::lattice
