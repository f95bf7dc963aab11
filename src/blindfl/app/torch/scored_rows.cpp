#include "blindfl/app/torch/scored_rows.h"

#include <algorithm>
#include <array>
#include <map>

#include "blindfl/app/torch/scoring_counts.h"
#include "blindfl/base/checked_file.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

/// Half a digest: no two of a billion people have the same.
constexpr std::size_t kRowBytes = 16;
using RowName = std::array<std::byte, kRowBytes>;
using RowCounts = std::map<RowName, std::uint64_t>;

fs::path path_of_rows(const fs::path& folder) {
  return folder / "scorings_by_id.bin";
}

FileLabel label_of_rows(const std::string& owner) {
  return {.kind = "scored rows", .owner = owner};
}

RowName name_of_row(const std::string& model, const std::string& id) {
  const Bytes digest = digest_of(as_bytes(std::to_string(model.size()) + ":" + model + id));
  RowName name{};
  std::copy_n(digest.begin(), kRowBytes, name.begin());
  return name;
}

RowCounts read_rows(const fs::path& folder, const std::string& owner) {
  RowCounts counts;
  if (!fs::exists(path_of_rows(folder))) return counts;
  read_checked(path_of_rows(folder), label_of_rows(owner), [&](ByteSource& in, std::uint32_t /*version*/) {
    reading_state([&] {
      const std::uint64_t size = in.read_u64();
      require<DataError>(size <= in.remaining() / (kRowBytes + 8), "the list of scored rows is cut short");
      for (std::uint64_t i = 0; i < size; ++i) {
        RowName name{};
        in.read(name);
        counts[name] = in.read_u64();
      }
    });
  });
  return counts;
}

void write_rows(const fs::path& folder, const std::string& owner, const RowCounts& counts) {
  write_atomically(path_of_rows(folder), label_of_rows(owner), [&](ByteSink& out) {
    out.write_u64(counts.size());
    for (const auto& [name, count] : counts) {
      out.write(name);
      out.write_u64(count);
    }
  });
}

}  // namespace

std::vector<std::string> scored_ids(const protocol::Alignment& alignment, const std::vector<std::string>& ids) {
  std::vector<std::string> scored;
  if (ids.empty()) return scored;
  for (std::size_t i = 0; i < alignment.size(); ++i) {
    if (alignment.real[i]) scored.push_back(ids.at(alignment.rows[i]));
  }
  return scored;
}

void count_scored_rows(const fs::path& folder, const std::string& owner, const std::string& model,
                       const std::vector<std::string>& ids, std::uint64_t most) {
  const ScoringsLock lock(folder);
  RowCounts counts = read_rows(folder, owner);
  std::size_t too_often = 0;
  for (const std::string& id : ids) {
    if (counts[name_of_row(model, id)]++ >= most) ++too_often;
  }
  require<ConfigError>(too_often == 0, too_often, " of the ", ids.size(), " rows have been scored ", most,
                       most == 1 ? " time" : " times", " with this model, and private.limits.scorings is ", most,
                       ", whatever file they are in. Under a shared top each scoring rounds a score anew, and B learns "
                       "it more exactly: leave these rows out of the file, or raise the limit if you accept that");
  write_rows(folder, owner, counts);
}

}  // namespace blindfl::app
