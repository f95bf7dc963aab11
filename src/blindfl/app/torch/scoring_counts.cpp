#include "blindfl/app/torch/scoring_counts.h"

#include <sys/file.h>

#include <algorithm>
#include <limits>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestModel = 256;

fs::path path_in(const fs::path& folder) {
  return folder / "scorings.bin";
}

FileLabel label(const std::string& owner) {
  return {.kind = "scorings", .owner = owner};
}

ScoringCount read_count(ByteSource& in) {
  ScoringCount count;
  const std::uint64_t size = in.read_u64();
  require<DataError>(size <= std::min(in.remaining(), kLongestModel), "the counts of scorings are damaged");
  count.model.resize(size);
  in.read(std::as_writable_bytes(std::span(count.model)));
  count.digest.resize(kDigestBytes);
  in.read(count.digest);
  count.count = in.read_u64();
  return count;
}

void write_counts(const fs::path& folder, const std::string& owner, const std::vector<ScoringCount>& counts) {
  write_atomically(path_in(folder), label(owner), [&](ByteSink& out) {
    out.write_u64(counts.size());
    for (const ScoringCount& count : counts) {
      out.write_u64(count.model.size());
      out.write(as_bytes(count.model));
      out.write(count.digest);
      out.write_u64(count.count);
    }
  });
}

/// The entry of this model and file, made if it is not there.
ScoringCount& entry_of(std::vector<ScoringCount>& counts, const std::string& model, ByteView digest) {
  const auto is_it = [&](const ScoringCount& c) { return c.model == model && std::ranges::equal(c.digest, digest); };
  if (const auto found = std::ranges::find_if(counts, is_it); found != counts.end()) return *found;
  return counts.emplace_back(ScoringCount{.model = model, .digest = Bytes(digest.begin(), digest.end()), .count = 0});
}

constexpr const char* kIfSame =
    ". With each scoring a B that does not follow the protocol could learn more of A's features; raise the limit if "
    "you "
    "trust this one";
constexpr const char* kIfRoundedAnew =
    ". Under a shared top each scoring rounds the scores anew, and B learns them more exactly, and with them more of "
    "A's "
    "features: a row should be scored once per model. B has the scores of the first time (those of the test at the end "
    "of training are in its test_scores.csv); raise the limit if you accept that";

void require_room(const ScoringCount& entry, const ScoringLimit& limit) {
  require<ConfigError>(entry.count < limit.most, "this file has been scored ", entry.count,
                       entry.count == 1 ? " time" : " times", " with this model, and private.limits.scorings is ",
                       limit.most, limit.repeats == Repeats::kSame ? kIfSame : kIfRoundedAnew);
}

}  // namespace

ScoringsLock::ScoringsLock(const fs::path& model_folder)
    : file_(DiskFile::open_or_create(model_folder / "scorings.lock", Readers::kOwner)) {
  require<ConfigError>(::flock(file_.descriptor(), LOCK_EX) == 0, file_.path().string(),
                       ": cannot be locked; put the model on a disk that has locks");
}

std::vector<ScoringCount> read_scorings(const fs::path& folder, const std::string& owner) {
  std::vector<ScoringCount> counts;
  if (!fs::exists(path_in(folder))) return counts;
  read_checked(path_in(folder), label(owner), [&](ByteSource& in, std::uint32_t /*version*/) {
    reading_state([&] {
      constexpr std::uint64_t kLeastBytes = 8 + kDigestBytes + 8;
      const std::uint64_t size = in.read_u64();
      require<DataError>(size <= in.remaining() / kLeastBytes, "the counts of scorings are cut short");
      for (std::uint64_t i = 0; i < size; ++i) counts.push_back(read_count(in));
    });
  });
  return counts;
}

void check_scorings(const fs::path& folder, const std::string& owner, const std::string& model, ByteView digest,
                    const ScoringLimit& limit) {
  std::vector<ScoringCount> counts = read_scorings(folder, owner);
  require_room(entry_of(counts, model, digest), limit);
}

std::uint64_t count_scoring(const fs::path& folder, const std::string& owner, const std::string& model, ByteView digest,
                            const ScoringLimit& limit) {
  const ScoringsLock lock(folder);
  std::vector<ScoringCount> counts = read_scorings(folder, owner);
  ScoringCount& entry = entry_of(counts, model, digest);
  require_room(entry, limit);
  ++entry.count;
  const std::uint64_t now = entry.count;
  write_counts(folder, owner, counts);
  return now;
}

void count_test(const fs::path& folder, const std::string& owner, const std::string& model, ByteView digest) {
  (void)count_scoring(folder, owner, model, digest, {.most = std::numeric_limits<std::uint64_t>::max()});
}

}  // namespace blindfl::app
