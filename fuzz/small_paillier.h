#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "blindfl/he/paillier/paillier_plan.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/share/share_matrix.h"
#include "input.h"
#include "testing/insecure_paillier.h"
#include "testing/matrices.h"

namespace blindfl::fuzz {

using he::paillier::BigInt;

constexpr std::ptrdiff_t kIdBytes = he::paillier::PaillierPlan::kIdBytes;

/// A product, with the messages that honest parties exchange for it.
struct Product {
  std::shared_ptr<const he::Plan> plan;
  IntMatrix x;
  Bytes operand;
  Bytes reply;
};

/// Both parties under one small key, fresh in every process: `Random` takes no seed.
struct SmallPaillier {
  explicit SmallPaillier(std::string_view kernels)
      : scheme(params, {std::string(kernels)}),
        owner(scheme.generate_keys({}, random)),
        multiplier(scheme.multiplier({}, owner->public_key())),
        n(key().public_key().n()),
        p(BigInt::from_bytes(ByteView(key().save()).first(params.key_bytes() / 2))) {
    add_product({2, 3, 3, 15, 0, 32, 128}, IntMatrix::Kind::kDense);
    add_product({3, 2, 7, 3, 0, 0, 128}, IntMatrix::Kind::kCsr);  // several ciphertexts for a row
    add_product({2, 2, 1, std::uint64_t{1} << 40, 20, 16, 64}, IntMatrix::Kind::kCsr);
    add_product({11, 3, 1, 1, 0, 16, 32}, IntMatrix::Kind::kOneHot);  // several rows in a ciphertext
  }

  [[nodiscard]] const he::paillier::SecretKey& key() const {
    return dynamic_cast<const he::paillier::PaillierKeyOwner&>(*owner).secret_key();
  }
  [[nodiscard]] std::size_t row_bytes() const { return params.ciphertext_bytes(); }

  void add_product(const he::ProductSpec& spec, IntMatrix::Kind kind) {
    Product made;
    made.plan = scheme.plan(spec);
    SeededRandom seeded(products.size());
    made.x = testing::random_matrix(kind, spec.rows, spec.inner, spec.left_scale, spec.left_bound, seeded);
    ShareMatrix m = random_share(spec.inner, spec.cols, spec.right_scale, random);
    if (spec.right_bits < 128) m = testing::constant_share(spec.inner, spec.cols, spec.right_scale, 12345);
    made.operand = write_to_bytes([&](ByteSink& out) { owner->encrypt(*made.plan, m, random, pools[0], out); });
    BufferSource in(made.operand);
    const auto operand = multiplier->load(*made.plan, in, pools[0]);
    made.reply = write_to_bytes(
        [&](ByteSink& out) { (void)multiplier->multiply(*made.plan, made.x, *operand, random, pools[0], out); });
    products.push_back(std::move(made));
  }

  /// A number below n^2 as it travels.
  [[nodiscard]] Bytes wire(const BigInt& x) const {
    Bytes bytes(row_bytes());
    (x % n).to_bytes(std::span(bytes).first(row_bytes() / 2));
    (x / n).to_bytes(std::span(bytes).subspan(row_bytes() / 2));
    return bytes;
  }
  /// The id of this key, and ciphertexts under it, and nothing else? Written without the ring.
  [[nodiscard]] bool is_message(const Bytes& bytes, const Bytes& like) const {
    return bytes.size() == like.size() && std::equal(bytes.begin(), bytes.begin() + kIdBytes, like.begin()) &&
           are_ciphertexts(ByteView(bytes).subspan(kIdBytes));
  }
  [[nodiscard]] bool are_ciphertexts(ByteView bytes) const {
    for (; !bytes.empty(); bytes = bytes.subspan(row_bytes())) {
      const auto low = BigInt::from_bytes(bytes.first(row_bytes() / 2));
      const auto high = BigInt::from_bytes(bytes.subspan(row_bytes() / 2, row_bytes() / 2));
      if (low >= n || high >= n || gcd(low, n) != BigInt(1)) return false;
    }
    return true;
  }
  /// The signed plaintext of a ciphertext, by Paillier's own formula.
  [[nodiscard]] BigInt decrypt(ByteView bytes) const {
    const BigInt one = 1;
    const BigInt c = BigInt::from_bytes(bytes.first(row_bytes() / 2)) +
                     BigInt::from_bytes(bytes.subspan(row_bytes() / 2, row_bytes() / 2)) * n;
    const BigInt lambda = (p - one) * (n / p - one);
    const BigInt m = (power(c, lambda, n * n) - one) / n * inverse(lambda, n) % n;
    return m > n / BigInt(2) ? m - n : m;
  }

