#pragma once

namespace blindfl::testing {

/// Whether this program has the label `full` (tests/CMakeLists.txt). The same source may be in both programs of a room:
/// with few cases in the quick one, and with all of them in the full one.
#ifdef BLINDFL_FULL_TESTS
constexpr bool kFull = true;
#else
constexpr bool kFull = false;
#endif

}  // namespace blindfl::testing
