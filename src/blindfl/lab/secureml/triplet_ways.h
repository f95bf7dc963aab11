#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "blindfl/lab/secureml/triplets.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::lab::secureml {

/// Who makes triplets, and how.
enum class Triplets {
  kObliviousTransfer,  ///< the parties, from random OTs
  kLattice,            ///< the parties, by private products of the lattice scheme
  kThirdParty,         ///< somebody whom both trust not to talk to the other: "client-aided"
};
/// "oblivious transfer", "lattice" or "third party".
[[nodiscard]] std::string_view name_of(Triplets triplets);

/// This party's. Both make them at the same point, for at most so many values of all their products; `third_party` is
/// this party's channel to it. Both must outlive it. Throws InvalidArgument if there should be such a channel, and
/// there is none.
[[nodiscard]] std::unique_ptr<TripletSource> make_triplets(protocol::Session& session, Triplets triplets,
                                                           net::Channel* third_party, std::uint64_t run_values);
/// There will be no more of them: a third party is told.
void finish(TripletSource& triplets);

}  // namespace blindfl::lab::secureml
