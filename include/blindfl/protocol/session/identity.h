#pragma once

#include <string>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/net/identity.h"

namespace blindfl::protocol {

/// What a party proves itself with to parties that it has no link to: they know its certificate.
class Identity {
 public:
  Identity() = default;
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;
  virtual ~Identity() = default;

  /// PEM.
  [[nodiscard]] virtual const std::string& certificate() const = 0;
  /// What `net::is_signed_by(certificate(), message, ...)` accepts.
  [[nodiscard]] virtual Bytes sign(ByteView message) const = 0;
};

/// The one that a party has for its link.
class LinkIdentity final : public Identity {
 public:
  explicit LinkIdentity(net::Identity identity) : identity_(std::move(identity)) {}
  [[nodiscard]] const std::string& certificate() const override { return identity_.certificate; }
  [[nodiscard]] Bytes sign(ByteView message) const override { return net::sign(identity_, message); }

 private:
  net::Identity identity_;
};

}  // namespace blindfl::protocol
