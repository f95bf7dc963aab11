#include "paper_way.h"

#include <algorithm>
#include <map>
#include <optional>

#include "blindfl/base/error.h"
#include "timing.h"

namespace blindfl::bench {

namespace {

constexpr int kWeightBits = 40;
constexpr int kDerivativeBits = 30;
constexpr int kMaskBits = 110;

/// Features as the paper's loops see them: rows of entries, columns numbered from 0 in the order they are met.
struct Entries {
  struct Entry {
    std::size_t column;
    std::int64_t value;
  };
  std::vector<std::vector<Entry>> rows;
  std::size_t columns = 0;
  std::size_t products = 0;  ///< entries that are 1
  std::size_t powers = 0;    ///< the others

  /// The entries in the first rows and columns of x.
  Entries(const IntMatrix& x, std::size_t row_count, std::size_t col_count) : rows(row_count) {
    std::map<std::size_t, std::size_t> numbers;
    for (std::size_t r = 0; r < row_count; ++r) {
      x.for_each_in_row(r, [&](std::size_t c, std::int64_t value) {
        if (value == 0 || c >= col_count) return;
        rows[r].push_back({numbers.try_emplace(c, numbers.size()).first->second, value});
        ++(value == 1 ? products : powers);
      });
    }
    columns = numbers.size();
  }
  [[nodiscard]] Entries transposed() const {
    Entries result = *this;
    result.rows.assign(columns, {});
    result.columns = rows.size();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const Entry& e : rows[r]) result.rows[e.column].push_back({r, e.value});
    }
    return result;
  }
};

/// How often each kind of operation is needed.
struct Work {
  std::size_t weights;  ///< values of V_A, and of the gradient
  std::size_t outputs;  ///< values of Z, and of dZ
  std::size_t entries;  ///< of X, once for each output

  Work(const Entries& x, std::size_t out)
      : weights(x.columns * out), outputs(x.rows.size() * out), entries((x.products + x.powers) * out) {}
};

/// Rough, to decide how much to measure: with keys of 2048 bits.
double expected_seconds(const Entries& x, std::size_t out) {
  constexpr double kEncryptAndDecrypt = 2 * 9.5e-3 + 2.5e-3;
  const Work work(x, out);
  const double power = static_cast<double>(x.powers) * 110e-6 + static_cast<double>(x.products) * 5e-6;
  return static_cast<double>(work.weights + work.outputs) * kEncryptAndDecrypt + 2 * power * static_cast<double>(out);
}

struct Slice {
  Entries x;
  std::size_t out;
};

Slice choose_slice(const IntMatrix& x, std::size_t out, double seconds) {
  std::size_t rows = x.rows();
  std::size_t cols = x.cols();
  for (;;) {
    Entries entries(x, rows, cols);
    if (expected_seconds(entries, out) <= seconds) return {std::move(entries), out};
    if (out > 1) {
      out = (out + 1) / 2;
    } else if (rows > 16) {
      rows /= 2;
    } else if (x.kind() == IntMatrix::Kind::kDense && cols > 8) {
      cols /= 2;
    } else {
      return {std::move(entries), out};
    }
  }
}

using Numbers = std::vector<BigInt>;

Numbers random_signed(std::size_t count, int bits, Random& random) {
  Numbers numbers;
  numbers.reserve(count);
  const BigInt middle = BigInt::power_of_two(static_cast<std::size_t>(bits));
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(BigInt::random_bits(static_cast<std::size_t>(bits) + 1, random) - middle);
  }
  return numbers;
}

Numbers plain_product(const Entries& x, const Numbers& m, std::size_t out) {
  Numbers result(x.rows.size() * out);
  for (std::size_t r = 0; r < x.rows.size(); ++r) {
    for (const auto& [column, value] : x.rows[r]) {
      for (std::size_t o = 0; o < out; ++o) {
        BigInt& to = result[r * out + o];
        to = to + m[column * out + o] * BigInt(value);
      }
    }
  }
  return result;
}

class PaperLoops {
 public:
  PaperLoops(const MpzPaillier& key, Random& random) : key_(key), random_(random) {}

