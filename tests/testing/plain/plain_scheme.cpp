#include "testing/plain/plain_scheme.h"

#include <algorithm>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

// Formats, little-endian:
//   public key: magic (8 bytes), key id (16)
//   operand, reply: key id (16), then the values row by row (16 each)
// Noisy: the set's index and the coin follow the key id, and drawn bytes (16) the values.

namespace blindfl::testing {

namespace {

using he::KeyOwner;
using he::Multiplier;
using he::Operand;
using he::Plan;
using he::ProductSpec;
using he::ProductTimes;

constexpr std::uint64_t kKeyMagic = 0x59454B4E49414C50;  // "PLAINKEY"
constexpr std::uint64_t kIdBytes = 16;
constexpr std::uint64_t kValueBytes = 16;
constexpr std::uint64_t kDrawnBytes = 16;

const std::vector<std::string>& noisy_sets() {
  static const std::vector<std::string> sets{"few rows", "many rows"};
  return sets;
}

class PlainPlan final : public Plan {
 public:
  PlainPlan(const ProductSpec& spec, bool noisy) : Plan(spec), noisy_(noisy) {}

  [[nodiscard]] std::uint64_t operand_bytes() const override { return bytes_of(spec().inner); }
  [[nodiscard]] std::uint64_t reply_bytes() const override { return bytes_of(spec().rows); }
  [[nodiscard]] std::string operand_layout() const override {
    std::ostringstream name;
    name << "plain " << spec().inner << " x " << spec().cols;
    if (noisy_) name << " for " << key_set();
    return name.str();
  }
  [[nodiscard]] std::string key_set() const override {
    return noisy_ ? noisy_sets()[spec().rows <= PlainScheme::kFewRows ? 0 : 1] : std::string();
  }
  [[nodiscard]] double largest_error() const override { return noise() == 0 ? 0 : 2.0 * static_cast<double>(noise()); }
  /// Each party's noise is below this.
  [[nodiscard]] std::uint64_t noise() const {
    return noisy_ && spec().noise_bits > 1 ? std::uint64_t{1} << std::min(spec().noise_bits - 1, 62) : 0;
  }
  [[nodiscard]] ProductTimes times(double /*nonzeros*/) const override { return {}; }  // next to nothing
  [[nodiscard]] std::uint64_t operand_memory() const override { return operand_bytes(); }
  // Masks are uniform in the ring.
  [[nodiscard]] he::Exposure exposure_of_value() const override { return {0, 0, spec().lift_failure()}; }

 private:
  [[nodiscard]] std::uint64_t bytes_of(std::size_t rows) const {
    return kIdBytes + kValueBytes * rows * spec().cols + (noisy_ ? kDrawnBytes : 0);
  }

  bool noisy_;
};

/// Values around 0, below the plan's noise, for one party's share.
void add_noise(const Plan& plan, ShareMatrix& share, Random& random) {
  const std::uint64_t below = dynamic_cast<const PlainPlan&>(plan).noise();
  if (below == 0) return;
  for (UInt128& value : share.values()) value += UInt128{random.below(below)} - below / 2;
  share.reduce();
}

UInt128 read_one(ByteSource& in) {
  UInt128 value = 0;
  in.read_u128(std::span(&value, 1));
  return value;
}

void write_values(ByteSink& out, UInt128 key_id, const ShareMatrix& m) {
  out.write_u128(std::span(&key_id, 1));
  out.write_u128(m.values());
}

void read_values(ByteSource& in, UInt128 key_id, ShareMatrix& m) {
  UInt128 id = 0;
  in.read_u128(std::span(&id, 1));
  require<ProtocolError>(id == key_id, "a message is encrypted under a key that is not the one of this session");
  in.read_u128(m.values());
  m.reduce();
}

class PlainKeyOwner final : public KeyOwner {
 public:
  PlainKeyOwner(UInt128 id, Bytes of_setup) : id_(id), of_setup_(std::move(of_setup)) {}

  [[nodiscard]] Bytes public_key() const override {
    return write_to_bytes([&](ByteSink& out) {
      out.write_u64(kKeyMagic);
      out.write_u128(std::span(&id_, 1));
      out.write(of_setup_);
    });
  }

 private:
  [[nodiscard]] bool noisy() const { return !of_setup_.empty(); }
  void do_encrypt(const Plan& /*plan*/, const ShareMatrix& m, Random& random, ThreadPool& /*pool*/,
                  ByteSink& out) const override {
    write_values(out, id_, m);
    if (!noisy()) return;
    const UInt128 drawn = random.next_u128();
    out.write_u128(std::span(&drawn, 1));
  }
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, Random& random,
                                    ThreadPool& /*pool*/) const override {
    ShareMatrix opened(plan.spec().rows, plan.spec().cols, plan.spec().result_scale(), plan.spec().ring_bits);
    read_values(reply, id_, opened);
    if (!noisy()) return opened;
    (void)read_one(reply);
    add_noise(plan, opened, random);
    return opened;
  }