  const he::paillier::Params params = he::paillier::InsecureParams::make();
  he::PaillierScheme scheme;
  Random random;
  std::array<ThreadPool, 2> pools{ThreadPool(1), ThreadPool(2)};
  std::unique_ptr<he::KeyOwner> owner;
  std::unique_ptr<he::Multiplier> multiplier;
  BigInt n;
  BigInt p;
  std::vector<Product> products;
};

/// The first byte of an input for Paillier: the kernels (bit 2), the product (4, 5), threads (6), whether a second byte
/// says by how much the message is too long or, negative, too short (7), and how the rest of the input becomes a
/// message (0, 1).
class PaillierSetting {
 public:
  explicit PaillierSetting(Input& input)
      : switches_(input.take_byte()),
        surplus_((switches_ & 0x80) != 0 ? static_cast<std::int8_t>(input.take_byte()) : 0) {}

  [[nodiscard]] SmallPaillier& paillier() const {
    static const auto all = [] {
      std::vector<std::unique_ptr<SmallPaillier>> made;
      for (const auto kernels : he::paillier::available_kernels()) {
        made.push_back(std::make_unique<SmallPaillier>(kernels));
      }
      return made;
    }();
    return *all[(switches_ >> 2 & 1) % all.size()];
  }
  [[nodiscard]] const Product& product() const { return paillier().products[switches_ >> 4 & 3]; }
  [[nodiscard]] bool two_threads() const { return (switches_ >> 6 & 1) != 0; }
  [[nodiscard]] ThreadPool& pool() const { return paillier().pools[two_threads() ? 1 : 0]; }

  /// What arrives in place of `valid`, which begins with an id that no input can guess. 0: the input as it stands;
  /// 1: the id, then the input again and again, to the right length; 2: numbers in place of the first ciphertexts;
  /// 3: `valid`, edited.
  [[nodiscard]] Bytes message(Input& input, const Bytes& valid) const {
    Bytes message = in_full(input, valid);
    message.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(std::ssize(message) + surplus_, 0)));
    return message;
  }

 private:
  [[nodiscard]] Bytes in_full(Input& input, const Bytes& valid) const {
    const ByteView rest = input.rest();
    switch (switches_ & 3) {
      case 0:
        return {rest.begin(), rest.end()};
      case 1: {
        Bytes message = valid;
        for (std::size_t i = kIdBytes; i < message.size(); ++i) {
          message[i] = rest.empty() ? std::byte{0} : rest[(i - kIdBytes) % rest.size()];
        }
        return message;
      }
      case 2:
        return numbers(input, valid);
      default:
        return edited(input, valid);
    }
  }
  /// Each: a kind (1 byte), a length (1), the bytes of x. Kind 0: an encryption of x, 1: of -x, 2: x itself, 3: p x.
  [[nodiscard]] Bytes numbers(Input& input, Bytes message) const {
    const SmallPaillier& s = paillier();
    const BigInt n2 = s.n * s.n;
    for (std::size_t at = kIdBytes; at + s.row_bytes() <= message.size() && !input.rest().empty();
         at += s.row_bytes()) {
      const unsigned kind = input.take_byte() & 3U;
      const BigInt x = BigInt::from_bytes(input.take(input.take_byte()));
      const BigInt all[] = {(BigInt(1) + x * s.n) % n2, (BigInt(1) - x * s.n) % n2, x % n2, s.p * x % n2};
      std::ranges::copy(s.wire(all[kind]), message.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return message;
  }

  unsigned switches_;
  int surplus_;
};

}  // namespace blindfl::fuzz
