#pragma once

#include <array>

#include "blindfl/net/step.h"

// What sessions send, and outputs that are opened.

namespace blindfl::protocol::steps {

inline constexpr net::StepInfo kPublicKey{1, net::Protection::kPublic, "public key", "the sender's public key",
                                          "nothing"};
inline constexpr net::StepInfo kAgreement{2, net::Protection::kPublic, "agreement",
                                          "a digest of public settings that both parties must share", "nothing"};
inline constexpr net::StepInfo kHello{
    3,         net::Protection::kPublic,
    "hello",   "the sender's version, role and a random number, and a digest of scheme and parameters",
    "nothing", /*names_session=*/true};
inline constexpr net::StepInfo kSettings{4, net::Protection::kPublic, "settings",
                                         "public settings in words, sent only where the parties disagree about them",
                                         "nothing secret"};
inline constexpr net::StepInfo kOutputShare{12, net::Protection::kShare, "output share", "A's share of Z, rounded",
                                            "Z, rounded, to B"};

inline constexpr std::array<net::Step, 5> kOfSession = {kPublicKey, kAgreement, kHello, kSettings, kOutputShare};

}  // namespace blindfl::protocol::steps
