#include "blindfl/base/int128.h"
#include "blindfl/he/lattice/kernel_loops.h"

namespace blindfl::he::lattice {

namespace {

/// One value at a time, in plain C++. Words have room: a forward butterfly adds at most 2q to its values, and 15 stages
/// from residues end below 31q < 2^55. Backwards, sums double: 14 stages from residues end below 2^14 q < 2^64, and
/// before a 15th, which only the largest degree has, they are brought back.
struct ScalarLanes {
  static constexpr std::size_t kLanes = 1;
  static constexpr int kStages = 2;
  static constexpr std::size_t kVectors = 4;
  static constexpr int kSumRoom = 4;
  static constexpr bool kGrows = false;
  static constexpr int kLazyStages = 14;
  static_assert(Modulus::kMaxBits + kLazyStages <= 64);
  using Part = std::uint64_t __attribute__((vector_size(16)));

  using Value = std::uint64_t;
  struct Constants {
    explicit Constants(const Modulus& modulus)
        : q(modulus.value()),
          inverse_q(modulus.roots().quotient64[0]),
          negated_inverse(modulus.negated_inverse()),
          deepest(modulus.degree() > std::size_t{1} << kLazyStages) {}
    std::uint64_t q;
    std::uint64_t inverse_q;  // of 2^64: the first root is 1
    std::uint64_t negated_inverse;
    bool deepest;
  };
  struct Root {
    std::uint64_t value;
    std::uint64_t quotient;  // of 2^64
  };
  /// There are no stages within a register.
  static const std::uint64_t* lane_factors(const Modulus::LaneFactors& /*factors*/) { return nullptr; }
  static Root root(const Modulus::Factors& factors, std::size_t index) {
    return {factors.value[index], factors.quotient64[index]};
  }

  static Value broadcast(std::uint64_t x) { return x; }
  static Value load(const std::uint64_t* p) { return *p; }
  static Value load_shared(const std::uint64_t* p) { return *p; }
  static void store(std::uint64_t* p, Value x) { *p = x; }
  static Value load_lazy(const std::uint64_t* p) { return *p; }
  static void store_lazy(std::uint64_t* p, Value x) { *p = x; }

  static Value reduced_once(Value x, std::uint64_t c) {
    const std::uint64_t y = x - c;
    return y < x ? y : x;
  }
  /// y * w modulo q, in [0, 2q), for any y.
  static Value shoup(Value y, Root w, const Constants& c) {
    return y * w.value - high64(static_cast<UInt128>(y) * w.quotient) * c.q;
  }
  static void forward_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value b = shoup(y, w, c);
    y = x + 2 * c.q - b;
    x += b;
  }
  static void inverse_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value sum = x + y;
    y = shoup(x + (c.q << (kLazyStages - 1)) - y, w, c);
    x = sum;
  }
  static void last_butterfly(Value& x, Value& y, Root by_n, Root w, const Constants& c) {
    if (c.deepest) {
      x = finished(x, c);
      y = finished(y, c);
    }
    inverse_butterfly(x, y, w, c);
    x = shoup(x, by_n, c);
  }
  static bool grows(const Modulus& /*modulus*/) { return false; }
  static Value settled(Value x, const Constants& /*c*/) { return x; }
  /// Of any x: the quotient is less than 2 too small.
  static Value finished(Value x, const Constants& c) {
    return reduced_once(x - high64(static_cast<UInt128>(x) * c.inverse_q) * c.q, c.q);
  }

  static Value finished_last(Value x, const Constants& c) { return reduced_once(x, c.q); }

  /// x / 2^52 modulo q, less than q above x / 2^52.
  static Value montgomery_lazy(UInt128 x, const Constants& c) {
    constexpr std::uint64_t kMask52 = (std::uint64_t{1} << 52) - 1;
    const std::uint64_t m = (low64(x) * c.negated_inverse) & kMask52;
    return static_cast<std::uint64_t>((x + static_cast<UInt128>(m) * c.q) >> 52);
  }
  /// The same in [0, q), for x < q * 2^52.
  static Value montgomery(UInt128 x, const Constants& c) { return reduced_once(montgomery_lazy(x, c), c.q); }
  static Value multiply(Value a, Value b, const Constants& c) { return montgomery(static_cast<UInt128>(a) * b, c); }
  static Value add(Value a, Value b) { return a + b; }
  static Value subtract(Value a, Value b, const Constants& c) { return reduced_once(a + c.q - b, c.q); }

  struct Sum {
    UInt128 sum = 0;
    static Value left(Value a) { return a; }
    static Value right(const std::uint64_t* p) { return load(p); }
    void add(Value a, Value b, const Constants& /*c*/) { sum += static_cast<UInt128>(a) * b; }
    [[nodiscard]] Value added_to(Value out, std::size_t /*terms*/, const Constants& c) const {
      return finished(out + montgomery_lazy(sum, c), c);
    }
  };
  using LongSum = Sum;
};

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kKernels = Loops<ScalarLanes>::table("portable");
  return kKernels;
}

}  // namespace blindfl::he::lattice
