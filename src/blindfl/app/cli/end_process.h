#pragma once

namespace blindfl::app {

/// Ends the process at once, after what was printed is written. Global objects of libraries stay as they are: gRPC and
/// torch have threads of their own that may still run when these would be destroyed, and a command that had done all
/// of its work would end with a crash.
[[noreturn]] void end_process(int code);

}  // namespace blindfl::app
