#pragma once

#include <filesystem>
#include <memory>

#include "blindfl/prepare/csv_features.h"
#include "blindfl/prepare/encoded_file.h"
#include "blindfl/prepare/labels.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::prepare {

/// A CSV file, encoded while it is read. `features`, `rule` and `digest`, which is told the file's bytes, must outlive
/// it.
/// Throws DataError if the file cannot be read, or has other columns than the training file had.
[[nodiscard]] std::unique_ptr<EncodedFile> open_csv(const std::filesystem::path& path, const CsvFeatures& features,
                                                    const FixedPointSpec& encoding, const LabelRule& rule,
                                                    Labels labels, DigestOfPieces& digest);

}  // namespace blindfl::prepare
