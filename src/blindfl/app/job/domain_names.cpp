#include "blindfl/app/job/domain_names.h"

namespace blindfl {

using app::job::Name;

std::span<const Name<Party>> names_of(Party /*party*/) {
  static constexpr Name<Party> kNames[] = {{"a", Party::kA}, {"b", Party::kB}};
  return kNames;
}

std::span<const Name<Pooling>> names_of(Pooling /*pooling*/) {
  static constexpr Name<Pooling> kNames[] = {{"sum", Pooling::kSum}, {"mean", Pooling::kMean}};
  return kNames;
}

std::span<const Name<Activation>> names_of(Activation /*activation*/) {
  static constexpr Name<Activation> kNames[] = {{"relu", Activation::kRelu}, {"tanh", Activation::kTanh}};
  return kNames;
}

std::span<const Name<run::Matching>> run::names_of(Matching /*matching*/) {
  static constexpr Name<Matching> kNames[] = {{"aligned", Matching::kAligned},
                                              {"intersection", Matching::kIntersection},
                                              {"only_b", Matching::kOnlyB},
                                              {"union", Matching::kUnion}};
  return kNames;
}

}  // namespace blindfl
