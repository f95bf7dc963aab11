#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "blindfl/protocol/session/product.h"

// A matrix that a peer multiplies with travels encrypted once per change, not once per use. Both parties count the same
// changes, so neither needs a message to know what the other has. An operand serves all plans of one layout.

namespace blindfl::protocol {

/// The sender's side.
class SentOperand {
 public:
  /// Whether the peer lacks this version.
  [[nodiscard]] bool stale(const he::Plan& plan, std::uint64_t version) const;
  /// Sends `m`, which is that version. See `send_operand`.
  void send(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
            std::uint64_t version, const ShareMatrix& m);

 private:
  std::map<std::string, std::uint64_t> versions_;  ///< by layout
};

/// The receiver's side.
class ReceivedOperand {
 public:
  [[nodiscard]] bool stale(const he::Plan& plan, std::uint64_t version) const;
  /// Receives that version. See `receive_operand`.
  void receive(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
               std::uint64_t version);
  [[nodiscard]] const he::Operand& get(const he::Plan& plan) const;

 private:
  struct Version {
    std::uint64_t version = 0;
    std::unique_ptr<const he::Operand> operand;
  };
  std::map<std::string, Version> versions_;  ///< by layout
};

}  // namespace blindfl::protocol
