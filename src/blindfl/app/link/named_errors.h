#pragma once

#include <span>
#include <string>
#include <string_view>

#include "blindfl/base/error.h"

namespace blindfl::app {

/// Runs `body()`, and throws what it throws with the name of the peer before it: B has several. Without a name: as it
/// is.
template <class Body>
auto naming(std::string_view name, Body&& body) {
  const auto words = [&](const Error& error) { return std::string(name) + ": " + error.what(); };
  if (name.empty()) return body();
  try {
    return body();
  } catch (const ConfigError& error) {
    throw ConfigError(words(error));
  } catch (const DataError& error) {
    throw DataError(words(error));
  } catch (const TransportError& error) {
    throw TransportError(words(error));
  } catch (const ProtocolError& error) {
    throw ProtocolError(words(error));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(words(error));
  }
}

/// In the handler of an error, at B with A's of these names: what all of them are told, for they hear B alone. Whose
/// failure it is, and where an A was wrong or has it otherwise, in what; empty if the error names none. What fails at B
/// itself, where its files are or at which address it has another A is nobody else's business.
[[nodiscard]] std::string words_for_all(std::span<const std::string> names);

}  // namespace blindfl::app
