#include "blindfl/app/init/shared_draft.h"

#include <algorithm>
#include <ostream>

#include "blindfl/app/init/link_draft.h"
#include "blindfl/app/init/one_hot_hint.h"
#include "blindfl/app/job/check.h"
#include "blindfl/base/error.h"

namespace blindfl::app::init {

namespace {

using job::AlignmentMode;
using job::ModelKind;

constexpr std::int64_t kMostDraftedClasses = 10000;

template <class E>
E parse_choice(const std::string& word, std::string_view flag) {
  std::string all;
  for (const job::Name<E>& each : names_of(E{})) {
    if (each.name == word) return each.value;
    all.append(all.empty() ? "" : ", ").append(each.name);
  }
  fail<UsageError>("--", flag, ": there is no '", word, "', only: ", all);
}

const ColumnProfile* drafted_labels(std::span<const PartyDraft> drafts) {
  for (const PartyDraft& draft : drafts) {
    if (draft.labels() != nullptr) return draft.labels();
  }
  return nullptr;
}

/// A sees no labels: what suits its columns, until B says what it is.
ModelGuess model_for(std::span<const PartyDraft> drafts) {
  const bool has_categories = std::ranges::any_of(drafts, &PartyDraft::has_categories);
  const ColumnProfile* labels = drafted_labels(drafts);
  if (labels != nullptr) return guess_model(*labels, has_categories);
  return {has_categories ? ModelKind::kWdl : ModelKind::kLr, std::nullopt, "B has the labels, and knows better"};
}

/// What a sample of the labels cannot be.
void check_drafted_labels(ModelKind kind, const ColumnProfile& labels) {
  const std::string name = job::Value<ModelKind>::write(kind);
  const std::size_t distinct = labels.distinct();
  require<UsageError>((kind != ModelKind::kLr && !job::has_factors(kind)) || distinct <= 2, "--model ", name,
                      " is for two classes, and the labels have ", distinct,
                      "; take mlr, or linear or poisson for numbers");
  require<UsageError>(job::is_classifier(kind) || labels.is_numeric(), "--model ", name,
                      " is for numbers, and the labels are words; take lr or mlr");
  require<UsageError>(kind != ModelKind::kPoisson || (labels.is_whole() && labels.least() >= 0), "--model ", name,
                      " is for counts, and some labels are none; take linear");
  require<UsageError>(!job::is_classifier(kind) || !labels.is_numeric() || labels.is_whole(), "--model ", name,
                      " is for classes, and the labels are numbers with fractions; take linear");
}

std::optional<std::size_t> choose_classes(ModelKind kind, const ColumnProfile* labels, const Arguments& arguments,
                                          Questions& questions) {
  if (arguments.has("classes")) return static_cast<std::size_t>(arguments.integer("classes", 2, kMostDraftedClasses));
  if (!job::is_classifier(kind) || kind == ModelKind::kLr || job::has_factors(kind)) return std::nullopt;
  if (labels != nullptr) {
    const std::size_t distinct = labels->distinct();
    require<UsageError>(distinct <= static_cast<std::size_t>(kMostDraftedClasses), "--label: there are ", distinct,
                        " different labels, too many to be classes");
    return kind == ModelKind::kMlr || distinct > 2 ? std::optional(distinct) : std::nullopt;
  }
  if (kind != ModelKind::kMlr) return std::nullopt;
  const auto check = [](const std::string& answer) {
    const bool is_number =
        answer.size() <= 5 && std::ranges::all_of(answer, [](char c) { return c >= '0' && c <= '9'; });
    require<UsageError>(is_number && std::stoll(answer) >= 2 && std::stoll(answer) <= kMostDraftedClasses,
                        "--classes needs a whole number from 2 to ", kMostDraftedClasses, ", not '", answer, "'");
  };
  return std::stoull(questions.ask("classes", "How many classes there are, which B knows", std::nullopt, check));
}

/// That rows are in the same order is never guessed: if they are not, a model of nonsense comes out.
AlignmentMode choose_alignment(std::span<const PartyDraft> drafts, const Arguments& arguments, Questions& questions) {
  const bool has_ids = std::ranges::all_of(drafts, [](const PartyDraft& draft) { return draft.id.has_value(); });
  const auto check = [&](const std::string& answer) {
    const auto mode = parse_choice<AlignmentMode>(answer, "align");
    require<UsageError>(
        mode == AlignmentMode::kAligned || has_ids, "--align ", answer,
        " needs a column with ids; say --id, or --align aligned if the rows of both files are in the same "
        "order");
  };
  std::optional<std::string> guess;
  if (has_ids) guess = job::Value<AlignmentMode>::write(AlignmentMode::kIntersection);
  const std::string_view question =
      has_ids ? "Which rows belong together: aligned, intersection, only_b or union"
              : "Which rows belong together: there is no id, so write aligned if row i of both files is about the same "
                "person; if it is not, the model is nonsense";
  return parse_choice<AlignmentMode>(questions.said_or_asked(arguments, "align", question, guess, check), "align");
}

/// A shared top unless the command says otherwise, or the model or its rows cannot be had with one: A has to accept
/// that, and so it is said, on the screen and in the file.
void choose_top(SharedDraft& draft, const Arguments& arguments, std::ostream& out) {
  protocol::Top& top = draft.shared.model.top;
  const bool several = names_several(arguments);
  if (arguments.has("top")) {
    top = parse_choice<protocol::Top>(arguments.text("top"), "top");
    require<UsageError>(!several || top == protocol::Top::kOpen,
                        "--top shared is between B and one A; with several it is open, which each of them must accept");
    return;
  }
  if (several) {
    top = protocol::Top::kOpen;
    draft.remarks["shared.model.top"] =
        "Written by `blindfl init`: a shared top is between B and one A. Each A must accept an open one.";
    out << "shared.model.top is open, which each A must accept: a shared top is between B and one A.\n";
    return;
  }
  const std::optional<job::TopRefusal> refusal = job::refused_by_shared_top(draft.shared, nullptr);
  if (!refusal) return;
  top = protocol::Top::kOpen;
  draft.remarks["shared.model.top"] =
      "Written by `blindfl init`, because a shared top is refused (" + refusal->key + "). A must accept an open one.";
  out << "shared.model.top is open, which A must accept, because a shared top is refused (" << refusal->key
      << "): " << refusal->words << ".\n";
}

/// Under a shared top A takes part in weighting rows, so it learns that there are weights.
void announce_weights(SharedDraft& draft, std::span<const PartyDraft> drafts, std::ostream& out) {
  const bool weighted = std::ranges::any_of(drafts, [](const PartyDraft& party) { return party.weight.has_value(); });
  if (!weighted || !draft.shared.model.shared_top()) return;
  draft.shared.training.row_weights = true;
  draft.remarks["shared.training.row_weights"] =
      "Written by `blindfl init`: A learns that B's rows have weights, and not which.";
  out << "shared.training.row_weights is true, because B's rows have weights: A learns that they do, and not which.\n";
}

/// What follows from the labels and A will see. Each is said, on the screen and in the file.
void take_from_labels(SharedDraft& draft, const ColumnProfile& labels, const Arguments& arguments, std::ostream& out) {
  job::Shared& shared = draft.shared;
  if (shared.model.classes && !arguments.has("classes")) {
    draft.remarks["shared.model.classes"] = "Counted in B's labels by `blindfl init`: A learns it.";
    out << "shared.model.classes is " << *shared.model.classes << ", counted in the labels: A learns it.\n";
  }
  double& largest = shared.training.derivative.largest;
  const double needed = largest_derivative(shared.model.kind, labels);
  if (needed <= largest) return;
  largest = needed;
  draft.remarks["shared.training.derivative.largest"] =
      "Follows from the largest of B's labels (`blindfl init`): A learns how large they are, to a power of two. Any "
      "larger "
      "number hides that, and costs speed; labels divided by a constant need no such bound.";
  out << "shared.training.derivative.largest is " << needed
      << ", which follows from the largest label: A learns this bound. A larger one tells less; labels divided by a "
         "constant train better, and need none.\n";
}

void check_peers_section(const job::Shared& shared, std::span<const PartyDraft> drafts, const Arguments& arguments) {
  for (const std::string_view flag : {"model", "top", "classes", "align"}) {
    require<UsageError>(!arguments.has(flag), "--", flag, " is what --shared-from says; leave out one of them");
  }
  const ColumnProfile* labels = drafted_labels(drafts);
  if (labels != nullptr) check_drafted_labels(shared.model.kind, *labels);
  for (const PartyDraft& draft : drafts) {
    require<UsageError>(shared.alignment.mode == AlignmentMode::kAligned || draft.id,
                        "--id is missing: the peer's file "
                        "aligns rows by ids");
  }
}

}  // namespace

SharedDraft draft_shared(std::span<const PartyDraft> drafts, const Arguments& arguments, Questions& questions,
                         std::ostream& out) {
  SharedDraft draft;
  job::Shared& shared = draft.shared;
  const ColumnProfile* labels = drafted_labels(drafts);
  if (arguments.has("shared-from")) {
    shared = job::load_shared(arguments.text("shared-from"));
    check_peers_section(shared, drafts, arguments);
    return draft;
  }
  const ModelGuess guess = model_for(drafts);
  const std::string guessed = job::Value<ModelKind>::write(guess.kind);
  const auto check = [&](const std::string& answer) {
    const auto kind = parse_choice<ModelKind>(answer, "model");
    if (labels != nullptr) check_drafted_labels(kind, *labels);
  };
  const std::string answer = questions.said_or_asked(
      arguments, "model", "Model: lr, mlr, linear, poisson, mlp, wdl, dlrm, fm or deepfm", guessed, check);
  shared.model.kind = parse_choice<ModelKind>(answer, "model");
  if (!arguments.has("model")) out << "model " << answer << (answer == guessed ? ": " + guess.why : "") << '\n';
  shared.model.classes = choose_classes(shared.model.kind, labels, arguments, questions);
  if (labels != nullptr) take_from_labels(draft, *labels, arguments, out);
  out << one_hot_hint(drafts, shared);
  shared.alignment.mode = choose_alignment(drafts, arguments, questions);
  choose_top(draft, arguments, out);
  announce_weights(draft, drafts, out);
  return draft;
}

}  // namespace blindfl::app::init
