#pragma once

#include <utility>

#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// While it lives, `session`'s products repeat: who scores the same batch with the same weights again, in this session
/// or another, gets the same shares and the same Z, bit for bit, and neither party learns anything new. Both parties
/// open one at the same point, each with a key of its own, which it keeps with its shares of the model.
///
/// Under schemes whose replies carry a mask (Paillier), the mask follows from the key, and ciphertexts are as fresh as
/// ever. Under those with `Scheme::repeats_messages()` (the lattice) there is no mask to choose, and the message itself
/// repeats: keys other than the session's, which follow from both parties' keys and the model; encryptions, replies and
/// noise, which follow from the party's key, the public key, the product, the matrix and the bytes that arrived.
/// Whoever sees two scorings sees whether they were of the same batch.
///
/// Layers refuse to train meanwhile, and to score with weights that changed since the key and model were first used in
/// this session.
///
///     RepeatableScoring repeatable(session, key);
///     const auto z = model->forward(batch);
///
/// `session` must outlive it. Cost: where messages repeat, one of 32 bytes each way, and public keys, at the first use.
/// Reveals: by these 32 bytes (`MaskKey::coin_part`), whether the sender's key and model are those of an earlier
/// scoring. Throws InvalidArgument if there is one already.
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
