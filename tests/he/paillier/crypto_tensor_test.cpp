// Encrypted matrices against plain integers, over every set of kernels.

#include "blindfl/he/paillier/crypto_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "he/paillier/tensor_lab.h"
#include "testing/matrices.h"
#include "testing/thrown.h"

namespace blindfl::he::paillier::crypto_tensor_test {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::random_matrix;
using blindfl::testing::random_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::plain_product;
using Kind = IntMatrix::Kind;

constexpr std::uint64_t kBound = std::uint64_t{1} << 60;

Integers random_values(std::size_t count, SeededRandom& random, std::uint64_t bound = kBound) {
  Integers values;
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(random_value(bound, random));
  return values;
}

void add_plain(Integers& to, const Integers& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] + from[i];
}

/// All rows, those never written as encryptions of 0 that are known as such.
void write_tensor(const CryptoTensor& m, ByteSink& out, ThreadPool& pool) {
  const std::size_t groups = m.shape().groups();
  std::vector<const Limb*> rows;
  rows.reserve(m.shape().rows * groups);
  for (std::size_t r = 0; r < m.shape().rows; ++r) {
    const Limb* row = m.find(r);
    for (std::size_t g = 0; g < groups; ++g) {
      rows.push_back(row == nullptr ? m.key().ring().one() : row + g * m.key().ring().stride());
    }
  }
  m.key().write(rows, out, pool);
}

class CryptoTensors : public ::testing::TestWithParam<std::string_view> {
 protected:
  testing::TensorLab lab_{GetParam()};
  SeededRandom random_{3};

