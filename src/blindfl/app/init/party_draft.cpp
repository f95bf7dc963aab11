#include "blindfl/app/init/party_draft.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "blindfl/app/cli/suggestion.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

namespace blindfl::app::init {

namespace {

using data::ColumnKind;

constexpr std::string_view kNone = "none";
/// A longer list of columns has only those that differ from the rest.
constexpr std::size_t kListedColumns = 2000;
constexpr std::size_t kMostListedColumns = 10000;
constexpr std::size_t kShownColumns = 60;

bool is_categorical(const prepare::ColumnSpec& column) {
  return column.kind == ColumnKind::kCategory || column.kind == ColumnKind::kCategories;
}

void check_column(const Sample& sample, const std::string& name, std::string_view flag) {
  std::vector<std::string_view> names;
  names.reserve(sample.columns.size());
  for (const ColumnProfile& profile : sample.columns) names.emplace_back(profile.name());
  if (std::ranges::find(names, name) != names.end()) return;
  const std::string_view meant = nearest(name, names);
  fail<UsageError>("--", flag, ": ", sample.path.string(), " has no column '", name, "'",
                   meant.empty() ? std::string() : "; did you mean '" + std::string(meant) + "'?");
}

SampleOptions sample_options(const Arguments& arguments, bool is_a) {
  SampleOptions options;
  options.optional_labels = is_a;
  if (arguments.has("format")) {
    const auto names = names_of(prepare::FileFormat{});
    const auto known =
        std::ranges::find(names, std::string_view(arguments.text("format")), &job::Name<prepare::FileFormat>::name);
    require<UsageError>(known != names.end(), "--format must be csv, libsvm or auto, not '", arguments.text("format"),
                        "'");
    options.format = known->value;
  }
  if (arguments.has("delimiter")) {
    options.delimiter = arguments.text("delimiter");
    require<UsageError>(options.delimiter->size() == 1 || *options.delimiter == "tab",
                        "--delimiter needs one character, or the word tab");
  }
  if (arguments.has("no-header")) options.header = false;
  return options;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    list.append(list.empty() ? "" : ", ").append(printable(names[i]));
  }
  if (names.size() > kShown) list += ", ...";
  return list;
}

/// A guess that is not the only one there could be is none: whoever cannot be asked has to say it.
void find_id(PartyDraft& draft, const Arguments& arguments, Questions& questions) {
  Candidates candidates = id_candidates(draft.sample);
  if (arguments.has("label")) std::erase(candidates.names, arguments.text("label"));
  std::string question = "Column that names the people, or none";
  if (!candidates.sure && !candidates.names.empty()) {
    question += " (different in every row: " + list_of(candidates.names) + ")";
  }
  const bool has_column_none = draft.sample.find(kNone) != nullptr;
  std::optional<std::string> guess = candidates.sure;
  if (candidates.names.empty()) guess = kNone;
  const std::string answer = questions.said_or_asked(arguments, "id", question, guess, [&](const std::string& name) {
    if (name != kNone || has_column_none) check_column(draft.sample, name, "id");
  });
  if (answer != kNone || has_column_none) draft.id = answer;
}

void check_label(const PartyDraft& draft, const std::string& name) {
  check_column(draft.sample, name, "label");
  require<UsageError>(name != draft.id, "--label: column '", name, "' is taken for the ids; say --id none");
  const ColumnProfile& profile = *draft.sample.find(name);
  require<UsageError>(profile.missing() == 0, "--label: column '", name, "' has ", profile.missing(),
                      " missing values, and labels may not be missing");
  require<UsageError>(profile.distinct() > 1, "--label: column '", name, "' says the same in all rows");
}

void find_label(PartyDraft& draft, const Arguments& arguments, Questions& questions) {
  const Candidates candidates = label_candidates(draft.sample, draft.id);
  std::vector<std::string> names = candidates.names;
  if (names.empty()) {
    for (const ColumnProfile& profile : draft.sample.columns) {
      if (profile.name() != draft.id) names.push_back(profile.name());
    }
  }
  std::string question = "Column that is to be predicted";
  if (!candidates.sure) question += " (one of: " + list_of(names) + ")";
  draft.label = questions.said_or_asked(arguments, "label", question, candidates.sure,
                                        [&](const std::string& name) { check_label(draft, name); });
}

void find_weight(PartyDraft& draft, const Arguments& arguments) {
  if (!arguments.has("weight")) return;
  const std::string& name = arguments.text("weight");
  check_column(draft.sample, name, "weight");
  require<UsageError>(name != draft.id && name != draft.label, "--weight: column '", name,
                      "' is taken for the id or the label");
  const ColumnProfile& profile = *draft.sample.find(name);
  require<UsageError>(profile.is_numeric() && profile.missing() == 0 && profile.least() >= 0, "--weight: column '",
                      name, "' has cells that are no numbers from 0 on");
  draft.weight = name;
}

bool has_kind(const Arguments& arguments, const std::string& name) {
  const auto kinds = arguments.all("kind");
  return std::ranges::any_of(kinds,
                             [&](const std::string& words) { return words.substr(0, words.rfind('=')) == name; });
}

/// Labels must not get into A's features by accident, and A may have a column that is only called like one.
void ask_about_labels_at_a(PartyDraft& draft, const Arguments& arguments, Questions& questions) {
  for (ColumnGuess& guess : draft.columns) {
    const std::string& name = guess.column.name;
    if (!is_called_like_a_label(name) || has_kind(arguments, name) || guess.column.kind == ColumnKind::kIgnored)
      continue;
    require<UsageError>(questions.are_answered(), "--kind is missing for column '", name,
                        "': it is called like a label, and A has none; say --kind ", name,
                        "=ignore to leave it out, or --kind ", name, "=",
                        job::Value<ColumnKind>::write(*guess.column.kind), " if it is a feature of A's own");
    const std::string kind = job::Value<ColumnKind>::write(*guess.column.kind);
    const std::string answer = questions.ask(
        "kind", "Column '" + printable(name) + "' is called like a label, and A has none: " + kind + ", or ignore",
        "ignore", [&](const std::string& word) {
          require<UsageError>(word == kind || word == "ignore", "It must be ", kind, " or ignore");
        });
    if (answer == "ignore") guess = {{.name = name, .kind = ColumnKind::kIgnored}, "called like a label"};
  }
}

/// `--kind COLUMN=KIND`, of this party's columns.
void apply_kinds(PartyDraft& draft, const Arguments& arguments) {
  for (const std::string& words : arguments.all("kind")) {
    const std::size_t equals = words.rfind('=');
    require<UsageError>(equals != std::string::npos && equals > 0,
                        "--kind needs COLUMN=KIND, as in --kind age=numeric");
    const std::string name = words.substr(0, equals);
    const std::string kind = words.substr(equals + 1);
    const auto names = names_of(ColumnKind{});
    const auto known = std::ranges::find(names, std::string_view(kind), &job::Name<ColumnKind>::name);
    require<UsageError>(known != names.end(), "--kind ", words, ": there is no kind '", kind,
                        "', only numeric, categorical, multi and ignore");
    if (arguments.has("both") && draft.sample.find(name) == nullptr) continue;  // it is the other party's
    check_column(draft.sample, name, "kind");
    const auto found =
        std::ranges::find(draft.columns, name, [](const ColumnGuess& guess) { return guess.column.name; });
    require<UsageError>(found != draft.columns.end(), "--kind: column '", name,
                        "' is taken for the id, the label or the weight");
    if (found->column.kind != known->value) {
      found->column = {.name = name, .kind = known->value};
      if (known->value == ColumnKind::kNumeric) {
        found->column.transform = prepare::Transform::kStandardise;
      }
    }
    found->why = "as asked";
  }
}

/// What job files know, and the unusual marks that were met.
std::vector<std::string> missing_marks(const Sample& sample) {
  std::vector<std::string> marks = job::Data{}.missing;
  const auto& unusual = unusual_missing_marks();
  for (std::size_t i = 0; i < unusual.size(); ++i) {
    const bool met = std::ranges::any_of(
        sample.columns, [&](const ColumnProfile& p) { return p.is_numeric() && i < p.marks().size() && p.marks()[i]; });
    if (met) marks.push_back(unusual[i]);
  }
  return marks;
}

/// All of them, so that a column that comes later is noticed; of very many, those that are no plain numbers.
std::vector<prepare::ColumnSpec> columns_of(const PartyDraft& draft, job::ModelKind model) {
  std::vector<prepare::ColumnSpec> columns;
  columns.reserve(draft.columns.size());
  for (const ColumnGuess& guess : draft.columns) {
    prepare::ColumnSpec column = guess.column;
    column.one_hot = is_categorical(column) && !has_embeddings(model);
    const prepare::ColumnSpec plain{.name = column.name, .kind = ColumnKind::kNumeric};
    if (draft.columns.size() <= kListedColumns || column != plain) columns.push_back(std::move(column));
  }
  require<UsageError>(columns.size() <= kMostListedColumns, "--data: ", draft.data.string(), " has ", columns.size(),
                      " columns, and a job file lists at most ", kMostListedColumns, "; write the file as LIBSVM");
  return columns;
}

std::string kind_words(const prepare::ColumnSpec& column, job::ModelKind model) {
  std::string text = job::Value<ColumnKind>::write(column.kind.value_or(ColumnKind::kNumeric));
  if (column.transform != prepare::Transform::kNone)
    text += ", " + job::Value<prepare::Transform>::write(column.transform);
  if (is_categorical(column)) text += has_embeddings(model) ? ", embedded" : ", one-hot";
  return text;
}

void write_row(std::ostream& out, const std::string& name, const std::string& kind, const std::string& why) {
  out << "  " << std::left << std::setw(24) << printable(name) << ' ' << std::setw(24) << kind << ' ' << why << '\n';
}

/// What might be a feature after all.
void describe_row_names(const PartyDraft& draft, std::ostream& out) {
  std::vector<std::string> names;
  for (const ColumnGuess& guess : draft.columns) {
    const ColumnProfile* profile = draft.sample.find(guess.column.name);
    if (guess.column.kind == ColumnKind::kIgnored && profile != nullptr && profile->names_rows()) {
      names.push_back(guess.column.name);
    }
  }
  if (names.empty()) return;
  out << "Left out, since they are different in every row, as ids are: " << list_of(names)
      << ". If one is a feature: --kind " << printable(names.front()) << "=numeric\n";
}

void describe_sparse(const Sample& sample, std::ostream& out) {
  const SparseProfile& sparse = *sample.sparse;
  out << "  LIBSVM, " << (sparse.binary ? "binary" : "numeric") << " features, the highest index "
      << sparse.highest_index << ", up to " << sparse.most_per_row << " in a row\n";
}

}  // namespace

