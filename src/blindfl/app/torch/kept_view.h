#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/base/bytes.h"
#include "blindfl/run/run_folder.h"
#include "blindfl/share/share_matrix.h"

// What a party saw of its rows for validation and test, kept in its run's folder for `blindfl audit --attacks` where
// private.run.keep_view says so (view/). docs/formats.md has the bytes.

namespace blindfl::app {

/// What a party saw of a source layer's output in one pass over some rows, and the layer's weights as it had them.
struct SeenLayer {
  std::string name;
  bool categories = false;  ///< a layer of categories; else of numeric features
  std::size_t rows = 0;     ///< the first of the set, in its order
  std::size_t outputs = 0;
  int output_scale = 0;
  bool opened = false;                       ///< Z, at B under an open top; else a share
  std::vector<double> z = {};                ///< where it was opened: row by row
  ShareMatrix share = {};                    ///< where it was not
  std::optional<ShareMatrix> weight_a = {};  ///< this party's piece, whole, of a layer of numeric features
  std::optional<ShareMatrix> weight_b = {};
};

/// A pass over rows of one set after some step.
struct SeenPass {
  std::string set;  ///< "start" (weights alone), "validation" or "test"
  std::uint64_t step = 0;
  std::vector<SeenLayer> layers = {};
};

/// The most that is kept: rows of a pass, values of a weight matrix, and passes over validation rows.
inline constexpr std::size_t kMostSeenRows = 4096;
inline constexpr std::size_t kMostSeenWeights = std::size_t{1} << 20;
inline constexpr std::size_t kMostSeenValidations = 32;

void write_pass(const SeenPass& pass, ByteSink& out);
/// Throws DataError if it is not what `write_pass` wrote; takes no more memory than what is left in `in` justifies.
[[nodiscard]] SeenPass read_pass(ByteSource& in);

/// Writes down what this party sees while somebody else scores. What is passed must outlive it.
class ViewKeeper {
 public:
  ViewKeeper(const run::RunFolder& folder, const JobModel& model) : folder_(folder), model_(model) {}

  /// This party's shares of the weights before any step.
  void keep_start() const;
  /// What `body()` returns, which makes the model score rows of `set` after `step`.
  template <class Body>
  auto watch(std::string_view set, std::uint64_t step, Body&& body) const {
    Pass pass(*this, set, step);
    auto made = body();
    pass.keep();
    return made;
  }

 private:
  /// Observes the model's source layers while it lives.
  class Pass {
   public:
    Pass(const ViewKeeper& keeper, std::string_view set, std::uint64_t step);
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass();
    void keep() const;

   private:
    const ViewKeeper& keeper_;
    SeenPass seen_;
  };

  void write(const SeenPass& pass) const;

  const run::RunFolder& folder_;
  const JobModel& model_;
};

/// What the folder of a run has of a party's view, the oldest pass of each set first; none if nothing was kept.
/// `owner` as in `RunFolder::owner`. Throws DataError, naming the file, if one is damaged or another's.
[[nodiscard]] std::vector<SeenPass> load_view(const std::filesystem::path& folder, const std::string& owner);

}  // namespace blindfl::app
