#pragma once

#include <vector>

#include "blindfl/base/int128.h"

namespace blindfl::lab::attacks {

/// A basis of a lattice, a vector in each row.
using LatticeBasis = std::vector<std::vector<Int128>>;

/// The same lattice with short vectors first: reduced after Lenstra, Lenstra and Lovasz with exact integers for
/// products and floating point for projections (Nguyen and Stehle). For some dozens of dimensions and entries below
/// 2^60.
void reduce(LatticeBasis& basis);

}  // namespace blindfl::lab::attacks
