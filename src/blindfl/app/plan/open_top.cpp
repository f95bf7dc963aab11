#include "blindfl/app/plan/open_top.h"

#include <utility>

#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/number_text.h"
#include "blindfl/run/several_as.h"

namespace blindfl::app {

namespace {

/// Up to so many scores are known to tell (lab/attacks/scores): 29 to 71 % of the rows with 6.
constexpr std::size_t kFewFeatures = 8;

std::size_t categories_of(const PartyShape& shape) {
  std::size_t all = 0;
  for (const CategoryField& field : shape.fields) all += field.categories;
  return all;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(text.empty() ? "" : " ").append(line);
  return text;
}

/// "64 outputs for 54 features of A", of the layer that decides about (a).
std::string counts_of(const run::DisclosureFacts& facts) {
  const auto words = [](const run::LayerFacts& layer, const char* one, const char* many) {
    return plainly_counted(layer.out, "output", "outputs") + " for " + plainly_counted(layer.in_a, one, many) + " of A";
  };
  const bool has_numbers = facts.numeric_layer.in_a > 0;
  const bool has_categories = facts.category_layer.in_a > 0;
  const auto spans = [](const run::LayerFacts& layer) { return layer.in_a > 0 && layer.out >= layer.in_a; };
  if (has_categories && (!has_numbers || (spans(facts.category_layer) && !spans(facts.numeric_layer)))) {
    return words(facts.category_layer, "category", "categories");
  }
  return words(facts.numeric_layer, "feature", "features");
}

/// Whether A's job accepts what these facts open to B.
bool accepts(const job::Own& own, const run::DisclosureFacts& facts) {
  if (!facts.shared_top) return own.accept == job::Acceptance::kOpenTop;
  return facts.score_bits <= job::kCoarseScoreBits || own.accept == job::Acceptance::kFineScores;
}

}  // namespace

run::DisclosureFacts open_top_facts(const job::Shared& shared, const ShapesOfA& a, const std::optional<PartyShape>& b,
                                    std::optional<std::size_t> place) {
  const SourceWidths widths = source_widths(shared.model);
  const PartyShape all = a.together();
  const bool is_one_of_several = place && a.several();
  const PartyShape& own = is_one_of_several ? a[*place] : all;
  run::DisclosureFacts facts;
  facts.as = a.size();
  if (is_one_of_several) facts.own_name = a.name(*place);
  facts.numeric = all.numeric > 0 || (b && b->numeric > 0);
  facts.categorical = has_embeddings(shared.model.kind);
  facts.numeric_layer = {.in_a = own.numeric, .out = widths.numeric};
  facts.category_layer = {.in_a = categories_of(own), .out = widths.categories};
  if (b) {
    facts.b_has_features = b->numeric > 0 || !b->fields.empty();
    facts.numeric_layer.in_b = b->numeric > 0;
    facts.category_layer.in_b = !b->fields.empty();
  }
  if (a.several()) {
    facts.numeric_layer.of.emplace();
    facts.category_layer.of.emplace();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].numeric > 0) facts.numeric_layer.of->push_back(a.name(i));
      if (!a[i].fields.empty()) facts.category_layer.of->push_back(a.name(i));
    }
  }
  facts.openings = shared.training.epochs.value_or(kFewestEpochs);
  facts.output_scale = shared.model.output_scale;
  facts.shared_top = shared.model.shared_top();
  facts.score_bits = shared.model.score_bits;
  facts.opens_mean_loss = shared.training.validation_share > 0;
  facts.opens_accuracy = facts.opens_mean_loss && job::is_classifier(shared.model.kind);
  return facts;
}

run::DisclosureFacts open_top_facts(const job::Job& job, const PartyShape& own) {
  run::DisclosureFacts facts = open_top_facts(job.shared, own, std::nullopt);
  if (job.own.link.several_as()) {
    facts.as = job.own.link.names_of_as().size();
    facts.own_name = job.own.link.names_of_as().front();
  }
  return facts;
}

