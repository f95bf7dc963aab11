#include "blindfl/app/job/preparation.h"

#include <algorithm>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/prepare/file_format.h"

namespace blindfl::app::job {

namespace {

void check_format(const Job& job, prepare::FileFormat format) {
  const Data& data = job.own.data;
  const bool is_b = job.own.party == Party::kB;
  require<ConfigError>(is_b || !data.label_column,
                       "private.data.label_column is for B, who has the labels, and this is A; to keep a column out of "
                       "the model, list it with kind: ignore");
  if (format == prepare::FileFormat::kCsv) {
    require<ConfigError>(!is_b || data.label_column,
                         "private.data.label_column is missing: which column of the CSV file holds the labels");
    return;
  }
  require<ConfigError>(!data.id_column && !data.label_column && !data.weight_column && data.columns.empty(),
                       "private.data: LIBSVM files have no columns with names; leave out id_column, label_column, "
                       "weight_column and columns");
  require<ConfigError>(job.shared.alignment.mode == AlignmentMode::kAligned,
                       "private.data.train is a LIBSVM file, which has no ids to align rows by; set "
                       "shared.alignment.mode to aligned, or private.data.format to csv if it is none");
}

prepare::LabelSpec labels_of(const Job& job) {
  const Model& model = job.shared.model;
  prepare::LabelSpec labels{.classes = model.class_count(), .positive = job.own.data.label.positive};
  if (model.kind == ModelKind::kLinear) labels.kind = prepare::LabelSpec::Kind::kReals;
  if (model.kind == ModelKind::kPoisson) labels.kind = prepare::LabelSpec::Kind::kCounts;
  return labels;
}

prepare::CsvSpec csv_spec(const Job& job) {
  const Data& data = job.own.data;
  return {.delimiter = csv_format(data).delimiter,
          .header = data.header,
          .missing = data.missing,
          .id = data.id_column,
          .label = data.label_column,
          .weight = data.weight_column,
          .default_kind = data.default_kind,
          .columns = data.columns,
          .embeddings = has_embeddings(job.shared.model.kind),
          .labels = labels_of(job),
          .encoding = data.numeric};
}

prepare::LibsvmSpec libsvm_spec(const Job& job) {
  const Data& data = job.own.data;
  prepare::LibsvmSpec spec{
      .features = data.libsvm.features, .first_index = data.libsvm.first_index, .encoding = data.numeric};
  if (job.own.party == Party::kB) spec.labels = labels_of(job);
  return spec;
}

}  // namespace

prepare::FileFormat format_of(const Data& data) {
  if (data.format != prepare::FileFormat::kAuto) return data.format;
  const bool has_names = data.id_column || data.label_column || data.weight_column || !data.columns.empty();
  return has_names ? prepare::FileFormat::kCsv : prepare::format_of(data.train.value());
}

data::DelimitedOptions csv_format(const Data& data) {
  const std::string& text = data.delimiter;
  const bool fine =
      text == "tab" || (text.size() == 1 && std::string_view("\"\n\r\0", 4).find(text) == std::string_view::npos);
  require<ConfigError>(fine, "private.data.delimiter must be one character that is no quote, or the word tab");
  return {.delimiter = text == "tab" ? '\t' : text.front(), .header = data.header, .trim = true};
}

Preparation fit_preparation(const Job& job) {
  const Data& data = job.own.data;
  require<ConfigError>(data.train.has_value(), "private.data.train is missing: there is nothing to learn from");
  const prepare::FileFormat format = format_of(data);
  check_format(job, format);
  Preparation to = format == prepare::FileFormat::kCsv ? Preparation::fit(csv_spec(job), *data.train)
                                                       : Preparation::fit(libsvm_spec(job), *data.train);
  to.set_row_memory(row_memory_of(job.own.resources));
  return to;
}

std::size_t row_memory_of(const Resources& resources) {
  constexpr double kShare = 0.25;
  constexpr double kMost = 0x1p60;
  if (!resources.memory) return Preparation::kRowMemory;
  return static_cast<std::size_t>(std::clamp(*resources.memory * kShare * 0x1p30, 0.0, kMost));
}

}  // namespace blindfl::app::job
