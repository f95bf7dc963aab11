#include <algorithm>
#include <map>

#include "blindfl/app/job/check.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

namespace {

void check_files(const Job& job, const Given& given) {
  const Data& data = job.own.data;
  check(data.train || data.test || data.score, given, "private.data",
        "needs a file: train to train on, test to measure with, or score to predict");
  check(data.delimiter.size() == 1 || data.delimiter == "tab", given, "private.data.delimiter",
        "must be one character, or the word tab");
  for (const std::string_view option : {"id_column", "label_column", "weight_column", "columns"}) {
    const std::string key = joined("private.data", option);
    check(data.format != prepare::FileFormat::kLibsvm || !given.has(key), given, key,
          "LIBSVM files have no columns with names; leave it out");
  }
  check(job.shared.alignment.mode == AlignmentMode::kAligned || data.id_column.has_value() ||
            data.format == prepare::FileFormat::kLibsvm,
        given, "private.data.id_column", "is missing: rows are aligned by it. Or set shared.alignment.mode to aligned");
  check(job.shared.alignment.mode == AlignmentMode::kAligned || data.format != prepare::FileFormat::kLibsvm, given,
        "private.data.format", "LIBSVM files have no ids to align rows by; set shared.alignment.mode to aligned");
  check(!data.id_column || data.id_column != data.label_column, given, "private.data.label_column",
        "is the same as private.data.id_column");
  check(!data.weight_column || (data.weight_column != data.label_column && data.weight_column != data.id_column), given,
        "private.data.weight_column", "is the same as private.data.id_column or label_column");
  check_encoding(data.numeric, "private.data.numeric", given);
}

void check_numeric_column(const prepare::ColumnSpec& column, const std::string& key, const Given& given) {
  check(column.vocabulary == prepare::VocabularySpec{}, given, key + ".vocabulary",
        "is for kinds categorical and multi");
  check(!column.one_hot, given, key + ".one_hot", "is for kinds categorical and multi");
  check((column.missing == data::Missing::kConstant) == column.constant.has_value(), given,
        key + (column.constant ? ".constant" : ".missing"),
        column.constant ? "is for missing: constant" : "constant needs the number, as constant: 0");
}

void check_categorical_column(const prepare::ColumnSpec& column, const std::string& key, const Given& given) {
  check(column.transform == prepare::Transform::kNone, given, key + ".transform", "is for kind numeric");
  check(!given.has(key + ".missing"), given, key + ".missing", "is for kind numeric: a missing category is a category");
  check(!column.constant, given, key + ".constant", "is for kind numeric");
  const prepare::VocabularySpec& vocabulary = column.vocabulary;
  check(!vocabulary.hash_buckets || (vocabulary.min_count == 1 && !vocabulary.most), given,
        key + ".vocabulary.hash_buckets", "takes the place of a vocabulary; leave out min_count and most");
}

void check_columns(const Data& data, const Given& given) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const prepare::ColumnSpec& column = data.columns[i];
    const std::string key = "private.data.columns[" + std::to_string(i) + "]";
    const auto [before, is_new] = seen.emplace(column.name, i);
    check(is_new, given, key, "is about the same column as columns[", before->second, "]");
    check(column.name != data.id_column, given, key, "is about private.data.id_column, which is no feature");
    check(column.name != data.label_column, given, key, "is about private.data.label_column, which is no feature");
    check(column.name != data.weight_column, given, key, "is about private.data.weight_column, which is no feature");
    const data::ColumnKind kind = data.kind_of(column);
    if (kind == data::ColumnKind::kNumeric) check_numeric_column(column, key, given);
    if (kind == data::ColumnKind::kCategory || kind == data::ColumnKind::kCategories) {
      check_categorical_column(column, key, given);
    }
    for (const std::string_view option : {"separator", "most_per_row", "pooling"}) {
      const std::string inner = joined(key, option);
      check(kind == data::ColumnKind::kCategories || !given.has(inner), given, inner, "is for kind multi");
    }
  }
}

void check_acceptance(const Own& own, const Given& given) {
  check(own.party == Party::kA || own.accept == Acceptance::kNothing, given, "private.accept",
        "is A's to say, whose features are at stake, and this is B; leave it out");
}

void check_labels(const Job& job, const Given& given) {
  const Data& data = job.own.data;
  const bool is_b = job.own.party == Party::kB;
  check(is_b || !data.label_column, given, "private.data.label_column",
        "is for B, who has the labels, and this is A; to keep a column out of the model, list it with kind: ignore");
  check(is_b || !data.weight_column, given, "private.data.weight_column",
        "is for B, who has the loss, and this is A; to keep a column out of the model, list it with kind: ignore");
  check(is_b || !data.label.positive, given, "private.data.label.positive", "is for B, who has the labels");
  check(!data.label.positive || (job.shared.model.kind != ModelKind::kMlr && is_classifier(job.shared.model.kind) &&
                                 job.shared.model.class_count() == 2),
        given, "private.data.label.positive",
        "is for two classes of one score: lr, fm and deepfm, or mlp, wdl and dlrm without classes");
  check(is_b || !given.has("private.top"), given, "private.top", "is for B, who has the top layers, and this is A");
  const bool needs_label = is_b && data.format == prepare::FileFormat::kCsv && (data.train || data.test);
  check(!needs_label || data.label_column, given, "private.data.label_column",
        "is missing: which column of the CSV file holds the labels");
}

bool suits(Metric metric, const Model& model) {
  switch (metric) {
    case Metric::kLoss:
      return true;
    case Metric::kAuc:
    case Metric::kPrAuc:
    case Metric::kKs:
    case Metric::kLift:
    case Metric::kF1:
      return is_classifier(model.kind) && model.class_count() == 2;
    case Metric::kAccuracy:
    case Metric::kPrecision:
    case Metric::kRecall:
    case Metric::kLogLoss:
      return is_classifier(model.kind);
    case Metric::kRmse:
    case Metric::kR2:
    case Metric::kMae:
      return !is_classifier(model.kind);
    case Metric::kDeviance:
      return model.kind == ModelKind::kPoisson;
  }
  return false;
}

void check_top(const Job& job, const Given& given) {
  const Model& model = job.shared.model;
  const Top& top = job.own.top;
  const std::string weights = "private.top.class_weights";
  check(top.class_weights.empty() || is_classifier(model.kind), given, weights, "this model has no classes");
  const std::size_t count = top.class_weights.weights.size();
  check(count == 0 || count == model.class_count(), given, weights, "has ", count, " weights for ", model.class_count(),
        " classes");
  for (const Metric metric : top.metrics) {
    check(suits(metric, model), given, "private.top.metrics", Value<Metric>::write(metric), " does not suit ",
          Value<ModelKind>::write(model.kind), model.class_count() > 2 ? " with more than two classes" : "");
  }
}

}  // namespace

void check_own(const Job& job, const Given& given) {
  check_acceptance(job.own, given);
  check_labels(job, given);
  check_files(job, given);
  check_columns(job.own.data, given);
  check_top(job, given);
  check_link(job, given);
  check_shared_top(job.shared, &job.own, given);
}

}  // namespace blindfl::app::job