  CryptoTensor random_tensor(const CryptoShape& shape, Integers& values) {
    values = random_values(shape.rows * shape.cols, random_);
    return lab_.encrypt(shape, values);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, CryptoTensors, ::testing::ValuesIn(available_kernels()), testing::name_of_kernels);

// One column, a whole ciphertext, several with the last one partly filled.
constexpr std::size_t kColumns[] = {1, 6, 13};

TEST_P(CryptoTensors, MultiplyAsIntegersDo) {
  struct Left {
    Kind kind;
    int bits;
    int scale;
  };
  const Left lefts[] = {{Kind::kDense, 0, 0}, {Kind::kDense, 4, 0}, {Kind::kDense, 16, 16}, {Kind::kDense, 62, 20},
                        {Kind::kCsr, 0, 0},   {Kind::kCsr, 20, 16}, {Kind::kOneHot, 0, 0}};
  for (const std::size_t cols : kColumns) {
    Integers values;
    const CryptoTensor m = random_tensor(lab_.shape(9, cols), values);
    EXPECT_EQ(m.shape().groups(), (cols + 5) / 6);
    for (const auto& [kind, bits, scale] : lefts) {
      SCOPED_TRACE(::testing::Message() << cols << " columns, kind " << static_cast<int>(kind) << ", " << bits
                                        << " bits");
      const IntMatrix x = random_matrix(kind, 7, 9, scale, std::uint64_t{1} << bits, random_);
      const CryptoTensor product = multiply(x, m, 9, lab_.pool());
      EXPECT_EQ(product.shape().rows, 7U);
      EXPECT_EQ(product.shape().cols, cols);
      EXPECT_EQ(product.shape().scale, 32 + scale);
      EXPECT_EQ(product.written().size(), 7U) << "rows without entries too, so that none tells";
      EXPECT_EQ(lab_.decrypt(product), plain_product(x, values, cols));
    }
  }
}

TEST_P(CryptoTensors, MultiplyAtTheEdgesOfTheirBounds) {
  const BigInt most = BigInt::power_of_two(60);
  const Integers values{most, BigInt(0) - most, most, BigInt(0) - most};
  const CryptoTensor m = lab_.encrypt(lab_.shape(2, 2), values);
  for (const std::int64_t v : {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
    const IntMatrix x = IntMatrix::dense(2, 2, {v, v, v, -v}, 0, std::uint64_t{1} << 62);
    EXPECT_EQ(lab_.decrypt(multiply(x, m, 2, lab_.pool())), plain_product(x, values, 2));
  }
}

TEST_P(CryptoTensors, TakeRowsThatWereNeverWrittenForZeros) {
  Integers values(40);
  CryptoTensor m(lab_.key().shared_public_key(), lab_.shape(20, 2));
  EXPECT_THAT(m.written(), IsEmpty());
  for (const std::size_t row : {17U, 4U}) {
    const Integers written = random_values(2, random_);
    lab_.write_row(m, row, written);
    std::copy(written.begin(), written.end(), values.begin() + static_cast<std::ptrdiff_t>(row * 2));
  }
  EXPECT_THAT(m.written(), ElementsAre(17, 4));
  EXPECT_EQ(m.find(3), nullptr);
  EXPECT_EQ(lab_.decrypt(m), values);
  const IntMatrix x = random_matrix(Kind::kDense, 5, 20, 0, 1000, random_);
  EXPECT_EQ(lab_.decrypt(multiply(x, m, 20, lab_.pool())), plain_product(x, values, 2));
  EXPECT_THAT(m.written(), ElementsAre(17, 4)) << "looking does not write";

  const CryptoTensor nothing(lab_.key().shared_public_key(), lab_.shape(20, 2));
  EXPECT_EQ(lab_.decrypt(multiply(x, nothing, 20, lab_.pool())), Integers(10));
  // A row that is touched and not written to starts as 0.
  (void)m.touch(9);
  EXPECT_THAT(m.written(), ElementsAre(17, 4, 9));
  EXPECT_EQ(lab_.decrypt(m), values);
}

TEST_P(CryptoTensors, AddTransposedProductsWhereAMatrixHasEntriesAndNowhereElse) {
  for (const std::size_t cols : kColumns) {
    Integers values;
    const CryptoTensor m = random_tensor(lab_.shape(4, cols), values);
    CryptoTensor to(lab_.key().shared_public_key(), lab_.shape(1000, cols, 48, 120));
    Integers expected(1000 * cols);
    // A stored zero is no entry.
    const IntMatrix first =
        IntMatrix::csr(4, 1000, {0, 2, 2, 4, 5}, {7, 900, 7, 8, 31}, {3, -5, 70000, 0, 1}, 16, 1 << 17);
    add_transposed_product(to, first, m, lab_.pool());
    add_plain(expected, plain_product(first.transpose(), values, cols));
    EXPECT_THAT(to.written(), ElementsAre(7, 31, 900));
    EXPECT_EQ(lab_.decrypt(to), expected);

    const IntMatrix second = IntMatrix::csr(4, 1000, {0, 1, 2, 2, 3}, {900, 7, 0}, {-1, -1, 65536}, 16, 1 << 17);
    add_transposed_product(to, second, m, lab_.pool());
    add_plain(expected, plain_product(second.transpose(), values, cols));
    EXPECT_THAT(to.written(), ElementsAre(7, 31, 900, 0));
    EXPECT_EQ(lab_.decrypt(to), expected);

    const IntMatrix none = IntMatrix::csr(4, 1000, {0, 0, 0, 0, 0}, {}, {}, 16, 1 << 17);
    add_transposed_product(to, none, m, lab_.pool());
    EXPECT_EQ(to.written().size(), 4U);
    EXPECT_EQ(lab_.decrypt(to), expected);
  }
}

TEST_P(CryptoTensors, AddTransposedProductsOfEveryKind) {
  Integers values;
  const CryptoTensor m = random_tensor(lab_.shape(6, 8), values);
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    const IntMatrix x = random_matrix(kind, 6, 11, 0, kind == Kind::kOneHot ? 1 : 70000, random_);
    CryptoTensor to(lab_.key().shared_public_key(), lab_.shape(11, 8, 32, 120));
    Integers expected(88);
    for (int i = 0; i < 2; ++i) {
      add_transposed_product(to, x, m, lab_.pool());
      add_plain(expected, plain_product(x.transpose(), values, 8));
    }
    EXPECT_EQ(lab_.decrypt(to), expected);
  }
}

TEST_P(CryptoTensors, AreWrittenAndRead) {
  Integers values = random_values(39, random_);
  CryptoTensor m = lab_.encrypt(lab_.shape(3, 13), values);
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_tensor(m, out, lab_.pool()); });
  EXPECT_EQ(bytes.size(), 9 * lab_.ring().row_bytes());
  BufferSource in(bytes);
  const CryptoTensor again = read_tensor(lab_.key().shared_public_key(), m.shape(), in, lab_.pool());
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_EQ(lab_.decrypt(again), values);
  EXPECT_EQ(write_to_bytes([&](ByteSink& out) { write_tensor(again, out, lab_.pool()); }), bytes);
  // Rows that were never written are read as zeros.
  const CryptoTensor none(lab_.key().shared_public_key(), m.shape());
  const Bytes zeros = write_to_bytes([&](ByteSink& out) { write_tensor(none, out, lab_.pool()); });
  BufferSource zeros_in(zeros);
  EXPECT_EQ(lab_.decrypt(read_tensor(lab_.key().shared_public_key(), m.shape(), zeros_in, lab_.pool())), Integers(39));
}

