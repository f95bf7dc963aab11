#pragma once

#include "blindfl/base/error.h"

namespace blindfl {

/// Runs `body`, which reads what was once saved. What a file holds instead of what it should is the file's fault, not
/// the peer's: a ProtocolError becomes a DataError.
template <class Body>
void reading_state(const Body& body) {
  try {
    body();
  } catch (const ProtocolError& error) {
    fail<DataError>("the saved state is damaged: ", error.what());
  }
}

}  // namespace blindfl
