#include "blindfl/app/torch/kept_alignments.h"

#include <sys/stat.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "blindfl/app/link/agree.h"
#include "blindfl/base/atomic_file.h"
#include "blindfl/base/checked_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/base/text.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".bin";
constexpr std::size_t kMostKept = 256;  ///< of all files that the model has scored
constexpr mode_t kOwnerOnly = 0700;

FileLabel label(const std::string& owner) {
  return {.kind = "scored alignment", .owner = owner};
}

struct Kept {
  fs::path path;
  fs::file_time_type written;
};

/// Files whose names begin so, the newest first.
std::vector<Kept> files_in(const fs::path& folder, std::string_view prefix) {
  std::vector<Kept> found;
  if (!fs::is_directory(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kEnding)) continue;
    found.push_back({entry.path(), entry.last_write_time()});
  }
  std::ranges::sort(found, [](const Kept& a, const Kept& b) {
    return a.written != b.written ? a.written > b.written : a.path < b.path;
  });
  return found;
}

/// The name in a file's name; nothing if it has another form.
std::optional<AlignmentId> id_in(std::string_view hex) {
  AlignmentId id{};
  if (hex.size() != 2 * id.size()) return std::nullopt;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i < id.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id[i] = static_cast<std::byte>(16 * high + low);
  }
  return id;
}

}  // namespace

KeptAlignments::KeptAlignments(const fs::path& model_folder, std::string owner, std::string model)
    : folder_(model_folder / "alignments"), owner_(std::move(owner)), model_(std::move(model)) {}

// Model, mode and file together: whatever changes is not offered to the peer.
std::string KeptAlignments::prefix_of(const MarkedFile& file, job::AlignmentMode mode) const {
  const std::string key = model_ + "\n" + job::Value<job::AlignmentMode>::write(mode) + "\n" + to_hex(file.digest) +
                          "\n" + std::to_string(file.rows);
  constexpr std::size_t kShown = 16;
  return to_hex(ByteView(digest_of(key)).first(kShown)) + "-";
}

fs::path KeptAlignments::path_of(const MarkedFile& file, job::AlignmentMode mode, const AlignmentId& id) const {
  return folder_ / prefix_of(file, mode).append(to_hex(id)).append(kEnding);
}

AlignmentOffer KeptAlignments::of(const MarkedFile& file, job::AlignmentMode mode) const {
  const std::string prefix = prefix_of(file, mode);
  AlignmentOffer offer;
  for (const Kept& kept : files_in(folder_, prefix)) {
    const std::string name = kept.path.stem().string();
    const std::optional<AlignmentId> id = id_in(std::string_view(name).substr(prefix.size()));
    if (id && offer.size() < kMostOffered) offer.push_back(*id);
  }
  return offer;
}

protocol::Alignment KeptAlignments::load(const MarkedFile& file, job::AlignmentMode mode, const AlignmentId& id) const {
  protocol::Alignment alignment;
  const fs::path path = path_of(file, mode, id);
  read_checked(path, label(owner_), [&](ByteSource& in, std::uint32_t /*version*/) {
    reading_state([&] {
      AlignmentId inside{};
      in.read(inside);
      Bytes digest(kDigestBytes);
      in.read(digest);
      require<DataError>(inside == id && digest == file.digest, path.string(),
                         ": is another alignment than its name says; remove it");
      alignment = read_alignment(in, file.rows);
    });
  });
  return alignment;
}

void KeptAlignments::keep(const MarkedFile& file, job::AlignmentMode mode, const AlignmentId& id,
                          const protocol::Alignment& alignment) const {
  if (!fs::is_directory(folder_)) {
    require<ConfigError>(::mkdir(folder_.c_str(), kOwnerOnly) == 0, folder_.string(),
                         ": cannot be created; check that you may write to the model's folder");
    flush_name_to_disk(folder_);
  }
  remove_leftovers(folder_);
  write_atomically(path_of(file, mode, id), label(owner_), [&](ByteSink& out) {
    out.write(id);
    out.write(file.digest);
    write_alignment(alignment, out);
  });
  const std::vector<Kept> all = files_in(folder_, {});
  for (std::size_t i = kMostKept; i < all.size(); ++i) fs::remove(all[i].path);
}

AlignmentId id_of(const protocol::Alignment& alignment, const std::string& otherwise) {
  return alignment_id(alignment.name.empty() ? otherwise : "alignment " + alignment.name);
}

protocol::Alignment align_scored(const protocol::Sessions& sessions, const protocol::AlignedPeers& peers,
                                 const job::Job& job, const PreparedRows& rows, const MarkedFile& file,
                                 const KeptAlignments& kept, const std::string& meeting, std::ostream& out) {
  const job::AlignmentMode mode = job.shared.alignment.mode;
  const std::string what = "rows to score";
  if (mode == job::AlignmentMode::kAligned) return align_rows(sessions, peers, job, rows, what, out);
  const AlignmentOffer mine = kept.of(file, mode);
  const auto common = protocol::agree_on_kept_alignment(sessions, mine);
  // An id that the peer made up, or repeats, is none of ours.
  if (common && std::ranges::find(mine, *common) != mine.end()) {
    protocol::Alignment alignment = kept.load(file, mode, *common);
    agree_with_all(sessions, "the kept order of rows",
                   protocol::Settings().add("rows", std::uint64_t{alignment.size()}));
    bind_order(sessions, what, *common);
    out << "aligned: " << alignment.size() << " rows, in the order of an earlier scoring\n" << std::flush;
    return alignment;
  }
  protocol::Alignment alignment = align_rows(sessions, peers, job, rows, what, out);
  kept.keep(file, mode, id_of(alignment, "session " + meeting), alignment);
  return alignment;
}

}  // namespace blindfl::app
