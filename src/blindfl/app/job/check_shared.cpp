#include <algorithm>
#include <set>

#include "blindfl/app/job/check.h"
#include "blindfl/base/error.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::app::job {

namespace {

constexpr double kMostKeptBack = 0.95;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void check_model(const Model& model, const Given& given) {
  const std::string key = "shared.model.classes";
  const std::string kind = Value<ModelKind>::write(model.kind);
  check(model.kind != ModelKind::kMlr || model.classes.has_value(), given, key,
        "is missing: say how many classes there are, or take lr for two");
  check(model.kind != ModelKind::kLr || model.class_count() == 2, given, key, "lr has two classes; take mlr for more");
  check(!has_factors(model.kind) || model.class_count() == 2, given, key, kind,
        " gives one score, for two classes; take mlr or mlp for more, or wdl or dlrm with embeddings");
  check(is_classifier(model.kind) || !model.classes.has_value(), given, key, kind,
        " predicts a number, and has no classes; leave it out");
  check(model.output_scale <= protocol::kFinestOutputScale || model.fine_outputs_reveal_features, given,
        "shared.model.output_scale", "outputs at ", model.output_scale,
        " fractional bits give A's features away to B by lattice reduction; take ", protocol::kFinestOutputScale,
        " at most, or set fine_outputs_reveal_features beside it if A's features are no secret");
}

void check_schedule(const Training& training, const Given& given) {
  std::size_t before = 0;
  const bool by_epoch = !training.schedule.empty() && training.schedule.front().epoch.has_value();
  for (std::size_t i = 0; i < training.schedule.size(); ++i) {
    const RateChange& change = training.schedule[i];
    const std::string key = "shared.training.schedule[" + std::to_string(i) + "]";
    check(change.epoch.has_value() != change.step.has_value(), given, key, "say either epoch or step");
    check(change.epoch.has_value() == by_epoch, given, key, "say epoch in all changes, or step in all of them");
    const std::size_t now = by_epoch ? change.epoch.value_or(0) : change.step.value_or(0);
    check(now > before, given, key, "must come after the change before it");
    check(!by_epoch || !training.epochs || now <= *training.epochs, given, key, "there are only ",
          training.epochs.value_or(0), " epochs");
    before = now;
  }
}

void check_training(const Training& training, const Given& given) {
  check_schedule(training, given);
  check(training.early_stopping.patience == 0 || training.validation_share > 0, given,
        "shared.training.early_stopping.patience",
        "needs rows to measure on; set shared.training.validation_share to 0.1, for instance");
  const double kept_back = training.validation_share + training.test_share.value_or(0);
  check(kept_back <= kMostKeptBack, given, "shared.training.test_share", "with validation_share, makes ", kept_back,
        " of the rows, and leaves too few to train on; take at most ", kMostKeptBack, " together");
  check_encoding(training.derivative, "shared.training.derivative", given);
}

/// Whoever asks for 128 bits does not get a scheme with fewer by choosing it. (What is allowed only, longer keys stand
/// for: see Scheme::allowed_schemes.)
void check_security(const Scheme& scheme, const std::string& name, const std::string& option, const Given& given) {
  const he::SchemeEntry& entry = he::scheme_entry(name);
  check(scheme.security == Security::k112 || entry.security_bits >= 128, given, option, name, " has ", entry.keys,
        ", that is ", entry.security_bits, " bits of security, and shared.scheme.security asks for 128; say ",
        he::at_security(entry, 128).name);
}

void check_names(const Scheme& scheme, const Given& given) {
  const std::string key = "shared.scheme.allowed";
  const auto& allowed = scheme.allowed;
  check(std::set<std::string>(allowed.begin(), allowed.end()).size() == allowed.size(), given, key,
        "names a scheme twice");
  // In a session they would have the same name.
  std::set<std::string_view> families;
  for (const std::string& name : allowed) {
    const he::SchemeEntry& entry = he::scheme_entry(name);
    check(families.insert(entry.family).second, given, key, "has ", entry.title,
          " with two sizes of keys; a job has one of them");
  }
  const auto check_allowed = [&](const std::string& name, const std::string& option) {
    check_security(scheme, name, option, given);
    check(contains(scheme.allowed_schemes(), name), given, option, name, " is not in shared.scheme.allowed");
  };
  check_allowed(scheme.default_scheme, "shared.scheme.default");
  if (scheme.features_a) check_allowed(*scheme.features_a, "shared.scheme.features_a");
  if (scheme.features_b) check_allowed(*scheme.features_b, "shared.scheme.features_b");
  if (scheme.tables && scheme.tables != protocol::kByOt) check_allowed(*scheme.tables, "shared.scheme.tables");
}

void check_encrypted_update(const Shared& shared, const Given& given) {
  const auto updates = [](const std::string& name) { return he::scheme_entry(name).updates; };
  const std::string_view one_that_does = std::ranges::find_if(he::all_schemes(), &he::SchemeEntry::updates)->family;
  const std::string key = "shared.scheme.update";
  check(std::ranges::any_of(shared.scheme.allowed, updates), given, key, "updates under encryption need ",
        one_that_does, " in shared.scheme.allowed");
  // Whatever is left open, the planner fills in.
  const auto& of_a = shared.scheme.features_a;
  check(of_a ? updates(*of_a) : shared.scheme.automatic || updates(shared.scheme.default_scheme), given, key,
        "updates under encryption need ", one_that_does, " for A's features; set shared.scheme.features_a to it");
  const auto& of_tables = shared.scheme.tables;
  check(!of_tables || (of_tables != protocol::kByOt && updates(*of_tables)), given, key,
        "updates under encryption need ", one_that_does, " for tables, too; leave shared.scheme.tables out");
  check(shared.training.weight_decay == 0, given, key,
        "updates under encryption have no weight decay; set shared.training.weight_decay to 0");
}

}  // namespace

void check_encoding(const FixedPointSpec& encoding, const std::string& key, const Given& given) {
  try {
    (void)FixedPoint(encoding);
  } catch (const InvalidArgument&) {
    check(false, given, key, "largest times 2^scale must be between 1 and 2^62; change one of the two");
  }
}

void check_shared(const Shared& shared, const Given& given) {
  check_model(shared.model, given);
  check_training(shared.training, given);
  check_names(shared.scheme, given);
  if (shared.scheme.update == protocol::Update::kEncrypted) check_encrypted_update(shared, given);
  check_shared_top(shared, nullptr, given);
}

}  // namespace blindfl::app::job
