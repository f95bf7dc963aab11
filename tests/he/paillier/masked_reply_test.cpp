// How results travel to the key's owner: packed, masked, and each ciphertext with randomness that was never used
// before.

#include "blindfl/he/paillier/masked_reply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "blindfl/base/error.h"
#include "he/paillier/masked_view.h"
#include "he/paillier/tensor_lab.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::he::paillier::masked_reply_test {
namespace {

using blindfl::testing::looks_uniform;
using blindfl::testing::message_of;

constexpr const char* kTooLarge = "a masked product is larger than it can be";
constexpr const char* kNoCiphertext = "what the peer sent is not a ciphertext under this key";

/// Bits [from, from + 64) of a number that is not negative.
std::uint64_t bits_at(const BigInt& x, int from) {
  BigInt shifted;
  mpz_fdiv_q_2exp(shifted, x, static_cast<mp_bitcnt_t>(from));
  return low64(low128(shifted));
}

class MaskedReply : public ::testing::TestWithParam<std::string_view> {
 protected:
  testing::TensorLab lab_{GetParam()};
  Randomizers randomizers_{lab_.key().public_key()};

  static ReplyLayout layout(std::size_t rows, std::size_t cols, int bits, int hiding = 40) {
    return {InsecureParams::make(), rows, cols, bits, hiding};
  }
  /// The largest that may be, of both signs, and others.
  Integers extreme_values(const ReplyLayout& layout) {
    const BigInt most = BigInt::power_of_two(static_cast<std::size_t>(layout.value_bits));
    Integers values;
    for (std::size_t i = 0; i < layout.rows * layout.cols; ++i) {
      const BigInt any = BigInt::random_bits(static_cast<std::size_t>(layout.value_bits), lab_.random());
      const BigInt all[] = {most, BigInt(0) - most, BigInt(0), BigInt(1), BigInt(-1), any, BigInt(0) - any};
      values.push_back(all[i % 7]);
    }
    return values;
  }
  CryptoTensor encrypt(const ReplyLayout& layout, const Integers& values) {
    return lab_.encrypt({layout.rows, layout.cols, layout.slots, 0, layout.value_bits}, values);
  }
  struct Reply {
    Integers masks;
    Bytes bytes;
  };
  Reply reply(const ReplyLayout& layout, const CryptoTensor& values) {
    Reply made;
    made.bytes = write_to_bytes([&](ByteSink& out) {
      made.masks = write_masked(layout, values, randomizers_, lab_.random(), lab_.random(), lab_.pool(), out);
    });
    return made;
  }
  Integers open(const ReplyLayout& layout, ByteView bytes) {
    BufferSource in(bytes);
    Integers opened = open_masked(layout, lab_.key(), in, lab_.pool());
    EXPECT_EQ(in.remaining(), 0U);
    return opened;
  }
  std::vector<BigInt> ciphertexts(const Bytes& bytes) {
    std::vector<BigInt> all;
    const std::size_t row = lab_.ring().row_bytes();
    for (std::size_t at = 0; at < bytes.size(); at += row) {
      all.push_back(lab_.from_wire(ByteView(bytes).subspan(at, row)));
    }
    return all;
  }
  /// A message of one ciphertext with this plaintext.
  Bytes encryption_of(const BigInt& plaintext) {
    Rows row(lab_.ring(), 1);
    Limb* to = row[0];
    lab_.key().encrypt({&to, 1}, {&plaintext, 1}, lab_.random());
    return lab_.wire(lab_.ring().read(row[0]));
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, MaskedReply, ::testing::ValuesIn(available_kernels()), testing::name_of_kernels);

TEST_P(MaskedReply, OpensToValuesPlusMasksExactly) {
  struct Shape {
    std::size_t rows;
    std::size_t cols;
    int bits;
    int hiding;
  };
  // From one bit to all that a plaintext holds; one column, some in a ciphertext, several ciphertexts in a row.
  const Shape shapes[] = {{1, 1, 1, 40},   {1, 1, 981, 40}, {7, 1, 30, 40},  {8, 3, 60, 64},  {5, 13, 100, 40},
                          {64, 1, 20, 40}, {3, 40, 17, 64}, {9, 2, 400, 64}, {2, 1, 957, 64}, {50, 1, 20, 40}};
  bool partly_filled = false;
  bool several_groups = false;
  bool packed = false;
  for (const auto& [rows, cols, bits, hiding] : shapes) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << cols << " of " << bits << " bits");
    const ReplyLayout l = layout(rows, cols, bits, hiding);
    partly_filled = partly_filled || rows % l.rows_per_ciphertext != 0;
    several_groups = several_groups || l.groups > 1;
    packed = packed || l.rows_per_ciphertext > 1;
    EXPECT_LE(l.rows_per_ciphertext * l.cols_per_group, l.slots.count());
    const Integers values = extreme_values(l);
    const Reply made = reply(l, encrypt(l, values));
    EXPECT_EQ(made.bytes.size(), l.ciphertexts() * lab_.ring().row_bytes());
    const Integers opened = open(l, made.bytes);
    ASSERT_EQ(opened.size(), values.size());
    ASSERT_EQ(made.masks.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(opened[i] - made.masks[i], values[i]) << i;
      EXPECT_GE(made.masks[i].sign(), 0);
      EXPECT_LE(made.masks[i].bits(), static_cast<std::size_t>(l.mask_bits));
    }
  }
  EXPECT_TRUE(partly_filled && several_groups && packed) << "shapes that do not try what they should";
}