  [[nodiscard]] Numbers encrypt(const Numbers& values) const {
    Numbers result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) key_.encrypt(result[i], values[i], random_);
    return result;
  }
  [[nodiscard]] Numbers decrypt(const Numbers& ciphertexts) const {
    Numbers result(ciphertexts.size());
    for (std::size_t i = 0; i < ciphertexts.size(); ++i) key_.decrypt(result[i], ciphertexts[i]);
    return result;
  }
  /// Adds an encryption of a mask to each: what hides the value re-randomises it too.
  void mask(Numbers& ciphertexts, const Numbers& masks) const {
    BigInt fresh;
    for (std::size_t i = 0; i < ciphertexts.size(); ++i) {
      key_.encrypt(fresh, masks[i], random_);
      key_.add(ciphertexts[i], fresh);
    }
  }
  /// Negative entries take the inverse, made once for each ciphertext: n - |x| as an exponent would be a long one.
  [[nodiscard]] Numbers multiply(const Entries& x, const Numbers& m, std::size_t out) const {
    Numbers result(x.rows.size() * out, BigInt(1));
    std::vector<std::optional<BigInt>> inverses(m.size());
    BigInt power;
    for (std::size_t r = 0; r < x.rows.size(); ++r) {
      for (const auto& [column, value] : x.rows[r]) {
        for (std::size_t o = 0; o < out; ++o) {
          const BigInt* base = &m[column * out + o];
          if (value < 0) {
            std::optional<BigInt>& inverse = inverses[column * out + o];
            if (!inverse) inverse = he::paillier::inverse(*base, key_.n_squared());
            base = &*inverse;
          }
          if (value != 1 && value != -1) {
            mpz_powm_ui(power, *base, static_cast<unsigned long>(value < 0 ? -value : value), key_.n_squared());
            base = &power;
          }
          key_.add(result[r * out + o], *base);
        }
      }
    }
    return result;
  }

 private:
  const MpzPaillier& key_;
  Random& random_;
};

void check(const Numbers& decrypted, const Numbers& expected, const Numbers& masks) {
  for (std::size_t i = 0; i < decrypted.size(); ++i) {
    require<Error>(decrypted[i] == expected[i] + masks[i], "the paper's way came out wrong");
  }
}

/// Adds up milliseconds of processor time, and what they stand for if only a part of the work was done.
class ScaledTime {
 public:
  template <class F>
  auto operator()(std::size_t done, std::size_t all, const F& f) {
    const double start = cpu_seconds();
    auto result = f();
    const double milliseconds = (cpu_seconds() - start) * 1e3;
    measured_ += milliseconds;
    total_ += milliseconds * static_cast<double>(all) / static_cast<double>(done);
    return result;
  }
  [[nodiscard]] double measured() const { return measured_; }
  [[nodiscard]] double total() const { return total_; }

 private:
  double measured_ = 0;
  double total_ = 0;
};

}  // namespace

PaperStep measure_paper_step(const MpzPaillier& key, const IntMatrix& x, std::size_t out, double seconds,
                             Random& random) {
  const Slice slice = choose_slice(x, out, seconds);
  const Work all(Entries(x, x.rows(), x.cols()), out);
  const Work done(slice.x, slice.out);
  const Entries transposed = slice.x.transposed();
  const PaperLoops loops(key, random);
  ScaledTime a;
  ScaledTime b;

  const Numbers v = random_signed(done.weights, kWeightBits, random);
  const Numbers encrypted_v = b(done.weights, all.weights, [&] { return loops.encrypt(v); });
  Numbers z = a(done.entries, all.entries, [&] { return loops.multiply(slice.x, encrypted_v, slice.out); });
  const Numbers z_masks = random_signed(z.size(), kMaskBits, random);
  a(done.outputs, all.outputs, [&] { return loops.mask(z, z_masks), 0; });
  check(b(done.outputs, all.outputs, [&] { return loops.decrypt(z); }), plain_product(slice.x, v, slice.out), z_masks);

  const Numbers dz = random_signed(done.outputs, kDerivativeBits, random);
  const Numbers encrypted_dz = b(done.outputs, all.outputs, [&] { return loops.encrypt(dz); });
  Numbers gradient = a(done.entries, all.entries, [&] { return loops.multiply(transposed, encrypted_dz, slice.out); });
  const Numbers gradient_masks = random_signed(gradient.size(), kMaskBits, random);
  a(done.weights, all.weights, [&] { return loops.mask(gradient, gradient_masks), 0; });
  check(b(done.weights, all.weights, [&] { return loops.decrypt(gradient); }), plain_product(transposed, dz, slice.out),
        gradient_masks);

  const auto bytes = static_cast<double>((all.weights + all.outputs) * key.ciphertext_bytes());
  return {a.total(), b.total(), bytes, bytes, (a.measured() + b.measured()) / (a.total() + b.total())};
}

}  // namespace blindfl::bench
