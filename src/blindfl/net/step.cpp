#include "blindfl/net/step.h"

#include <algorithm>

#include "blindfl/base/error.h"

namespace blindfl::net {

std::string_view name_of(Protection protection) {
  switch (protection) {
    case Protection::kPublic:
      return "public";
    case Protection::kEncrypted:
      return "encrypted";
    case Protection::kMasked:
      return "masked";
    case Protection::kShare:
      return "share";
    case Protection::kBlinded:
      return "blinded";
    case Protection::kPadded:
      return "padded";
  }
  fail<InvalidArgument>("there is no protection number ", static_cast<unsigned>(protection));
}

const StepInfo& describe(Step step) {
  require<InvalidArgument>(step.info() != nullptr, "there is no step number ", step.number());
  return *step.info();
}

std::string_view name_of(Step step) {
  return step.info() != nullptr ? step.info()->name : "unknown";
}

StepTable::StepTable(std::initializer_list<std::span<const Step>> rooms) {
  for (const std::span<const Step> room : rooms) {
    for (const Step step : room) {
      const StepInfo& info = describe(step);
      require<InvalidArgument>(known(step).info() == nullptr && find(info.name) == nullptr, "step ", info.number, ", '",
                               info.name, "', has the number or the name of another");
      steps_.push_back(step);
    }
  }
  std::ranges::sort(steps_);
}

const StepInfo* StepTable::find(std::string_view name) const {
  const auto found = std::ranges::find(steps_, name, [](const Step& step) { return name_of(step); });
  return found == steps_.end() ? nullptr : found->info();
}

Step StepTable::known(Step step) const {
  const auto found = std::ranges::find(steps_, step);
  return found == steps_.end() ? Step::numbered(step.number()) : *found;
}

}  // namespace blindfl::net
