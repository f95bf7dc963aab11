#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/ot/kernels.h"
#include "blindfl/ot/session.h"
#include "blindfl/ot/tables/plan.h"

namespace blindfl::ot {

/// What keys are bound to, besides their place in the pool.
struct TableUse {
  /// Never the same in two sessions, whichever party was restarted: a digest with nonces of both. Not a secret.
  std::array<std::byte, 32> session{};
  /// Who has the categories.
  Party chooser = Party::kA;
  std::uint32_t layer = 0;
  /// Counts the layer's uses in this session.
  std::uint64_t step = 0;
};

/// What a fixed key of AES is for. No two loops share one.
enum class TableDomain : std::uint64_t {
  kChainTrees = 1,
  kChainFlags = 2,
  kChainGather = 3,
  kChainScatter = 4,
  kBinTrees = 5,
  kBinFlags = 6,
  kBinGather = 7,
  kBinScatter = 8,
};

/// Everything public that is derived from a use: names of its messages, and keys of AES.
class TableBinding {
 public:
  static constexpr std::size_t kTagBytes = 16;
  /// Flag pads under one key.
  static constexpr std::size_t kFlagsPerKey = 1024;

  /// `place` of the pool, before anything was taken.
  TableBinding(const TablePlan& plan, const TableUse& use, const OtSession::Digest& place);

  /// The first bytes of a message.
  void write_tag(std::span<std::byte> out, std::string_view message, std::size_t word_bytes = 0) const;
  /// What follows the tag. Throws ProtocolError unless `message` has `bytes` bytes and begins with the tag.
  [[nodiscard]] ByteView checked_body(ByteView message, std::string_view name, std::uint64_t bytes,
                                      std::size_t word_bytes = 0) const;

  /// Keys number 0, ..., count - 1 of a domain.
  [[nodiscard]] CipherKeys keys(TableDomain domain, std::size_t count, const Kernels& kernels) const;

 private:
  using Tag = std::array<std::byte, kTagBytes>;
  [[nodiscard]] Tag tag(std::string_view message, std::size_t word_bytes) const;

  OtSession::Digest digest_{};
};

}  // namespace blindfl::ot
