#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "blindfl/base/bytes.h"
#include "blindfl/base/digest.h"
#include "blindfl/prepare/encoded_file.h"
#include "blindfl/prepare/labels.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl::prepare {

/// How LIBSVM files become features: as they are, as many as the spec says or the training file has.
struct LibsvmFeatures {
  std::size_t features = 0;
  std::size_t first_index = 1;
  bool sparse = true;        ///< most values are 0
  std::size_t nonzeros = 0;  ///< the most in a row that are not 0, with some room; 0: any number

  /// Reads the training file once, piece by piece. `labels`, if any, is told all labels;
  /// without it, rows need none.
  /// Throws DataError as `data::read_libsvm` does.
  [[nodiscard]] static LibsvmFeatures fit(const LibsvmSpec& spec, const std::filesystem::path& path, LabelFit* labels);
  /// What a training file's most values in a row are taken for: a quarter more and rounded up, so that rows of other
  /// files fit, and the peer learns no row's number.
  [[nodiscard]] static std::size_t with_room(std::size_t most, std::size_t features);

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote.
  [[nodiscard]] static LibsvmFeatures load(ByteSource& in);
};

/// A LIBSVM file, encoded while it is read. `rule` and `digest`, which is told the file's bytes, must outlive it. Each
/// row has a label, unless none is wanted: with `Labels::kIfThere`, one that is no class and the same in all rows
/// stands for none. Throws DataError if the file cannot be read.
[[nodiscard]] std::unique_ptr<EncodedFile> open_libsvm(const std::filesystem::path& path,
                                                       const LibsvmFeatures& features, const FixedPointSpec& encoding,
                                                       const LabelRule& rule, Labels labels, DigestOfPieces& digest);

}  // namespace blindfl::prepare