TEST_P(MaskedReply, HasZerosWhereNothingWasWritten) {
  const ReplyLayout l = layout(9, 2, 30);
  CryptoTensor values(lab_.key().shared_public_key(), {9, 2, l.slots, 0, 30});
  lab_.write_row(values, 4, Integers{5, -6});
  const Reply made = reply(l, values);
  const Integers opened = open(l, made.bytes);
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(opened[i] - made.masks[i], i == 8 ? BigInt(5) : i == 9 ? BigInt(-6) : BigInt(0));
  }
}

TEST_P(MaskedReply, IsTheSameWithTwoThreads) {
  const ReplyLayout l = layout(50, 5, 60);
  const Integers values = extreme_values(l);
  const CryptoTensor encrypted = encrypt(l, values);
  ThreadPool two(2);
  Integers masks;
  const Bytes bytes = write_to_bytes(
      [&](ByteSink& out) { masks = write_masked(l, encrypted, randomizers_, lab_.random(), lab_.random(), two, out); });
  BufferSource in(bytes);
  const Integers opened = open_masked(l, lab_.key(), in, two);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(opened[i] - masks[i], values[i]);
}

TEST_P(MaskedReply, RefusesATensorThatIsNotTheLayouts) {
  const ReplyLayout l = layout(2, 3, 30);
  const auto write = [&](const CryptoShape& shape) {
    const CryptoTensor values(lab_.key().shared_public_key(), shape);
    (void)reply(l, values);
  };
  EXPECT_NO_THROW(write({2, 3, l.slots, 0, 30}));
  EXPECT_THROW(write({3, 3, l.slots, 0, 30}), InvalidArgument);
  EXPECT_THROW(write({2, 2, l.slots, 0, 30}), InvalidArgument);
  EXPECT_THROW(write({2, 3, l.slots, 0, 31}), InvalidArgument);
  EXPECT_THROW(write({2, 3, Slots(1023, l.slots.width() + 1), 0, 30}), InvalidArgument);
}

TEST_P(MaskedReply, IsRefusedWhereAValueIsLargerThanItsMaskAllows) {
  const ReplyLayout l = layout(1, 2, 30);
  const BigInt least = BigInt(0) - BigInt::power_of_two(30);
  const BigInt most = BigInt::power_of_two(70) + BigInt::power_of_two(30) - BigInt(1);
  for (const BigInt& value : {least, most, BigInt(0)}) {
    for (const bool first : {false, true}) {
      const Integers slots{first ? value : BigInt(7), first ? BigInt(7) : value};
      EXPECT_EQ(open(l, encryption_of(l.slots.pack(std::span<const BigInt>(slots)))), slots);
    }
  }
  for (const BigInt& value : {least - BigInt(1), most + BigInt(1), BigInt::power_of_two(71) - BigInt(1)}) {
    for (const bool first : {false, true}) {
      const Integers slots{first ? value : BigInt(7), first ? BigInt(7) : value};
      const Bytes bytes = encryption_of(l.slots.pack(std::span<const BigInt>(slots)));
      EXPECT_EQ(message_of<ProtocolError>([&] { (void)open(l, bytes); }), kTooLarge);
    }
  }
}

TEST_P(MaskedReply, IsRefusedWhereAPlaintextGoesBeyondItsSlots) {
  const ReplyLayout l = layout(1, 2, 30);
  const std::size_t end = 2 * static_cast<std::size_t>(l.slots.width());
  const BigInt half = lab_.n() / BigInt(2);
  for (const BigInt& plaintext : {BigInt::power_of_two(end), BigInt(0) - BigInt::power_of_two(end),
                                  BigInt::power_of_two(1000), half, BigInt(0) - half}) {
    const Bytes bytes = encryption_of(plaintext);
    EXPECT_EQ(message_of<ProtocolError>([&] { (void)open(l, bytes); }), kTooLarge);
  }
}

