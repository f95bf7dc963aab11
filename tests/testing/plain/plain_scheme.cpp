#include "testing/plain/plain_scheme.h"

#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

// Formats, little-endian:
//   public key: magic (8 bytes), key id (16)
//   operand, reply: key id (16), then the values row by row (16 each)

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

class PlainPlan final : public Plan {
 public:
  explicit PlainPlan(const ProductSpec& spec) : Plan(spec) {}

  [[nodiscard]] std::uint64_t operand_bytes() const override {
    return kIdBytes + kValueBytes * spec().inner * spec().cols;
  }
  [[nodiscard]] std::uint64_t reply_bytes() const override {
    return kIdBytes + kValueBytes * spec().rows * spec().cols;
  }
  [[nodiscard]] std::string operand_layout() const override {
    std::ostringstream name;
    name << "plain " << spec().inner << " x " << spec().cols;
    return name.str();
  }
  [[nodiscard]] ProductTimes times(double /*nonzeros*/) const override { return {}; }  // next to nothing
  [[nodiscard]] std::uint64_t operand_memory() const override { return operand_bytes(); }
  [[nodiscard]] int hiding_bits() const override { return 128; }  // masks are uniform in the ring
};

void write_values(ByteSink& out, UInt128 key_id, const ShareMatrix& m) {
  out.write_u128(std::span(&key_id, 1));
  out.write_u128(m.values());
}

void read_values(ByteSource& in, UInt128 key_id, ShareMatrix& m) {
  UInt128 id = 0;
  in.read_u128(std::span(&id, 1));
  require<ProtocolError>(id == key_id, "a message is encrypted under a key that is not the one of this session");
  in.read_u128(m.values());
}

class PlainKeyOwner final : public KeyOwner {
 public:
  explicit PlainKeyOwner(UInt128 id) : id_(id) {}

  [[nodiscard]] Bytes public_key() const override {
    return write_to_bytes([&](ByteSink& out) {
      out.write_u64(kKeyMagic);
      out.write_u128(std::span(&id_, 1));
    });
  }

 private:
  void do_encrypt(const Plan& /*plan*/, const ShareMatrix& m, Random& /*random*/, ThreadPool& /*pool*/,
                  ByteSink& out) const override {
    write_values(out, id_, m);
  }
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, ThreadPool& /*pool*/) const override {
    ShareMatrix opened(plan.spec().rows, plan.spec().cols, plan.spec().result_scale());
    read_values(reply, id_, opened);
    return opened;
  }

  UInt128 id_;
};

struct PlainOperand final : Operand {
  explicit PlainOperand(ShareMatrix m) : matrix(std::move(m)) {}
  ShareMatrix matrix;
};

class PlainMultiplier final : public Multiplier {
 public:
  PlainMultiplier(UInt128 id, bool mask) : id_(id), mask_(mask) {}

 private:
  [[nodiscard]] std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                       ThreadPool& /*pool*/) const override {
    ShareMatrix m(plan.spec().inner, plan.spec().cols, plan.spec().right_scale);
    read_values(in, id_, m);
    return std::make_unique<PlainOperand>(std::move(m));
  }
  [[nodiscard]] ShareMatrix do_multiply_and_mask(const Plan& plan, const IntMatrix& x, const Operand& operand,
                                                 Random& /*random*/, Random& masks, ThreadPool& pool,
                                                 ByteSink& reply) const override {
    const auto* m = dynamic_cast<const PlainOperand*>(&operand);
    require<InvalidArgument>(
        m != nullptr && m->matrix.rows() == plan.spec().inner && m->matrix.cols() == plan.spec().cols, "product of ",
        plan.spec().describe(), ": the operand was loaded for another layout");
    ShareMatrix masked = multiply(x, m->matrix, pool);
    ShareMatrix share(masked.rows(), masked.cols(), masked.scale());
    if (mask_) {
      const ShareMatrix mask = random_share(masked.rows(), masked.cols(), masked.scale(), masks);
      masked += mask;
      share -= mask;
    }
    write_values(reply, id_, masked);
    return share;
  }

  UInt128 id_;
  bool mask_;
};

}  // namespace

std::uint64_t PlainScheme::public_key_bytes() const {
  return sizeof kKeyMagic + kIdBytes;
}

std::unique_ptr<KeyOwner> PlainScheme::generate_keys(Random& random) const {
  return std::make_unique<PlainKeyOwner>(random.next_u128());
}

std::unique_ptr<Multiplier> PlainScheme::multiplier(ByteView public_key) const {
  require<ProtocolError>(public_key.size() == public_key_bytes(), "a public key of the plain scheme has ",
                         public_key_bytes(), " bytes, not ", public_key.size());
  BufferSource in(public_key);
  require<ProtocolError>(in.read_u64() == kKeyMagic, "these bytes are not a public key of the plain scheme");
  UInt128 id = 0;
  in.read_u128(std::span(&id, 1));
  return std::make_unique<PlainMultiplier>(id, options_.mask);
}

std::shared_ptr<const Plan> PlainScheme::do_plan(const ProductSpec& spec) const {
  return std::make_shared<PlainPlan>(spec);
}

}  // namespace blindfl::testing
