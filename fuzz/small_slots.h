#pragma once

#include <memory>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/slots.h"
#include "input.h"

namespace blindfl::he::lattice {

/// At a degree far below the floor of security, for short messages.
struct InsecureParams {
  [[nodiscard]] static Params make(const ParamsSpec& spec) { return {spec, Params::Floor::kIgnored}; }
};

}  // namespace blindfl::he::lattice

namespace blindfl::fuzz {

/// One element-wise product, of phases or exact, with both parties in this process.
class SmallSlots {
 public:
  explicit SmallSlots(const he::lattice::Kernels& kernels)
      : scheme_({he::lattice::InsecureParams::make({512, {50, 50}}),
                 he::lattice::InsecureParams::make({512, {50, 50, 50, 50}})},
                {&kernels}) {
    he::SlotSpec spec{.values = 100, .frequencies = {97, 291, 485}, .functions = {{{0, 1}, {0.5, 0}, {0, 0.25}}}};
    slot_plans_.push_back(scheme_.slots()->plan(spec));
    spec.functions.clear();
    slot_plans_.push_back(scheme_.slots()->plan(spec));
    element_plan_ = scheme_.elements()->plan({.rows = 600, .cols = 1, .ring_bits = 32});
  }

  static constexpr std::size_t kProducts = 3;
  /// The owner's first step; what it keeps is for `open`.
  [[nodiscard]] Bytes operand(std::size_t product) {
    return write_to_bytes([&](ByteSink& out) {
      if (product < 2) {
        slot_key_ = scheme_.slots()->encrypt(slot_plans_[product], coin_, share_, random_, pool_, out);
      } else {
        element_key_ = scheme_.elements()->encrypt(element_plan_, coin_, factor_, factor_, random_, pool_, out);
      }
    });
  }
  [[nodiscard]] Bytes multiply(std::size_t product, ByteSource& in) {
    return write_to_bytes([&](ByteSink& out) {
      if (product < 2) {
        (void)scheme_.slots()->multiply(*slot_plans_[product], coin_, in, share_, random_, pool_, out);
      } else {
        (void)scheme_.elements()->multiply(*element_plan_, coin_, in, factor_, factor_, random_, pool_, out);
      }
    });
  }
  void open(std::size_t product, ByteSource& in) {
    if (product < 2) {
      (void)slot_key_->open(in, pool_);
    } else {
      (void)element_key_->open(in, pool_);
    }
  }
  [[nodiscard]] std::uint64_t reply_bytes(std::size_t product) const {
    return product < 2 ? slot_plans_[product]->reply_bytes() : element_plan_->reply_bytes();
  }

 private:
  he::LatticeScheme scheme_;
  std::vector<std::shared_ptr<const he::SlotPlan>> slot_plans_;
  std::shared_ptr<const he::ElementPlan> element_plan_;
  std::unique_ptr<he::SlotKey> slot_key_;
  std::unique_ptr<he::ElementKey> element_key_;
  std::vector<std::uint32_t> share_ = std::vector<std::uint32_t>(100, 0x12345678);
  ShareMatrix factor_{600, 1, 0, 32};
  Random random_;
  ThreadPool pool_{1};
  he::Coin coin_{};
};

/// The first byte of an input: the kernels (bits 0, 1), the product (2, 3), and how the rest becomes a message: the
/// rest as it stands (bit 4), or an honest message that is overwritten here and there; bit 5: cut by a second byte.
class SlotSetting {
 public:
  explicit SlotSetting(Input& input)
      : switches_(input.take_byte()), cut_((switches_ & 32) != 0 ? input.take_byte() : 0) {}

  [[nodiscard]] SmallSlots& slots() const {
    static const auto all = [] {
      std::vector<std::unique_ptr<SmallSlots>> made;
      for (const auto* kernels : he::lattice::available_kernels()) {
        made.push_back(std::make_unique<SmallSlots>(*kernels));
      }
      return made;
    }();
    return *all[(switches_ & 3) % all.size()];
  }
  [[nodiscard]] std::size_t product() const { return (switches_ >> 2 & 3) % SmallSlots::kProducts; }
  [[nodiscard]] Bytes message(Input& input, Bytes valid) const {
    Bytes message((switches_ & 16) != 0 ? Bytes(input.rest().begin(), input.rest().end())
                                        : edited(input, std::move(valid)));
    message.resize(message.size() - std::min<std::size_t>(cut_, message.size()));
    return message;
  }

 private:
  unsigned switches_;
  std::size_t cut_;
};

}  // namespace blindfl::fuzz
