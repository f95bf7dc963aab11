#include "blindfl/data/row_store.h"

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/row_bytes.h"

namespace blindfl::data {

namespace {

constexpr std::size_t kSpillBytes = std::size_t{1} << 20;

}  // namespace

Batch RowStore::batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const {
  require<InvalidArgument>(chosen.size() <= batch_size, "row store: ", chosen.size(), " rows do not fit a batch of ",
                           batch_size);
  IntMatrixBuilder features(features_);
  std::vector<IntMatrixBuilder> fields(fields_.begin(), fields_.end());
  Batch batch{.features = {}, .labels = {}, .rows = chosen.size()};
  Bytes bytes;
  for (const std::uint32_t row : chosen) {
    require<InvalidArgument>(row < rows(), "row store: row ", row, " of ", rows(), " does not exist");
    bytes.resize(starts_[row + 1] - starts_[row]);
    file_.read_at(starts_[row], bytes);
    ByteView rest = bytes;
    if (has_features_) read_row(rest, features);
    for (IntMatrixBuilder& field : fields) read_row(rest, field);
    require<DataError>(rest.empty(), "stored rows are damaged: one is too long");
    if (!labels_.empty()) batch.labels.push_back(labels_[row]);
  }
  // What only a disk can have changed is the data's fault, not the caller's.
  try {
    batch.features = has_features_ ? features.finish(batch_size) : IntMatrix::dense(batch_size, 0, {}, 0, 1);
    batch.fields.reserve(fields.size());
    for (IntMatrixBuilder& field : fields) batch.fields.push_back(field.finish(batch_size));
  } catch (const InvalidArgument& error) {
    fail<DataError>("stored rows are damaged: ", error.what());
  }
  return batch;
}

RowStoreWriter::RowStoreWriter(const std::filesystem::path& folder)
    : store_(new RowStore(DiskFile::create_unnamed(folder))) {
  buffer_.reserve(kSpillBytes);
}

void RowStoreWriter::begin(const Dataset& rows) {
  store_->has_features_ = rows.features.rows() > 0 || rows.fields.empty();
  store_->features_ = MatrixFormat::of(rows.features);
  store_->fields_.reserve(rows.fields.size());
  for (const IntMatrix& field : rows.fields) store_->fields_.push_back(MatrixFormat::of(field));
  begun_ = true;
}

void RowStoreWriter::check_format(const Dataset& rows) const {
  bool fits = MatrixFormat::of(rows.features) == store_->features_ && rows.fields.size() == store_->fields_.size();
  fits = fits && (!store_->has_features_ || rows.features.rows() == rows.rows());
  for (std::size_t i = 0; fits && i < rows.fields.size(); ++i) {
    fits = MatrixFormat::of(rows.fields[i]) == store_->fields_[i] && rows.fields[i].rows() == rows.rows();
  }
  require<InvalidArgument>(fits, "row store: these rows are not like those before");
}

void RowStoreWriter::append(const Dataset& rows) {
  if (rows.rows() == 0) return;
  if (!begun_) begin(rows);
  check_format(rows);
  store_->starts_.reserve(store_->starts_.size() + rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const std::size_t before = buffer_.size();
    if (store_->has_features_) write_row(rows.features, r, buffer_);
    for (const IntMatrix& field : rows.fields) write_row(field, r, buffer_);
    store_->starts_.push_back(store_->starts_.back() + (buffer_.size() - before));
    if (buffer_.size() >= kSpillBytes) flush();
  }
}

void RowStoreWriter::flush() {
  store_->file_.write(buffer_);
  buffer_.clear();
}

std::unique_ptr<RowStore> RowStoreWriter::finish(std::vector<double> labels) {
  require<InvalidArgument>(labels.empty() || labels.size() == rows(), "row store: ", labels.size(), " labels for ",
                           rows(), " rows");
  flush();
  store_->labels_ = std::move(labels);
  return std::move(store_);
}

}  // namespace blindfl::data
