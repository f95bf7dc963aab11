#pragma once

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/ot/base_ot.h"
#include "blindfl/ot/kernels.h"
#include "blindfl/ot/session.h"

// From 128 base OTs to 128 / k punctured trees of depth k (Goldreich, Goldwasser and Micali 1986; as used in Roy,
// "SoftSpokenOT", CRYPTO 2022, and Boyle et al., "Efficient Two-Round OT Extension and Silent Non-Interactive Secure
// Computation", CCS 2019).
//
// The receiver of the extension grows a tree of seeds from a random root: the children of s are AES_s(0), AES_s(1). Of
// each level it sends the sum of all left children and the sum of all right ones, each encrypted under one of a base
// OT's two keys. The sender of the extension, whose secret gives each tree one leaf alpha, chose the key on the side
// that its path to alpha does not take: it learns the sum there, subtracts the nodes that it knows and so learns one
// node more, the sister of the path's. It ends with all leaves but number alpha.
//
// Why it is safe. The sender misses one key of every level, so of the path's own nodes it sees nothing but outputs of
// AES under keys that it does not know: leaf alpha is uniform to it (AES is a pseudo-random function; the input names
// the session, so that no table serves two). The receiver of the extension sends only. The sender's side takes the same
// steps for every alpha: nodes are found by masks over a whole level, not by addresses.

namespace blindfl::ot {

constexpr std::size_t kTreesBytes = kBaseOts * 2 * sizeof(Block);

/// Leaf x of tree g is number g * 2^k + x.
struct GrownTrees {
  SecretBlocks leaves;
  Bytes message;
};

/// All leaves, for the receiver of the extension. Cost: kTreesBytes.
[[nodiscard]] GrownTrees grow_trees(const OtSession& session, const BaseKeyPairs& keys, const Kernels& kernels,
                                    Random& random);

/// What the sender of the extension chooses in its base OTs. Bits g * k, ... of `secret` are its leaf of tree g.
[[nodiscard]] Block base_choices(const OtSession& session, const Block& secret);

/// All leaves but one of each tree, for the sender of the extension: leaf y of tree g is the receiver's leaf
/// y XOR alpha, so the unknown one, which is zero here, is always number 0. `message` must have kTreesBytes; there is
/// nothing in it that could be checked.
[[nodiscard]] SecretBlocks punctured_trees(const OtSession& session, const Block& secret, const SecretBlocks& keys,
                                           ByteView message, const Kernels& kernels);

}  // namespace blindfl::ot