  UInt128 id_;
  Bytes of_setup_;
};

struct PlainOperand final : Operand {
  explicit PlainOperand(ShareMatrix m) : matrix(std::move(m)) {}
  ShareMatrix matrix;
};

class PlainMultiplier final : public Multiplier {
 public:
  PlainMultiplier(UInt128 id, bool mask, bool noisy) : id_(id), mask_(mask), noisy_(noisy) {}

  void expect(const Plan& /*plan*/) const override {
    const std::scoped_lock lock(mutex_);
    expected_ = noisy_;
  }
  bool prepare() const override {
    const std::scoped_lock lock(mutex_);
    if (!expected_ || stock_.size() >= 4) return false;
    stock_.push_back(stock_random_.next_u128());
    return true;
  }

 private:
  [[nodiscard]] std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                       ThreadPool& /*pool*/) const override {
    ShareMatrix m(plan.spec().inner, plan.spec().cols, plan.spec().right_scale, plan.spec().ring_bits);
    read_values(in, id_, m);
    if (noisy_) (void)read_one(in);
    return std::make_unique<PlainOperand>(std::move(m));
  }
  [[nodiscard]] ShareMatrix do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                        Random& masks, ThreadPool& pool, ByteSink& reply) const override {
    const auto* m = dynamic_cast<const PlainOperand*>(&operand);
    require<InvalidArgument>(
        m != nullptr && m->matrix.rows() == plan.spec().inner && m->matrix.cols() == plan.spec().cols, "product of ",
        plan.spec().describe(), ": the operand was loaded for another layout");
    ShareMatrix masked = blindfl::multiply(x, m->matrix, pool);
    ShareMatrix share(masked.rows(), masked.cols(), masked.scale(), masked.ring_bits());
    if (mask_) {
      const ShareMatrix mask =
          random_share(masked.rows(), masked.cols(), masked.scale(), noisy_ ? random : masks, masked.ring_bits());
      masked += mask;
      share -= mask;
    }
    write_values(reply, id_, masked);
    if (!noisy_) return share;
    add_noise(plan, share, random);
    const UInt128 drawn = made_ahead(random);
    reply.write_u128(std::span(&drawn, 1));
    return share;
  }
  UInt128 made_ahead(Random& random) const {
    const std::scoped_lock lock(mutex_);
    if (stock_.empty()) return random.next_u128();
    const UInt128 made = stock_.back();
    stock_.pop_back();
    return made;
  }

  UInt128 id_;
  bool mask_;
  bool noisy_;
  mutable std::mutex mutex_;
  mutable bool expected_ = false;
  mutable Random stock_random_;
  mutable std::vector<UInt128> stock_;
};

/// What the public key of a noisy scheme says of what it was made for.
Bytes of_setup(const he::KeySetup& setup) {
  const auto found = std::ranges::find(noisy_sets(), setup.set);
  require<InvalidArgument>(found != noisy_sets().end(), "the noisy scheme has no set of keys '", setup.set, "'");
  return write_to_bytes([&](ByteSink& out) {
    out.write_u8(static_cast<std::uint8_t>(found - noisy_sets().begin()));
    out.write(setup.coin);
  });
}

}  // namespace

std::string PlainScheme::parameters() const {
  return std::string(options_.noisy ? "noisy" : "plain") + ", no encryption, ring 2^128";
}

std::vector<std::string> PlainScheme::key_sets() const {
  return options_.noisy ? noisy_sets() : std::vector<std::string>{std::string()};
}

std::uint64_t PlainScheme::public_key_bytes(const std::string& /*key_set*/) const {
  return sizeof kKeyMagic + kIdBytes + (options_.noisy ? 1 + sizeof(he::Coin) : 0);
}

std::unique_ptr<KeyOwner> PlainScheme::generate_keys(const he::KeySetup& setup, Random& random) const {
  he::KeySetup used = setup;
  if (options_.ignore_coin) random.fill(used.coin);
  return std::make_unique<PlainKeyOwner>(random.next_u128(), options_.noisy ? of_setup(used) : Bytes());
}

std::unique_ptr<Multiplier> PlainScheme::multiplier(const he::KeySetup& setup, ByteView public_key) const {
  require<ProtocolError>(public_key.size() == public_key_bytes(setup.set), "a public key of the plain scheme has ",
                         public_key_bytes(setup.set), " bytes, not ", public_key.size());
  BufferSource in(public_key);
  require<ProtocolError>(in.read_u64() == kKeyMagic, "these bytes are not a public key of the plain scheme");
  const UInt128 id = read_one(in);
  if (options_.noisy) {
    Bytes theirs(in.remaining());
    in.read(theirs);
    require<ProtocolError>(theirs == of_setup(setup),
                           "a public key of the noisy scheme was made for another set, or "
                           "from another coin than that of both parties");
  }
  return std::make_unique<PlainMultiplier>(id, options_.mask, options_.noisy);
}

std::shared_ptr<const Plan> PlainScheme::do_plan(const ProductSpec& spec) const {
  return std::make_shared<PlainPlan>(spec, options_.noisy);
}

}  // namespace blindfl::testing
