#pragma once

// Included before everything else where clang meets libtorch; g++ does not need it.
//
// libtorch 1.13 uses members of std::vector<IValue> while IValue is incomplete. In C++20 these members are constexpr,
// and clang then instantiates them on the spot and fails: https://github.com/pytorch/pytorch/pull/93978. Here
// libstdc++'s vector becomes what it was in C++17, not constexpr, and nothing else changes.

// The one function that algorithms and vector<bool> both declare: its constexpr declaration gets a type nobody uses.
#define _Bit_iterator _Unused_bit_iterator
#include <bits/stl_algobase.h>
#undef _Bit_iterator

// What <vector> includes stays constexpr.
#include <bits/functional_hash.h>
#include <bits/range_access.h>
#include <bits/refwrap.h>
#include <bits/stl_uninitialized.h>

#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#include <vector>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
