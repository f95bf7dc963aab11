// What hides factors of element-wise products: results are right without any of it, so tests must look for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/element_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/slots.h"
#include "slot_lab.h"

namespace blindfl::he::lattice::element_wise_hiding_test {
namespace {

const Kernels& real_kernels() {
  return *available_kernels().front();
}

/// What kernels have drawn since `forget`.
class Drawn {
 public:
  static void forget() {
    const std::lock_guard lock(mutex());
    all().clear();
  }
  static void add(const void* from, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    const std::lock_guard lock(mutex());
    all().emplace_back(first, first + bytes);
  }
  static std::size_t count() { return all().size(); }
  static std::size_t different() { return std::set<Bytes>(all().begin(), all().end()).size(); }

 private:
  static std::mutex& mutex() {
    static std::mutex made;
    return made;
  }
  static std::vector<Bytes>& all() {
    static std::vector<Bytes> made;
    return made;
  }
};

void recorded_ternary(std::int64_t* out, const std::uint64_t* words, std::size_t n) {
  real_kernels().ternary(out, words, n);
  Drawn::add(out, n * sizeof *out);
}
/// An owner unpacks nothing but what it draws: public halves, and coins of errors.
bool recorded_unpack(std::uint64_t* values, std::size_t stride, const std::uint64_t* words, std::size_t n, int bits,
                     std::uint64_t bound) {
  if (bits != 2 * Params::kErrorBound) Drawn::add(words, 256);
  return real_kernels().unpack(values, stride, words, n, bits, bound);
}
void no_errors(std::uint64_t* words, std::size_t n) {
  std::fill_n(words, n, 0);
}

Kernels with_ternary() {
  Kernels kernels = real_kernels();
  kernels.ternary = recorded_ternary;
  return kernels;
}
Kernels with_unpack() {
  Kernels kernels = real_kernels();
  kernels.unpack = recorded_unpack;
  return kernels;
}
Kernels without_errors() {
  Kernels kernels = real_kernels();
  kernels.centred_binomial = no_errors;
  return kernels;
}

/// The same every time.
Random same_random() {
  static constexpr std::byte kSame[32] = {};
  return Random::derived(kSame, {});
}

/// Pieces of `each` bytes, from `first` on.
std::vector<Bytes> pieces(const Bytes& all, std::size_t first, std::size_t each) {
  std::vector<Bytes> made;
  for (std::size_t at = first; at < all.size(); at += each) {
    made.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                      all.begin() + static_cast<std::ptrdiff_t>(at + each));
  }
  return made;
}

void expect_all_different(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NE(a[i], b[i]) << i;
}

ThreadPool& pool() {
  static ThreadPool made(2);
  return made;
}

struct SlotSide {
  explicit SlotSide(const Kernels& k) : kernels(k), scheme({&kernels}) {}
  Bytes encrypt(const std::shared_ptr<const SlotPlan>& plan, Random random) const {
    return write_to_bytes([&](ByteSink& out) {
      (void)scheme.slots()->encrypt(plan, Coin{}, std::vector<std::uint32_t>(plan->spec().values), random, pool(), out);
    });
  }
  Bytes multiply(const SlotPlan& plan, const Bytes& operand, Random random) const {
    BufferSource in(operand);
    return write_to_bytes([&](ByteSink& out) {
      (void)scheme.slots()->multiply(plan, Coin{}, in, std::vector<std::uint32_t>(plan.spec().values), random, pool(),
                                     out);
    });
  }
  Kernels kernels;
  LatticeScheme scheme;
};

struct ElementSide {
  explicit ElementSide(const Kernels& k) : kernels(k), scheme({&kernels}) {}
  Bytes encrypt(const std::shared_ptr<const ElementPlan>& plan, Random random) const {
    const ShareMatrix x(plan->spec().rows, plan->spec().cols, 0, plan->spec().ring_bits);
    return write_to_bytes(
        [&](ByteSink& out) { (void)scheme.elements()->encrypt(plan, Coin{}, x, x, random, pool(), out); });
  }
  Bytes multiply(const ElementPlan& plan, const Bytes& operand, Random random) const {
    const ShareMatrix x(plan.spec().rows, plan.spec().cols, 0, plan.spec().ring_bits);
    BufferSource in(operand);
    return write_to_bytes(
        [&](ByteSink& out) { (void)scheme.elements()->multiply(plan, Coin{}, in, x, x, random, pool(), out); });
  }
  Kernels kernels;
  LatticeScheme scheme;
};

// Under one public half, two ciphertexts would differ by their plaintexts.
TEST(ElementWiseHiding, EveryCiphertextHasAPublicHalfOfItsOwn) {
  const SlotSide slots(with_unpack());
  for (const auto& [values, frequencies] : {std::pair<std::size_t, std::size_t>{2048, 3}, {5000, 2}, {16, 20}}) {
    const auto plan = slots.scheme.slots()->plan(slot_spec(values, frequencies));
    const std::size_t moduli = LatticeSlotPlan::of(*plan).params().moduli().size();
    Drawn::forget();
    (void)slots.encrypt(plan, Random());
    EXPECT_EQ(Drawn::count(), (plan->operand_ciphertexts() + 1) * moduli) << "and one for the key";
    EXPECT_EQ(Drawn::different(), Drawn::count());
  }
  const ElementSide elements(with_unpack());
  for (const std::size_t rows : {40U, 5000U, 20000U}) {
    const auto plan = elements.scheme.elements()->plan({.rows = rows, .cols = 1});
    const auto& own = LatticeElementPlan::of(*plan);
    Drawn::forget();
    (void)elements.encrypt(plan, Random());
    EXPECT_EQ(Drawn::count(), (own.chunks() * own.terms() * own.primes().size() + 1) * own.params().moduli().size());
    EXPECT_EQ(Drawn::different(), Drawn::count());
  }
}

// Under one u, two replies would differ by what was multiplied.
TEST(ElementWiseHiding, EveryReplyIsReRandomisedAnew) {
  const SlotSide slots(with_ternary());
  for (const std::size_t functions : {0U, 3U}) {
    const auto plan = slots.scheme.slots()->plan(slot_spec(5000, 3, functions));
    const Bytes operand = slots.encrypt(plan, Random());
    Drawn::forget();
    (void)slots.multiply(*plan, operand, Random());
    EXPECT_EQ(Drawn::count(), plan->reply_ciphertexts());
    EXPECT_EQ(Drawn::different(), Drawn::count());
  }
  const ElementSide elements(with_ternary());
  for (const std::size_t rows : {40U, 20000U}) {
    const auto plan = elements.scheme.elements()->plan({.rows = rows, .cols = 1});
    const auto& own = LatticeElementPlan::of(*plan);
    const Bytes operand = elements.encrypt(plan, Random());
    Drawn::forget();
    (void)elements.multiply(*plan, operand, Random());
    EXPECT_EQ(Drawn::count(), own.chunks() * own.primes().size());
    EXPECT_EQ(Drawn::different(), Drawn::count());
  }
}

// With the same of everything else, errors make the difference: in every ciphertext.
TEST(ElementWiseHiding, ErrorsAreAdded) {
  const SlotSide slots(real_kernels());
  const SlotSide slots_without(without_errors());
  const auto planned = slots.scheme.slots()->plan(slot_spec(5000, 3, 2));
  const auto& own = LatticeSlotPlan::of(*planned);
  auto scales = own.scales();
  scales.cut = 0;  // what is cut off could take the error with it
  const auto plan =
      std::make_shared<const LatticeSlotPlan>(own.shared_params(), own.spec(), own.chunks(), std::move(scales));
  const std::size_t head = PublicKey::bytes(own.params()) + sizeof(Seed);
  const Bytes operand = slots.encrypt(plan, same_random());
  const Bytes same = slots.encrypt(plan, same_random());
  ASSERT_EQ(operand, same) << "or this would not see a difference";
  expect_all_different(pieces(operand, head, 8 * plan->operand_words()),
                       pieces(slots_without.encrypt(plan, same_random()), head, 8 * plan->operand_words()));
  expect_all_different(
      pieces(slots.multiply(*plan, operand, same_random()), sizeof(KeyId), 8 * plan->reply_words()),
      pieces(slots_without.multiply(*plan, operand, same_random()), sizeof(KeyId), 8 * plan->reply_words()));

  const ElementSide elements(real_kernels());
  const ElementSide elements_without(without_errors());
  for (const std::size_t rows : {40U, 9000U}) {
    const auto element_plan = elements.scheme.elements()->plan({.rows = rows, .cols = 1});
    const auto& its = LatticeElementPlan::of(*element_plan);
    const std::size_t key = PublicKey::bytes(its.params()) + sizeof(Seed);
    expect_all_different(pieces(elements.encrypt(element_plan, same_random()), key, 8 * its.operand_words()),
                         pieces(elements_without.encrypt(element_plan, same_random()), key, 8 * its.operand_words()));
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::element_wise_hiding_test
