#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/layers/weight.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/protocol/session/settings.h"
#include "blindfl/share/share_matrix.h"

// What saved state of layers and optimizers has in common. docs/formats.md, "Saved state", has the bytes.

namespace blindfl::protocol {

/// What saved state begins with: the settings, in words, of what it is of.
void write_state_header(ByteSink& out, const Settings& settings);
/// Reads such a header. `what` names whose state it should be, in the error.
/// Throws DataError, naming the settings that differ with both values, if it is that of something else. The setting
/// `may_differ`, if one is named, may be another whole number.
void read_state_header(ByteSource& in, std::string_view what, const Settings& settings,
                       std::string_view may_differ = {});

/// Which moment of which training a state is of, at both parties alike. Shares of two moments do not add up to weights:
/// what is left of their masks would tell B of A's features once Z is opened. So both parties' states are compared when
/// they are loaded.
class StateOrigin {
 public:
  /// What counts changes of the state, at both parties alike: versions, steps.
  using Clock = std::vector<std::uint64_t>;

  /// Writes what the state of now is known by: what was loaded, if nothing has changed since, or else this session and
  /// the clock.
  void save(ByteSink& out, const Session& session, const Clock& clock) const;
  /// Reads what `save` wrote. Nothing changes before `loaded`.
  [[nodiscard]] static Bytes read(ByteSource& in);
  /// To be called at both parties once a state was loaded; `what` names it. Cost: one message of 32 bytes. The next
  /// `Session::settle()` throws ConfigError if the peer has loaded a state of another moment or training.
  void loaded(Session& session, const std::string& what, const Bytes& origin, const Clock& clock);

 private:
  Bytes loaded_;
  Clock loaded_clock_;
  std::uint64_t loads_ = 0;
};

/// A weight's version and share.
void write_weight(ByteSink& out, const Weight& weight);
struct SavedWeight {
  std::uint64_t version = 0;
  ShareMatrix piece;
};
/// What `write_weight` wrote of a weight of this shape and ring. Throws DataError if version or share cannot be.
[[nodiscard]] SavedWeight read_weight(ByteSource& in, const Weight& like);

/// A share with its ring, and what was written of one of the same shape, scale and ring. Throws DataError if it is of
/// another ring, or if a value is.
void write_share(ByteSink& out, const ShareMatrix& share);
[[nodiscard]] ShareMatrix read_share(ByteSource& in, const ShareMatrix& like);

/// Throws DataError if it is not a number that counts changes from 1.
[[nodiscard]] std::uint64_t read_version(ByteSource& in);

}  // namespace blindfl::protocol