const ColumnProfile* PartyDraft::labels() const {
  if (is_a()) return nullptr;
  if (sample.sparse) return &sample.sparse->labels;
  return label ? sample.find(*label) : nullptr;
}

bool PartyDraft::has_categories() const {
  return std::ranges::any_of(columns, [](const ColumnGuess& guess) { return is_categorical(guess.column); });
}

PartyDraft draft_party(Party party, const std::filesystem::path& data, const std::optional<std::filesystem::path>& test,
                       const Arguments& arguments, Questions& questions) {
  PartyDraft draft;
  draft.party = party;
  draft.data = data;
  draft.test = test;
  draft.sample = look_at(data, sample_options(arguments, draft.is_a()));
  if (draft.sample.sparse) return draft;
  find_id(draft, arguments, questions);
  if (!draft.is_a()) {
    find_label(draft, arguments, questions);
    find_weight(draft, arguments);
  }
  draft.columns.reserve(draft.sample.columns.size());
  for (const ColumnProfile& profile : draft.sample.columns) {
    if (profile.name() == draft.id || profile.name() == draft.label || profile.name() == draft.weight) continue;
    draft.columns.push_back(guess_column(profile));
  }
  if (draft.is_a()) ask_about_labels_at_a(draft, arguments, questions);
  apply_kinds(draft, arguments);
  return draft;
}

