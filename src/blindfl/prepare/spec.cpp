#include "blindfl/prepare/spec.h"

namespace blindfl::prepare {

std::span<const Name<FileFormat>> names_of(FileFormat /*format*/) {
  static constexpr Name<FileFormat> kNames[] = {
      {"auto", FileFormat::kAuto}, {"csv", FileFormat::kCsv}, {"libsvm", FileFormat::kLibsvm}};
  return kNames;
}

std::span<const Name<Transform>> names_of(Transform /*transform*/) {
  static constexpr Name<Transform> kNames[] = {
      {"none", Transform::kNone}, {"standardise", Transform::kStandardise}, {"log", Transform::kLog}};
  return kNames;
}

}  // namespace blindfl::prepare
