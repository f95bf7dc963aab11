// Paillier's operations one by one, on one thread: in plain GMP and in each of our kernels, by key size. Every result
// is compared with GMP's before it is timed.

#include <array>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "blindfl/base/error.h"
#include "blindfl/he/paillier/scalar_products.h"
#include "mpz_paillier.h"
#include "timing.h"

namespace {

using namespace blindfl::he::paillier;
using blindfl::Random;
using blindfl::bench::MpzFixedBase;
using blindfl::bench::MpzPaillier;

constexpr const char* kUsage =
    "usage: bench_paillier [--json] [--keys BITS,...] [--kernels NAME,...] [--seconds S]\n"
    "  --keys      2048,3072 without it\n"
    "  --kernels   all that this processor can run without it\n"
    "  --seconds   for each measurement, 0.3 without it\n";

enum Operation : std::size_t {
  kEncryptPublished,
  kEncryptPublic,
  kEncryptShort,
  kEncryptOwner,
  kDecrypt,
  kAdd,
  kSquare,
  kChain,
  kScalarNarrow,
  kScalarWide,
  kPack,
  kWrite,
  kRead,
  kOperations
};
constexpr std::array<const char*, kOperations> kNames{
    "encrypt, r^n",
    "encrypt, public key, |n|+128 bits",
    "encrypt, public key, |n|/2 bits *",
    "encrypt, key owner",
    "decrypt",
    "add two",
    "square",
    "chain of random rows, per row",
    "16-bit scalar, in 128x14, per entry",
    "16-bit scalar, in 128x392, per entry",
    "pack, 120-bit slots, per value",
    "write as bytes",
    "read from bytes, checked",
};
constexpr std::string_view kFootnote =
    "* for comparison only: randomness that travels to the key's owner takes |n|+128 bits\n";

/// Microseconds of each operation; nothing where it was not measured.
using Times = std::array<std::optional<double>, kOperations>;

struct Options {
  bool json = false;
  std::vector<std::size_t> keys{2048, 3072};
  std::vector<std::string> kernels{available_kernels().begin(), available_kernels().end()};
  double seconds = 0.3;
};

/// Microseconds of processor time for one operation, of which `f` does `count`: the fastest of all calls in the time
/// there is.
double microseconds(double seconds, std::size_t count, const std::function<void()>& f) {
  using blindfl::bench::cpu_seconds;
  f();
  double best = 1e9;
  const double start = cpu_seconds();
  for (double begin = start; begin - start < seconds;) {
    f();
    const double end = cpu_seconds();
    best = std::min(best, end - begin);
    begin = end;
  }
  return best * 1e6 / static_cast<double>(count);
}

void check(bool right, Operation operation) {
  blindfl::require<blindfl::Error>(right, "'", kNames[operation], "' came out wrong");
}

std::int64_t random_scalar(Random& random) {
  return static_cast<std::int64_t>(random.next_u64() % 65535) - 32767;
}

constexpr std::size_t kSlot = 120;
constexpr std::size_t kPacked = 16;

void measure_encryption(const MpzPaillier& key, double seconds, Random& random, Times& times) {
  const std::size_t bits = key.n().bits();
  const MpzFixedBase full(key.h(), key.n_squared(), bits + Params::kExtraBits);
  const MpzFixedBase brief(key.h(), key.n_squared(), bits / 2);
  const MpzFixedBase at_p(key.h() % key.p_squared(), key.p_squared(), bits / 2);
  const MpzFixedBase at_q(key.h() % key.q_squared(), key.q_squared(), bits / 2);
  const BigInt m = BigInt::random_bits(bits - 2, random);
  BigInt c;
  BigInt opened;
  const auto measure = [&](Operation operation, const std::function<void()>& encrypt) {
    encrypt();
    key.decrypt(opened, c);
    check(opened == m, operation);
    times[operation] = microseconds(seconds, 1, encrypt);
  };
  measure(kEncryptPublished, [&] { key.encrypt(c, m, random); });
  measure(kEncryptPublic, [&] { key.encrypt(c, m, full, random); });
  measure(kEncryptShort, [&] { key.encrypt(c, m, brief, random); });
  measure(kEncryptOwner, [&] { key.encrypt(c, m, at_p, at_q, random); });
  times[kDecrypt] = microseconds(seconds, 1, [&] { key.decrypt(opened, c); });
  check(opened == m, kDecrypt);
}

Times measure_mpz(const MpzPaillier& key, double seconds, Random& random) {
  Times times;
  measure_encryption(key, seconds, random, times);
  const BigInt factor = BigInt::random_bits(2 * key.n().bits() - 1, random);
  BigInt c = BigInt::random_bits(2 * key.n().bits() - 1, random);
  BigInt power;
  constexpr std::size_t kMany = 100;
  const auto often = [&](const auto& f) {
    return microseconds(seconds, kMany, [&] {
      for (std::size_t i = 0; i < kMany; ++i) f();
    });
  };
  times[kAdd] = times[kChain] = often([&] { key.add(c, factor); });
  times[kSquare] = often([&] {
    mpz_mul(c, c, c);
    mpz_mod(c, c, key.n_squared());
  });
  std::vector<unsigned long> scalars(kMany);
  for (auto& s : scalars) s = static_cast<unsigned long>(std::abs(random_scalar(random)));
  std::size_t next = 0;
  times[kScalarWide] = times[kScalarNarrow] = often([&] {
    mpz_powm_ui(power, factor, scalars[next++ % kMany], key.n_squared());
    key.add(c, power);
  });
  const BigInt shift = BigInt::power_of_two(kSlot);
  times[kPack] = microseconds(seconds, kPacked, [&] {
    for (std::size_t i = 1; i < kPacked; ++i) {
      mpz_powm(c, c, shift, key.n_squared());
      key.add(c, factor);
    }
  });
  return times;
}

/// Ciphertexts in memory, with pointers to them.
struct Ciphertexts {
  Rows rows;
  std::vector<Limb*> pointers;