TEST_P(CryptoTensors, AreNotReadFromWhatIsNone) {
  Integers values = random_values(3, random_);
  const CryptoTensor m = lab_.encrypt(lab_.shape(3, 1), values);
  const Bytes good = write_to_bytes([&](ByteSink& out) { write_tensor(m, out, lab_.pool()); });
  const auto read = [&](const Bytes& bytes) {
    BufferSource in(bytes);
    (void)read_tensor(lab_.key().shared_public_key(), m.shape(), in, lab_.pool());
  };
  EXPECT_THROW(read(Bytes(good.begin(), good.end() - 1)), ProtocolError);
  const std::size_t row = lab_.ring().row_bytes();
  for (const BigInt& hostile : {BigInt(0), lab_.n(), lab_.p(), lab_.p() * BigInt(12345)}) {
    for (std::size_t at = 0; at < 3; ++at) {
      Bytes bytes = good;
      std::ranges::copy(lab_.wire(hostile), bytes.begin() + static_cast<std::ptrdiff_t>(at * row));
      EXPECT_EQ(message_of<ProtocolError>([&] { read(bytes); }),
                "what the peer sent is not a ciphertext under this key");
    }
  }
}

TEST_P(CryptoTensors, AreTheSameWhateverTheNumberOfThreads) {
  Integers values;
  const CryptoTensor m = random_tensor(lab_.shape(30, 13), values);
  const IntMatrix x = random_matrix(Kind::kCsr, 40, 30, 0, 1 << 16, random_);
  const CryptoTensor derivative = lab_.encrypt(lab_.shape(40, 13), random_values(520, random_));
  const auto run = [&](std::size_t threads) {
    ThreadPool pool(threads);
    const CryptoTensor product = multiply(x, m, 30, pool);
    CryptoTensor sum(lab_.key().shared_public_key(), lab_.shape(30, 13, 32, 120));
    add_transposed_product(sum, x, derivative, pool);
    return write_to_bytes([&](ByteSink& out) {
      write_tensor(product, out, pool);
      write_tensor(sum, out, pool);
    });
  };
  EXPECT_EQ(run(1), run(2));
}

TEST_P(CryptoTensors, TakeMemoryForWhatWasWritten) {
  CryptoTensor m(lab_.key().shared_public_key(), lab_.shape(1000000, 1));
  const IntMatrix x = IntMatrix::csr(1, 1000000, {0, 3}, {0, 500000, 999999}, {1, 1, 1}, 0, 1);
  const CryptoTensor one = lab_.encrypt(lab_.shape(1, 1), random_values(1, random_));
  add_transposed_product(m, x, one, lab_.pool());
  EXPECT_EQ(m.written().size(), 3U);
  EXPECT_LT(m.memory(), std::size_t{5} << 20) << "4 bytes for each row, and few ciphertexts";
  const CryptoTensor small = lab_.encrypt(lab_.shape(1, 1), random_values(1, random_));
  EXPECT_LE(small.memory(), lab_.ring().stride() * sizeof(Limb) + 4);
}