std::string open_top_line(const run::DisclosureFacts& facts, Opens opens) {
  const run::OpenTopReach reach = run::open_top_reach(facts);
  std::string line = std::string("(a) ") + (reach.span ? "applies: " : "is not known to apply: ") + counts_of(facts) +
                     (reach.span ? ", so one scoring is enough; " : "; ");
  if (opens == Opens::kTrainingRows && reach.differences) {
    line += "(b) applies: the same rows are opened in at least " + std::to_string(facts.openings) + " epochs";
  } else {
    line += "(b) applies to rows that are opened again under other weights, as those that were trained on";
  }
  if (reach.outright) line += "; B has no features: Z is A's part (X_A W_A) outright";
  if (reach.may_be_outright) line += "; if B turns out to have no features, Z is A's part (X_A W_A) outright";
  for (const std::string& words : run::lone_parts(facts)) line += "; " + words;
  return line;
}

ConsentError::ConsentError(std::vector<std::string> lines)
    : ConfigError(joined_lines(lines)), lines_(std::move(lines)) {}

void require_consent(const job::Own& own, const run::DisclosureFacts& facts, Opens opens) {
  if (own.party == Party::kB || accepts(own, facts)) return;
  if (facts.shared_top) {
    throw ConsentError(
        {"private.accept: with shared.model.score_bits above " + std::to_string(job::kCoarseScoreBits) +
             " the scores that B gets tell it of this party's features (SECURITY.md).",
         "In this job scores have " + std::to_string(facts.score_bits) +
             " fractional bits. At 10, those of a logistic regression told every pattern of 4 features of A that are 0 "
             "or 1 apart; at " +
             std::to_string(job::kCoarseScoreBits) + " still 35 to 98 % of the rows.",
         "To accept that, put `accept: fine_scores` into the section private; or leave out shared.model.score_bits at "
         "both parties."});
  }
  throw ConsentError(
      {"private.accept: with an open top B sees the outputs Z of the source layers, and could recover this party's "
       "features that are 0 or 1 exactly (SECURITY.md, README.md).",
       "In this job " + open_top_line(facts, opens) + ".",
       "To accept that, put `accept: open_top` into the section private; or set shared.model.top to shared at both "
       "parties: a top that hides Z from B, where the model has one."});
}

std::string consent_line(const job::Own& own, const run::DisclosureFacts& facts) {
  const bool accepted = accepts(own, facts);
  std::string line;
  if (facts.shared_top) {
    line = "Shared top: B learns " + run::shared_top_openings(facts) + ".";
    if (accepted && facts.score_bits <= job::kCoarseScoreBits) return line;
  } else {
    line = "Open top: B could recover features of A that are 0 or 1 exactly; " + open_top_line(facts) + ".";
  }
  return line + " private.accept is " + job::Value<job::Acceptance>::write(own.accept) +
         (accepted ? "" : ": `train` will refuse to start") + ".";
}

std::vector<std::string> part_warnings(const job::Own& own, const run::DisclosureFacts& facts) {
  std::vector<std::string> warnings;
  if (own.party == Party::kB) return warnings;
  if (facts.shared_top) {
    const std::size_t features = facts.numeric_layer.in_a + facts.category_layer.in_a;
    if (features > 0 && features <= kFewFeatures) {
      warnings.push_back("WARNING: with " + plainly_counted(features, "feature", "features") +
                         " of A the scores that B gets tell rows apart by them, rounded as they are: with 4 that are 0 "
                         "or 1, 35 to 98 % of the rows of a logistic regression (SECURITY.md).");
    }
    return warnings;
  }
  if (run::open_top_reach(facts).outright) {
    warnings.emplace_back("WARNING: B has no features. What it sees, Z, is this party's part (X_A W_A) outright.");
  }
  for (const std::string& words : run::lone_parts(facts)) warnings.push_back("WARNING: " + run::as_sentence(words));
  return warnings;
}

std::optional<std::string> seed_warning(const job::Own& own) {
  if (!own.run.weight_seed) return std::nullopt;
  return "WARNING: private.run.weight_seed is set, which is for experiments: who guesses it knows this party's "
         "shares of the initial weights.";
}

std::optional<Party> seeded_party(const job::Own& own) {
  if (!own.run.weight_seed) return std::nullopt;
  return own.party;
}

}  // namespace blindfl::app
