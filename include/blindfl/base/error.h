#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace blindfl {

/// Everything this library throws. No message ever carries a plaintext, a share or a key.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something that cannot work: a shape, a bound, a scale.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// What the user asked for is not allowed, or what the parties configured does not agree.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A data file or a value in it is unusable. Says where, never the value itself.
class DataError : public Error {
 public:
  using Error::Error;
};

/// The link to the peer failed: closed, timed out, unreachable.
class TransportError : public Error {
 public:
  using Error::Error;
};

/// The peer sent something it must not have sent.
class ProtocolError : public Error {
 public:
  using Error::Error;
};

/// Throws `E` with the message `parts...`, written one after the other. The message is built only on this path.
template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw E(message.str());
}

/// Throws `E` unless `condition` holds. Stays in release builds.
template <class E, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail<E>(parts...);
  }
}

}  // namespace blindfl
