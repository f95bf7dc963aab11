#include "blindfl/lab/secureml/triplet_ways.h"

#include "blindfl/lab/secureml/dealt_triplets.h"
#include "blindfl/lab/secureml/lattice_triplets.h"
#include "blindfl/lab/secureml/oblivious_triplets.h"

namespace blindfl::lab::secureml {

std::string_view name_of(Triplets triplets) {
  switch (triplets) {
    case Triplets::kObliviousTransfer:
      return "oblivious transfer";
    case Triplets::kLattice:
      return "lattice";
    case Triplets::kThirdParty:
      break;
  }
  return "third party";
}

std::unique_ptr<TripletSource> make_triplets(protocol::Session& session, Triplets triplets, net::Channel* third_party,
                                             std::uint64_t run_values) {
  switch (triplets) {
    case Triplets::kObliviousTransfer:
      return std::make_unique<ObliviousTriplets>(session);
    case Triplets::kLattice:
      return std::make_unique<LatticeTriplets>(session, run_values);
    case Triplets::kThirdParty:
      break;
  }
  require<InvalidArgument>(third_party != nullptr, "triplets of a third party: there is no channel to it");
  return std::make_unique<DealtTriplets>(session.party(), *third_party);
}

void finish(TripletSource& triplets) {
  if (auto* dealt = dynamic_cast<DealtTriplets*>(&triplets)) dealt->finish();
}

}  // namespace blindfl::lab::secureml