TEST_P(MaskedReply, IsRefusedWhereACiphertextIsNoneOrMissing) {
  const ReplyLayout l = layout(30, 3, 100);
  ASSERT_GT(l.ciphertexts(), 8U);
  const Bytes good = reply(l, encrypt(l, extreme_values(l))).bytes;
  EXPECT_NO_THROW((void)open(l, good));
  const std::size_t row = lab_.ring().row_bytes();
  for (const BigInt& hostile :
       {BigInt(0), lab_.n(), lab_.n() * BigInt(77), lab_.p(), lab_.p() * lab_.p(), lab_.p() * BigInt(123456789)}) {
    for (const std::size_t at : {std::size_t{0}, l.ciphertexts() - 1}) {
      Bytes bytes = good;
      std::ranges::copy(lab_.wire(hostile), bytes.begin() + static_cast<std::ptrdiff_t>(at * row));
      EXPECT_EQ(message_of<ProtocolError>([&] { (void)open(l, bytes); }), kNoCiphertext);
    }
  }
  Bytes ones = good;
  std::fill_n(ones.begin() + static_cast<std::ptrdiff_t>(row), row, std::byte{0xff});
  EXPECT_EQ(message_of<ProtocolError>([&] { (void)open(l, ones); }), kNoCiphertext);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, row, good.size() - 1}) {
    EXPECT_THROW((void)open(l, ByteView(good).first(size)), ProtocolError) << size;
  }
}

TEST_P(MaskedReply, AnyOtherBytesEndInAnErrorOrInNumbersThatCouldBe) {
  const ReplyLayout l = layout(7, 3, 100);
  const Bytes good = reply(l, encrypt(l, extreme_values(l))).bytes;
  SeededRandom random(4);
  std::size_t refused = 0;
  for (int i = 0; i < 40; ++i) {
    Bytes bytes = good;
    bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 + random.below(255));
    try {
      (void)open(l, bytes);
    } catch (const ProtocolError&) {
      ++refused;
    }
  }
  // A changed ciphertext decrypts to some number below n, and hardly any of those is a sum of slots.
  EXPECT_GE(refused, 39U);
}

TEST_P(MaskedReply, HasFreshAndUniformMasksInEverySlot) {
  // One value in each ciphertext, and nine slots without.
  ReplyLayout l = layout(1, 1, 60);
  l.rows_per_ciphertext = l.slots.count();
  ASSERT_EQ(l.rows_per_ciphertext, 10U);
  const Integers values(1, BigInt::power_of_two(60));
  const CryptoTensor encrypted = encrypt(l, values);
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;
  std::vector<std::uint64_t> unused;
  std::set<BigInt> seen;
  for (int i = 0; i < 150; ++i) {
    // What the key's owner finds in slots without a value: masks that nobody keeps.
    Integers slots(10);
    ASSERT_TRUE(l.slots.unpack(lab_.decrypt(ciphertexts(reply(l, encrypted).bytes)[0]), slots));
    for (std::size_t s = 1; s < 10; ++s) unused.push_back(bits_at(slots[s], l.mask_bits - 64));
  }
  const ReplyLayout full = layout(140, 10, 60);
  const CryptoTensor many = encrypt(full, Integers(1400, BigInt::power_of_two(60)));
  for (const BigInt& mask : reply(full, many).masks) {
    low.push_back(bits_at(mask, 0));
    high.push_back(bits_at(mask, full.mask_bits - 64));
    EXPECT_TRUE(seen.insert(mask).second) << "a mask twice";
  }
  EXPECT_TRUE(looks_uniform<std::uint64_t>(low));
  EXPECT_TRUE(looks_uniform<std::uint64_t>(high));
  EXPECT_TRUE(looks_uniform<std::uint64_t>(unused));
}

TEST_P(MaskedReply, NeverUsesTheSameRandomnessTwice) {
  const ReplyLayout l = layout(20, 1, 300);
  const CryptoTensor values = encrypt(l, extreme_values(l));
  randomizers_.expect(l.ciphertexts());
  while (randomizers_.prepare()) {
  }
  std::set<BigInt> seen;
  std::size_t count = 0;
  for (int i = 0; i < 4; ++i) {  // the first from the stock, the others made on the spot, or both
    if (i == 2) (void)randomizers_.prepare();
    for (const BigInt& c : ciphertexts(reply(l, values).bytes)) {
      const BigInt r = lab_.randomness(c);
      EXPECT_EQ(lab_.decrypt(r), BigInt(0));
      EXPECT_NE(r, BigInt(1));
      seen.insert(r);
      ++count;
    }
  }
  EXPECT_EQ(count, 4 * l.ciphertexts());
  EXPECT_EQ(seen.size(), count);
}

