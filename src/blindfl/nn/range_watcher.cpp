#include "blindfl/nn/range_watcher.h"

#include "blindfl/nn/all_checks.h"

namespace blindfl::nn {

namespace {

template <class Watcher, class Module, class Visit>
void for_each_watcher(Module& model, Visit&& visit) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto* watcher = dynamic_cast<Watcher*>(module.get())) visit(*watcher);
  }
}

}  // namespace

void check_ranges(FederatedModule& model) {
  AllChecks checks;
  for_each_watcher<RangeWatcher>(model, [&](RangeWatcher& watcher) { checks.run([&] { watcher.check_ranges(); }); });
  checks.finish();
}

bool watches_ranges(const FederatedModule& model) {
  bool any = false;
  for_each_watcher<const RangeWatcher>(model, [&](const RangeWatcher&) { any = true; });
  return any;
}

}  // namespace blindfl::nn