  Ciphertexts(const Ring& ring, std::size_t count) : rows(ring, count) {
    for (std::size_t i = 0; i < count; ++i) pointers.push_back(rows[i]);
  }
};

class KernelBench {
 public:
  KernelBench(const SecretKey& key, const MpzPaillier& mpz, double seconds, Random& random)
      : key_(key),
        ring_(key.public_key().ring()),
        mpz_(mpz),
        seconds_(seconds),
        random_(random),
        table_(ring_, kTable) {
    for (Limb* row : table_.pointers) {
      ring_.write(row, BigInt::random_bits(2 * mpz.n().bits() + 64, random) % mpz.n_squared());
    }
  }

  Times run() {
    measure_keys();
    measure_products();
    measure_scalars(kScalarNarrow, 14);
    measure_scalars(kScalarWide, 392);
    measure_packing();
    return times_;
  }

 private:
  static constexpr std::size_t kCount = 64;
  static constexpr std::size_t kTable = 2048;
  static constexpr std::size_t kBatch = 128;

  [[nodiscard]] BigInt number(std::size_t row) const { return ring_.read(table_.rows[row]); }
  [[nodiscard]] std::size_t random_row() const { return random_.next_u64() % kTable; }

  void measure_keys() {
    const PublicKey& public_key = key_.public_key();
    std::vector<BigInt> plaintexts;
    for (std::size_t i = 0; i < kCount; ++i) plaintexts.push_back(BigInt::random_bits(mpz_.n().bits() - 2, random_));
    Ciphertexts c(ring_, kCount);
    const FixedBase brief(ring_, public_key.h(), mpz_.n().bits() / 2, 8);
    const auto measure = [&](Operation operation, const std::function<void()>& encrypt) {
      encrypt();
      BigInt opened;
      for (std::size_t i = 0; i < kCount; ++i) {
        mpz_.decrypt(opened, ring_.read(c.rows[i]));
        check(opened == plaintexts[i], operation);
      }
      times_[operation] = microseconds(seconds_, kCount, encrypt);
    };
    measure(kEncryptPublic, [&] {
      public_key.encrypt_zero(c.pointers, random_);
      public_key.add(c.pointers, plaintexts);
    });
    measure(kEncryptShort, [&] {
      std::vector<Limb> exponents(kCount * brief.exponent_limbs());
      random_.fill_integers(std::span<Limb>(exponents));
      brief.power(c.pointers, exponents);
      public_key.add(c.pointers, plaintexts);
    });
    measure(kEncryptOwner, [&] { key_.encrypt(c.pointers, plaintexts, random_); });

    blindfl::ThreadPool pool(1);
    const std::vector<const Limb*> rows(c.pointers.begin(), c.pointers.end());
    blindfl::Bytes bytes;
    times_[kWrite] = microseconds(seconds_, kCount, [&] {
      bytes = blindfl::write_to_bytes([&](blindfl::ByteSink& out) { public_key.write(rows, out, pool); });
    });
    std::vector<BigInt> opened(kCount);
    times_[kDecrypt] = microseconds(seconds_, kCount, [&] { key_.decrypt(bytes, opened); });
    check(opened == plaintexts, kDecrypt);
    Ciphertexts copy(ring_, kCount);
    times_[kRead] = microseconds(seconds_, kCount, [&] {
      blindfl::BufferSource in(bytes);
      public_key.read(copy.pointers, in, pool);
    });
    for (std::size_t i = 0; i < kCount; ++i) check(ring_.read(copy.rows[i]) == ring_.read(c.rows[i]), kRead);
  }