TEST_P(MaskedReply, PreparesAsManyRandomizersAsAreExpected) {
  EXPECT_FALSE(randomizers_.prepare()) << "nothing is expected yet";
  randomizers_.expect(5);
  randomizers_.expect(12);
  std::size_t times = 0;
  while (randomizers_.prepare()) ++times;
  EXPECT_EQ(times, 3U) << "eight at a time";
  Rows rows(lab_.ring(), 9);
  std::vector<Limb*> to;
  for (std::size_t i = 0; i < 9; ++i) to.push_back(rows[i]);
  randomizers_.take(to, lab_.random(), lab_.pool());
  EXPECT_TRUE(randomizers_.prepare()) << "what was used is made again";
}

TEST_P(MaskedReply, TakesEachRandomizerOnceWhileAnotherThreadPrepares) {
  randomizers_.expect(40);
  constexpr std::size_t kTakes = 12;
  const std::size_t sizes[] = {1, 8, 3, 17};
  std::atomic<bool> done = false;
  std::thread preparing([&] {
    while (!done) (void)randomizers_.prepare();
  });
  std::set<BigInt> seen[2];
  const auto take = [&](std::set<BigInt>& mine) {
    Random random;
    ThreadPool pool(2);
    for (std::size_t i = 0; i < kTakes; ++i) {
      Rows rows(lab_.ring(), sizes[i % 4]);
      std::vector<Limb*> to;
      for (std::size_t k = 0; k < rows.count(); ++k) to.push_back(rows[k]);
      randomizers_.take(to, random, pool);
      for (std::size_t k = 0; k < rows.count(); ++k) mine.insert(lab_.ring().read(rows[k]));
    }
  };
  std::thread other([&] { take(seen[1]); });
  take(seen[0]);
  other.join();
  done = true;
  preparing.join();
  const std::size_t each = (1 + 8 + 3 + 17) * kTakes / 4;
  EXPECT_EQ(seen[0].size(), each);
  EXPECT_EQ(seen[1].size(), each);
  seen[0].merge(seen[1]);
  EXPECT_EQ(seen[0].size(), 2 * each) << "one was handed out twice";
}

/// Masks against values as large as can be. What they show has nothing to do with the kernels.
class MaskWidth : public MaskedReply {
 protected:
  /// What the key's owner sees of 1300 values of `bits` bits, half of them as large and half as small as can be, behind
  /// masks of `mask_bits`.
  testing::MaskedView view_of_largest(int bits, int mask_bits) {
    ReplyLayout l = layout(100, 13, bits, 64);
    l.mask_bits = mask_bits;
    const BigInt most = BigInt::power_of_two(static_cast<std::size_t>(bits));
    Integers values;
    for (std::size_t i = 0; i < l.rows * l.cols; ++i) values.push_back(i % 2 == 0 ? most : BigInt(0) - most);
    const CryptoTensor encrypted = encrypt(l, values);
    return {mask_bits, most, BigInt::power_of_two(64), open(l, reply(l, encrypted).bytes), values};
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, MaskWidth, ::testing::Values(available_kernels().front()), testing::name_of_kernels);

TEST_P(MaskWidth, ShowsNothingOfTheLargestValues) {
  for (const int bits : {80, 153}) {
    EXPECT_EQ(layout(100, 13, bits, 64).mask_bits, bits + 64);
    const testing::MaskedView view = view_of_largest(bits, bits + 64);
    EXPECT_TRUE(view.hides_the_secret());
    EXPECT_TRUE(view.reaches_its_bound());
  }
}

// Negative controls: modulo 2^mask_bits, all of these look alike.
TEST_P(MaskWidth, ShowsTheLargestValuesWhereMasksAreTooShort) {
  for (const int more : {20, 0, -18}) {
    const testing::MaskedView view = view_of_largest(153, 153 + more);
    EXPECT_FALSE(view.hides_the_secret()) << more;
    EXPECT_FALSE(view.is_wide_enough()) << more;
    EXPECT_TRUE(more > 0 || !view.shows_nothing_above_the_mask()) << more;
  }
  // The mask that the ring would suggest.
  const testing::MaskedView view = view_of_largest(153, 128);
  EXPECT_FALSE(view.hides_the_secret());
  EXPECT_FALSE(view.shows_nothing_above_the_mask());
  // A layout that promises more than is drawn.
  testing::MaskedView promised = view_of_largest(80, 80 + 40);
  promised.mask_bits = 80 + 64;
  EXPECT_TRUE(promised.is_wide_enough());
  EXPECT_FALSE(promised.hides_the_secret());
}

}  // namespace
}  // namespace blindfl::he::paillier::masked_reply_test