TEST_P(CryptoTensors, RefuseShapesThatCannotBe) {
  const auto make = [&](const CryptoShape& shape) { (void)CryptoTensor(lab_.key().shared_public_key(), shape); };
  EXPECT_THAT(message_of<InvalidArgument>([&] { make(lab_.shape(3, 0)); }), HasSubstr("3 x 0"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { make(lab_.shape(std::size_t{1} << 31, 1)); }),
              HasSubstr("not possible"));
  EXPECT_NO_THROW(make(lab_.shape(1, 1, 0, 148)));
  EXPECT_EQ(message_of<InvalidArgument>([&] { make(lab_.shape(1, 1, 0, 149)); }),
            "encrypted values of 149 bits do not fit in slots of 150");
}

TEST_P(CryptoTensors, RefuseProductsThatDoNotFit) {
  const CryptoTensor m = lab_.encrypt(lab_.shape(4, 1), random_values(4, random_));
  const auto ones = [](std::size_t rows, std::size_t cols, std::uint64_t bound) {
    return IntMatrix::dense(rows, cols, std::vector<std::int64_t>(rows * cols, 1), 0, bound);
  };
  EXPECT_EQ(message_of<InvalidArgument>([&] { (void)multiply(ones(2, 5, 1), m, 5, lab_.pool()); }),
            "a matrix of 5 columns cannot be multiplied with an encrypted one of 4 rows");
  EXPECT_EQ(message_of<InvalidArgument>([&] { (void)multiply(ones(2, 4, 1), m, 3, lab_.pool()); }),
            "row 0 has 4 non-zero features, and no more than 3 were declared");
  // 60 bits, and 63 and 26 more: one too many.
  const IntMatrix wide = ones(1, 4, std::uint64_t{1} << 62);
  EXPECT_NO_THROW((void)multiply(wide, m, (std::size_t{1} << 25) - 1, lab_.pool()));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)multiply(wide, m, std::size_t{1} << 25, lab_.pool()); }),
              HasSubstr("149 bits do not fit"));
}

TEST_P(CryptoTensors, RefuseToBeAddedToWhatIsNotAlike) {
  const CryptoTensor m = lab_.encrypt(lab_.shape(2, 1), random_values(2, random_));
  const IntMatrix x = IntMatrix::dense(2, 3, {1, 0, 0, 0, 1, 0}, 16, 1);
  const auto transposed = [&](const CryptoShape& shape, const std::shared_ptr<const PublicKey>& key,
                              const IntMatrix& by) {
    CryptoTensor to(key, shape);
    add_transposed_product(to, by, m, lab_.pool());
  };
  const auto& key = lab_.key().shared_public_key();
  EXPECT_NO_THROW(transposed(lab_.shape(3, 1, 48), key, x));
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(lab_.shape(3, 1, 47), key, x); }), HasSubstr("scale"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(lab_.shape(4, 1, 48), key, x); }), HasSubstr("shape"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(lab_.shape(3, 2, 48), key, x); }), HasSubstr("columns"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(lab_.shape(3, 1, 48), key, x.transpose()); }),
              HasSubstr("shape"));
  CryptoShape other_slots = lab_.shape(3, 1, 48);
  other_slots.slots = Slots(1023, 151);
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(other_slots, key, x); }), HasSubstr("slots"));
  Random random;
  const SecretKey stranger = SecretKey::generate(InsecureParams::make(), GetParam(), random);
  EXPECT_THAT(message_of<InvalidArgument>([&] { transposed(lab_.shape(3, 1, 48), stranger.shared_public_key(), x); }),
              HasSubstr("different keys"));
  CryptoTensor lacking(key, lab_.shape(2, 1));
  lab_.write_row(lacking, 0, random_values(1, random_));
  CryptoTensor to(key, lab_.shape(3, 1, 48));
  EXPECT_EQ(message_of<InvalidArgument>([&] { add_transposed_product(to, x, lacking, lab_.pool()); }),
            "an encrypted derivative lacks a row");
}

}  // namespace
}  // namespace blindfl::he::paillier::crypto_tensor_test