  void measure_products() {
    Ciphertexts to(ring_, kCount);
    std::vector<Ring::Product> products;
    for (std::size_t i = 0; i < kCount; ++i) products.push_back({to.rows[i], table_.rows[i], table_.rows[kCount + i]});
    times_[kAdd] = microseconds(seconds_, kCount, [&] { ring_.multiply(products); });
    check(ring_.read(to.rows[3]) == number(3) * number(kCount + 3) % mpz_.n_squared(), kAdd);

    constexpr std::size_t kTimes = 64;
    std::vector<Ring::Row> squares;
    for (std::size_t i = 0; i < kCount; ++i) squares.push_back({to.rows[i], table_.rows[i]});
    times_[kSquare] = microseconds(seconds_, kCount * kTimes, [&] { ring_.square(squares, kTimes); });
    check(ring_.read(to.rows[3]) == power(number(3), BigInt::power_of_two(kTimes), mpz_.n_squared()), kSquare);

    std::vector<const Limb*> factors(kCount * kCount);
    for (auto& factor : factors) factor = table_.rows[random_row()];
    std::vector<Ring::Chain> chains;
    for (std::size_t i = 0; i < kCount; ++i) chains.push_back({to.rows[i], factors.data() + i * kCount, kCount});
    times_[kChain] = microseconds(seconds_, kCount * kCount, [&] { ring_.multiply_chains(chains); });
    BigInt expected(1);
    for (std::size_t i = 0; i < kCount; ++i) mpz_.add(expected, ring_.read(factors[3 * kCount + i]));
    check(ring_.read(to.rows[3]) == expected, kChain);
  }

  void measure_scalars(Operation operation, std::size_t bases) {
    Scalars scalars;
    scalars.bases = bases;
    for (std::size_t r = 0; r < kBatch; ++r) {
      scalars.row_starts.push_back(scalars.entries.size());
      for (std::uint32_t c = 0; c < bases; ++c) scalars.entries.push_back({c, random_scalar(random_)});
    }
    scalars.row_starts.push_back(scalars.entries.size());
    Ciphertexts to(ring_, kBatch);
    blindfl::ThreadPool pool(1);
    times_[operation] = microseconds(seconds_, scalars.entries.size(), [&] {
      multiply_scalars(ring_, scalars, table_.pointers.data(), 1, to.pointers.data(), /*accumulate=*/false, pool);
    });
    BigInt expected(1);
    for (const auto& [base, exponent] : scalars.row(5)) {
      mpz_.add(expected, power(number(base), BigInt(exponent), mpz_.n_squared()));
    }
    check(ring_.read(to.rows[5]) == expected, operation);
  }

