#include "blindfl/app/job/domain_names.h"

namespace blindfl {

using app::job::Name;

std::span<const Name<Party>> names_of(Party /*party*/) {
  static constexpr Name<Party> kNames[] = {{"a", Party::kA}, {"b", Party::kB}};
  return kNames;
}

std::span<const Name<Activation>> names_of(Activation /*activation*/) {
  static constexpr Name<Activation> kNames[] = {{"relu", Activation::kRelu}, {"tanh", Activation::kTanh}};
  return kNames;
}

std::span<const Name<Pooling>> names_of(Pooling /*pooling*/) {
  static constexpr Name<Pooling> kNames[] = {{"sum", Pooling::kSum}, {"mean", Pooling::kMean}};
  return kNames;
}

std::span<const Name<data::ColumnKind>> data::names_of(ColumnKind /*kind*/) {
  static constexpr Name<ColumnKind> kNames[] = {{"numeric", ColumnKind::kNumeric},
                                                {"categorical", ColumnKind::kCategory},
                                                {"multi", ColumnKind::kCategories},
                                                {"ignore", ColumnKind::kIgnored}};
  return kNames;
}

std::span<const Name<data::Missing>> data::names_of(Missing /*missing*/) {
  static constexpr Name<Missing> kNames[] = {
      {"mean", Missing::kMean}, {"zero", Missing::kZero}, {"error", Missing::kError}, {"constant", Missing::kConstant}};
  return kNames;
}

std::span<const Name<prepare::FileFormat>> prepare::names_of(FileFormat /*format*/) {
  static constexpr Name<FileFormat> kNames[] = {
      {"auto", FileFormat::kAuto}, {"csv", FileFormat::kCsv}, {"libsvm", FileFormat::kLibsvm}};
  return kNames;
}

std::span<const Name<prepare::Transform>> prepare::names_of(Transform /*transform*/) {
  static constexpr Name<Transform> kNames[] = {
      {"none", Transform::kNone}, {"standardise", Transform::kStandardise}, {"log", Transform::kLog}};
  return kNames;
}

std::span<const Name<protocol::Top>> protocol::names_of(Top /*top*/) {
  static constexpr Name<Top> kNames[] = {{"open", Top::kOpen}, {"shared", Top::kShared}};
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