std::filesystem::path seen_from(const std::filesystem::path& folder, const std::filesystem::path& path) {
  if (path.is_absolute()) return path;
  const std::filesystem::path here = std::filesystem::current_path();
  return (here / path).lexically_normal().lexically_proximate((here / folder).lexically_normal());
}

job::Data data_of(const PartyDraft& draft, job::ModelKind model, const std::filesystem::path& folder) {
  const Sample& sample = draft.sample;
  job::Data data;
  data.train = seen_from(folder, draft.data);
  if (draft.test) data.test = seen_from(folder, *draft.test);
  data.format = sample.format;
  data.numeric = guess_encoding(sample, draft.columns);
  if (sample.sparse) {
    data.libsvm.first_index = sample.sparse->from_zero ? 0 : 1;
    if (sample.whole) data.libsvm.features = sample.sparse->highest_index + (sample.sparse->from_zero ? 1 : 0);
    return data;
  }
  data.delimiter = sample.delimiter;
  data.header = sample.header;
  data.id_column = draft.id;
  data.label_column = draft.label;
  data.weight_column = draft.weight;
  data.missing = missing_marks(sample);
  data.columns = columns_of(draft, model);
  if (data.columns.size() < draft.columns.size()) data.default_kind = ColumnKind::kNumeric;
  return data;
}

void describe(const PartyDraft& draft, job::ModelKind model, std::ostream& out) {
  const Sample& sample = draft.sample;
  out << (draft.is_a() ? "A: " : "B: ") << draft.data.string() << ", " << (sample.whole ? "all " : "the first ")
      << plainly_counted(sample.rows, "row") << " looked at\n";
  if (sample.sparse) {
    describe_sparse(sample, out);
    return;
  }
  if (draft.id) write_row(out, *draft.id, "id", "");
  if (draft.label) {
    write_row(out, *draft.label, "label", std::to_string(sample.find(*draft.label)->distinct()) + " distinct");
  }
  if (draft.weight) write_row(out, *draft.weight, "weight", "");
  std::size_t shown = 0;
  for (const ColumnGuess& guess : draft.columns) {
    if (++shown > kShownColumns) break;
    write_row(out, guess.column.name, kind_words(guess.column, model), guess.why);
  }
  if (draft.columns.size() > kShownColumns) out << "  ... and " << draft.columns.size() - kShownColumns << " more\n";
  describe_row_names(draft, out);
}

}  // namespace blindfl::app::init
