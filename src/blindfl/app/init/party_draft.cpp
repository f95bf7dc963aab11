#include "blindfl/app/init/party_draft.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "blindfl/app/suggestion.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

namespace blindfl::app::init {

namespace {

using job::ColumnKind;

constexpr std::string_view kNone = "none";
/// A longer list of columns has only those that differ from the rest.
constexpr std::size_t kListedColumns = 500;
constexpr std::size_t kMostColumns = 10000;
constexpr std::size_t kShownColumns = 60;

bool is_categorical(const job::Column& column) {
  return column.kind == ColumnKind::kCategorical || column.kind == ColumnKind::kMulti;
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

SampleOptions sample_options(const Arguments& arguments) {
  SampleOptions options;
  if (arguments.has("delimiter")) {
    options.delimiter = arguments.text("delimiter");
    require<UsageError>(options.delimiter->size() == 1 || *options.delimiter == "tab",
                        "--delimiter needs one character, or the word tab");
  }
  if (arguments.has("no-header")) options.header = false;
  return options;
}

void find_id(PartyDraft& draft, const Arguments& arguments, Questions& questions) {
  const std::string answer = arguments.has("id") ? arguments.text("id")
                                                 : questions.ask("id", "Column that names the people, or none",
                                                                 guess_id(draft.sample).value_or(std::string(kNone)));
  if (answer == kNone && draft.sample.find(kNone) == nullptr) return;
  check_column(draft.sample, answer, "id");
  draft.id = answer;
}

void find_label(PartyDraft& draft, const Arguments& arguments, Questions& questions) {
  const std::string answer = arguments.has("label") ? arguments.text("label")
                                                    : questions.ask("label", "Column that is to be predicted",
                                                                    guess_label(draft.sample, draft.id));
  check_column(draft.sample, answer, "label");
  require<UsageError>(answer != draft.id, "--label: column '", answer, "' is taken for the ids; say --id none");
  const ColumnProfile& profile = *draft.sample.find(answer);
  require<UsageError>(profile.missing() == 0, "--label: column '", answer, "' has ", profile.missing(),
                      " missing values, and labels may not be missing");
  require<UsageError>(profile.distinct() > 1, "--label: column '", answer, "' says the same in all rows");
  draft.label = answer;
}

/// `--kind COLUMN=KIND`, of this party's columns.
void apply_kinds(PartyDraft& draft, const Arguments& arguments) {
  for (const std::string& words : arguments.all("kind")) {
    const std::size_t equals = words.rfind('=');
    require<UsageError>(equals != std::string::npos && equals > 0,
                        "--kind needs COLUMN=KIND, as in --kind age=numeric");
    const std::string name = words.substr(0, equals);
    const std::string kind = words.substr(equals + 1);
    const auto names = job::names_of(ColumnKind{});
    const auto known = std::ranges::find(names, std::string_view(kind), &job::Name<ColumnKind>::name);
    require<UsageError>(known != names.end(), "--kind ", words, ": there is no kind '", kind,
                        "', only numeric, categorical, multi and ignore");
    if (arguments.has("both") && draft.sample.find(name) == nullptr) continue;  // it is the other party's
    check_column(draft.sample, name, "kind");
    const auto found =
        std::ranges::find(draft.columns, name, [](const ColumnGuess& guess) { return guess.column.name; });
    require<UsageError>(found != draft.columns.end(), "--kind: column '", name, "' is taken for the id or the label");
    if (found->column.kind != known->value) {
      const bool is_number = draft.sample.find(name)->is_numeric();
      found->column = {.name = name, .kind = known->value};
      if (known->value == ColumnKind::kNumeric) {
        found->column.transform = job::Transform::kStandardise;
        if (!is_number || draft.sample.find(name)->missing() > 0) found->column.missing = job::MissingValue::kMean;
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

std::vector<job::Column> columns_of(const PartyDraft& draft, job::ModelKind model) {
  std::vector<job::Column> columns;
  columns.reserve(draft.columns.size());
  for (const ColumnGuess& guess : draft.columns) {
    job::Column column = guess.column;
    column.one_hot = is_categorical(column) && !has_embeddings(model);
    const job::Column plain{.name = column.name, .kind = ColumnKind::kNumeric};
    if (draft.columns.size() <= kListedColumns || column != plain) columns.push_back(std::move(column));
  }
  require<UsageError>(columns.size() <= kMostColumns, "--data: ", draft.data.string(), " has ", columns.size(),
                      " columns, and a job file lists at most ", kMostColumns, "; write the file as LIBSVM");
  return columns;
}

std::string kind_words(const job::Column& column, job::ModelKind model) {
  std::string text = job::Value<ColumnKind>::write(column.kind.value_or(ColumnKind::kNumeric));
  if (column.transform != job::Transform::kNone) text += ", " + job::Value<job::Transform>::write(column.transform);
  if (is_categorical(column)) text += has_embeddings(model) ? ", embedded" : ", one-hot";
  return text;
}

void write_row(std::ostream& out, const std::string& name, const std::string& kind, const std::string& why) {
  out << "  " << std::left << std::setw(24) << printable(name) << ' ' << std::setw(24) << kind << ' ' << why << '\n';
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

PartyDraft draft_party(job::PartyName party, const std::filesystem::path& data,
                       const std::optional<std::filesystem::path>& test, const Arguments& arguments,
                       Questions& questions) {
  PartyDraft draft;
  draft.party = party;
  draft.data = data;
  draft.test = test;
  draft.sample = look_at(data, sample_options(arguments));
  if (draft.sample.sparse) return draft;
  find_id(draft, arguments, questions);
  if (!draft.is_a()) find_label(draft, arguments, questions);
  draft.columns.reserve(draft.sample.columns.size());
  for (const ColumnProfile& profile : draft.sample.columns) {
    if (profile.name() == draft.id || profile.name() == draft.label) continue;
    draft.columns.push_back(guess_column(profile, draft.is_a()));
  }
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
  data.missing = missing_marks(sample);
  data.columns = columns_of(draft, model);
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
  std::size_t shown = 0;
  for (const ColumnGuess& guess : draft.columns) {
    if (++shown > kShownColumns) break;
    write_row(out, guess.column.name, kind_words(guess.column, model), guess.why);
  }
  if (draft.columns.size() > kShownColumns) out << "  ... and " << draft.columns.size() - kShownColumns << " more\n";
}

}  // namespace blindfl::app::init
