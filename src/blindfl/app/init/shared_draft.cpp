#include "blindfl/app/init/shared_draft.h"

#include <algorithm>
#include <ostream>

#include "blindfl/app/init/one_hot_hint.h"
#include "blindfl/base/error.h"

namespace blindfl::app::init {

namespace {

using job::AlignmentMode;
using job::ModelKind;

constexpr std::int64_t kMostClasses = 10000;
constexpr std::string_view kLocalAddress = "127.0.0.1:7000";

template <class E>
E parse_choice(const std::string& word, std::string_view flag) {
  std::string all;
  for (const job::Name<E>& each : job::names_of(E{})) {
    if (each.name == word) return each.value;
    all.append(all.empty() ? "" : ", ").append(each.name);
  }
  fail<UsageError>("--", flag, ": there is no '", word, "', only: ", all);
}

const ColumnProfile* labels_of(std::span<const PartyDraft> drafts) {
  for (const PartyDraft& draft : drafts) {
    if (draft.labels() != nullptr) return draft.labels();
  }
  return nullptr;
}

/// A sees no labels: what suits its columns, until B says what it is.
ModelGuess model_for(std::span<const PartyDraft> drafts) {
  const bool has_categories = std::ranges::any_of(drafts, &PartyDraft::has_categories);
  const ColumnProfile* labels = labels_of(drafts);
  if (labels != nullptr) return guess_model(*labels, has_categories);
  return {has_categories ? ModelKind::kWdl : ModelKind::kLr, std::nullopt, "B has the labels, and knows better"};
}

/// What a sample of the labels cannot be.
void check_labels(ModelKind kind, const ColumnProfile& labels) {
  const std::string name = job::Value<ModelKind>::write(kind);
  const std::size_t distinct = labels.distinct();
  require<UsageError>(kind != ModelKind::kLr || distinct <= 2, "--model lr is for two classes, and the labels have ",
                      distinct, "; take mlr, or linear or poisson for numbers");
  require<UsageError>(job::is_classifier(kind) || labels.is_numeric(), "--model ", name,
                      " is for numbers, and the labels are words; take lr or mlr");
  require<UsageError>(kind != ModelKind::kPoisson || (labels.is_whole() && labels.least() >= 0), "--model ", name,
                      " is for counts, and some labels are none; take linear");
  require<UsageError>(!job::is_classifier(kind) || !labels.is_numeric() || labels.is_whole(), "--model ", name,
                      " is for classes, and the labels are numbers with fractions; take linear");
}

std::optional<std::size_t> choose_classes(ModelKind kind, const ColumnProfile* labels, const Arguments& arguments,
                                          Questions& questions) {
  if (arguments.has("classes")) return static_cast<std::size_t>(arguments.integer("classes", 2, kMostClasses));
  if (!job::is_classifier(kind) || kind == ModelKind::kLr) return std::nullopt;
  if (labels != nullptr) {
    const std::size_t distinct = labels->distinct();
    require<UsageError>(distinct <= static_cast<std::size_t>(kMostClasses), "--label: there are ", distinct,
                        " different labels, too many to be classes");
    return kind == ModelKind::kMlr || distinct > 2 ? std::optional(distinct) : std::nullopt;
  }
  if (kind != ModelKind::kMlr) return std::nullopt;
  const std::string answer = questions.ask("classes", "How many classes there are, which B knows", std::nullopt);
  require<UsageError>(answer.size() <= 5 && std::ranges::all_of(answer, [](char c) { return c >= '0' && c <= '9'; }) &&
                          std::stoll(answer) >= 2 && std::stoll(answer) <= kMostClasses,
                      "--classes needs a whole number from 2 to ", kMostClasses, ", not '", answer, "'");
  return static_cast<std::size_t>(std::stoll(answer));
}

AlignmentMode choose_alignment(std::span<const PartyDraft> drafts, const Arguments& arguments, Questions& questions) {
  const bool has_ids = std::ranges::all_of(drafts, [](const PartyDraft& draft) { return draft.id.has_value(); });
  const auto guess = has_ids ? AlignmentMode::kIntersection : AlignmentMode::kAligned;
  const std::string answer =
      arguments.has("align")
          ? arguments.text("align")
          : questions.ask("align", "Which rows belong together: aligned, intersection, only_b or union",
                          job::Value<AlignmentMode>::write(guess));
  const auto mode = parse_choice<AlignmentMode>(answer, "align");
  require<UsageError>(
      mode == AlignmentMode::kAligned || has_ids, "--align ", answer,
      " needs a column with ids; say --id, or --align aligned if the rows of both files are in the same "
      "order");
  return mode;
}

void check_peers_section(const job::Shared& shared, std::span<const PartyDraft> drafts, const Arguments& arguments) {
  for (const std::string_view flag : {"model", "classes", "align"}) {
    require<UsageError>(!arguments.has(flag), "--", flag, " is what --shared-from says; leave out one of them");
  }
  if (const ColumnProfile* labels = labels_of(drafts); labels != nullptr) check_labels(shared.model.kind, *labels);
  for (const PartyDraft& draft : drafts) {
    require<UsageError>(shared.alignment.mode == AlignmentMode::kAligned || draft.id,
                        "--id is missing: the peer's file "
                        "aligns rows by ids");
  }
}

}  // namespace

job::Shared draft_shared(std::span<const PartyDraft> drafts, const Arguments& arguments, Questions& questions,
                         std::ostream& out) {
  if (arguments.has("shared-from")) {
    job::Shared shared = job::load_shared(arguments.text("shared-from"));
    check_peers_section(shared, drafts, arguments);
    return shared;
  }
  job::Shared shared;
  const ModelGuess guess = model_for(drafts);
  const std::string guessed = job::Value<ModelKind>::write(guess.kind);
  const std::string answer = arguments.has("model")
                                 ? arguments.text("model")
                                 : questions.ask("model", "Model: lr, mlr, linear, poisson, mlp, wdl or dlrm", guessed);
  shared.model.kind = parse_choice<ModelKind>(answer, "model");
  if (!arguments.has("model")) out << "model " << answer << (answer == guessed ? ": " + guess.why : "") << '\n';
  const ColumnProfile* labels = labels_of(drafts);
  if (labels != nullptr) check_labels(shared.model.kind, *labels);
  shared.model.classes = choose_classes(shared.model.kind, labels, arguments, questions);
  if (labels != nullptr) {
    double& largest = shared.training.derivative.largest;
    const double needed = largest_derivative(shared.model.kind, *labels);
    if (needed > largest) {
      largest = needed;
      out << "Labels are large: shared.training.derivative.largest is " << needed
          << ". A learns this bound; labels divided by a constant train better.\n";
    }
  }
  out << one_hot_hint(drafts, shared);
  shared.alignment.mode = choose_alignment(drafts, arguments, questions);
  return shared;
}

job::Link draft_link(job::PartyName party, const std::filesystem::path& folder, const Arguments& arguments,
                     Questions& questions) {
  const bool is_a = party == job::PartyName::kA;
  require<UsageError>(!arguments.has("listen") || !arguments.has("dial"),
                      "--listen and --dial exclude each other: one party waits, and the other calls");
  job::Link link;
  if (arguments.has("listen")) {
    link.listen = arguments.text("listen");
  } else if (arguments.has("dial")) {
    link.dial = arguments.text("dial");
  } else if (is_a) {
    link.dial = questions.ask("dial", "Address where the peer listens, as HOST:PORT (or give --listen)", std::nullopt);
  } else {
    link.listen = questions.ask("listen", "Address to wait for the peer at, as HOST:PORT", "0.0.0.0:7000");
  }
  link.plaintext = arguments.has("plaintext");
  const std::string me = is_a ? "a" : "b";
  const auto file = [&](std::string_view flag, std::string_view question, const std::string& name) {
    require<UsageError>(!link.plaintext || !arguments.has(flag), "--plaintext uses no certificates: leave out --",
                        flag);
    if (link.plaintext) return std::optional<std::filesystem::path>();
    const std::string guess = (folder / "keys" / name).string();
    const std::string answer = arguments.has(flag) ? arguments.text(flag) : questions.ask(flag, question, guess);
    if (answer == guess) return std::optional(std::filesystem::path("keys") / name);
    return std::optional(seen_from(folder, answer));
  };
  link.certificate = file("certificate", "This party's certificate", me + ".crt");
  link.key = file("key", "Its private key", me + ".key");
  link.peer = file("peer", "The peer's certificate", std::string(is_a ? "b" : "a") + ".crt");
  return link;
}

job::Link local_link(job::PartyName party) {
  job::Link link;
  (party == job::PartyName::kA ? link.dial : link.listen) = kLocalAddress;
  link.plaintext = true;
  return link;
}

}  // namespace blindfl::app::init