  void measure_packing() {
    constexpr std::size_t kPacks = 8;
    Ciphertexts packed(ring_, kPacks);
    std::vector<Ring::Row> squares;
    std::vector<Ring::Product> products;
    for (std::size_t i = 0; i < kPacks; ++i) squares.push_back({packed.rows[i], packed.rows[i]});
    times_[kPack] = microseconds(seconds_, kPacks * kPacked, [&] {
      for (std::size_t i = 0; i < kPacks; ++i) {
        std::copy_n(table_.rows[i * kPacked + kPacked - 1], ring_.stride(), packed.rows[i]);
      }
      for (std::size_t k = kPacked - 1; k-- > 0;) {
        products.clear();
        for (std::size_t i = 0; i < kPacks; ++i) {
          products.push_back({packed.rows[i], packed.rows[i], table_.rows[i * kPacked + k]});
        }
        ring_.square(squares, kSlot);
        ring_.multiply(products);
      }
    });
    BigInt expected(1);
    for (std::size_t k = kPacked; k-- > 0;) {
      expected = power(expected, BigInt::power_of_two(kSlot), mpz_.n_squared());
      mpz_.add(expected, number(2 * kPacked + k));
    }
    check(ring_.read(packed.rows[2]) == expected, kPack);
  }

  const SecretKey& key_;
  const Ring& ring_;
  const MpzPaillier& mpz_;
  double seconds_;
  Random& random_;
  Ciphertexts table_;
  Times times_;
};

void print_json(std::size_t key_bits, const std::vector<std::string>& columns, const std::vector<Times>& times) {
  for (std::size_t operation = 0; operation < kOperations; ++operation) {
    std::cout << R"({"key_bits":)" << key_bits << R"(,"operation":")" << kNames[operation] << '"';
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (times[i][operation]) std::cout << ",\"" << columns[i] << "_us\":" << *times[i][operation];
    }
    std::cout << "}" << std::endl;
  }
}

void print_table(std::size_t key_bits, const std::vector<std::string>& columns, const std::vector<Times>& times) {
  std::cout << "\n|n| = " << key_bits << ", microseconds per operation, and how many times faster than mpz\n"
            << std::left << std::setw(37) << "" << std::right;
  for (const std::string& column : columns) std::cout << std::setw(column == "mpz" ? 10 : 19) << column;
  std::cout << "\n" << std::fixed;
  for (std::size_t operation = 0; operation < kOperations; ++operation) {
    std::cout << std::left << std::setw(37) << kNames[operation] << std::right;
    const auto& mpz = times[0][operation];
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& t = times[i][operation];
      std::cout << std::setprecision(t && *t < 100 ? 2 : 0) << std::setw(10);
      if (t) {
        std::cout << *t;
      } else {
        std::cout << "-";
      }
      if (i == 0) continue;
      std::cout << std::setprecision(1) << std::setw(8);
      if (t && mpz) {
        std::cout << *mpz / *t << "x";
      } else {
        std::cout << ""
                  << " ";
      }
    }
    std::cout << "\n";
  }
  std::cout << kFootnote << std::flush;
}

Options read_options(int argc, char** argv) {
  const blindfl::bench::Arguments arguments(argc, argv, kUsage, {"--keys", "--kernels", "--seconds"});
  Options options;
  options.json = arguments.json();
  if (const auto keys = arguments.value("--keys")) options.keys = blindfl::bench::positive_list(*keys);
  if (const auto kernels = arguments.value("--kernels")) options.kernels = blindfl::bench::list(*kernels);
  if (const auto seconds = arguments.value("--seconds")) options.seconds = std::stod(*seconds);
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  Random random;
  for (const std::size_t bits : options.keys) {
    const Params params({.key_bits = static_cast<int>(bits)});
    const auto saved = SecretKey::generate(params, options.kernels.front(), random).save();
    std::vector<std::string> columns{"mpz"};
    std::vector<Times> times;
    const MpzPaillier mpz(SecretKey::restore(params, options.kernels.front(), saved));
    times.push_back(measure_mpz(mpz, options.seconds, random));
    for (const std::string& kernels : options.kernels) {
      const SecretKey key = SecretKey::restore(params, kernels, saved);
      columns.push_back(kernels);
      times.push_back(KernelBench(key, mpz, options.seconds, random).run());
    }
    (options.json ? print_json : print_table)(bits, columns, times);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_paillier: " << error.what() << "\n";
  return 1;
}
