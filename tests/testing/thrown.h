#pragma once

#include <gtest/gtest.h>

#include <string>

namespace blindfl::testing {

/// The message of the `E` that `body` throws; a failure if it throws none. Runs `body` once, where a matcher may run it
/// again.
template <class E, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace blindfl::testing
