#pragma once

#include <utility>

#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// While it lives, masks of `session`'s products repeat: who scores the same batch with the same weights again, in this
/// session or another, gets the same shares and the same Z, bit for bit, and neither party learns anything new. Both
/// parties open one, each with a key of its own, which it keeps with its shares of the model.
///
/// Ciphertexts are as fresh as ever. Layers refuse to train meanwhile, and to score with weights that changed since the
/// key and model were first used in this session.
///
///     RepeatableScoring repeatable(session, key);
///     const auto z = model->forward(batch);
///
/// `session` must outlive it. Throws InvalidArgument if there is one already.
class RepeatableScoring {
 public:
  RepeatableScoring(Session& session, MaskKey key) : session_(session) { session_.repeat_masks(std::move(key)); }
  RepeatableScoring(const RepeatableScoring&) = delete;
  RepeatableScoring& operator=(const RepeatableScoring&) = delete;
  ~RepeatableScoring() { session_.fresh_masks(); }

 private:
  Session& session_;
};

}  // namespace blindfl::protocol
