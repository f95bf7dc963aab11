#include "blindfl/app/torch/aligned_rows.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string_view>
#include <unordered_map>

#include "blindfl/app/link/agree.h"
#include "blindfl/app/plan/peer_limits.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/session/output.h"

namespace blindfl::app {

namespace {

protocol::AlignmentKind kind_of(job::AlignmentMode mode) {
  switch (mode) {
    case job::AlignmentMode::kOnlyB:
      return protocol::AlignmentKind::kOnlyB;
    case job::AlignmentMode::kUnion:
      return protocol::AlignmentKind::kUnion;
    case job::AlignmentMode::kAligned:
    case job::AlignmentMode::kIntersection:
      return protocol::AlignmentKind::kBoth;
  }
  fail<InvalidArgument>("there is no such alignment");
}

protocol::Alignment all_rows(std::size_t rows) {
  protocol::Alignment alignment{std::vector<std::uint32_t>(rows), std::vector<bool>(rows, true)};
  std::iota(alignment.rows.begin(), alignment.rows.end(), 0U);
  return alignment;
}

constexpr std::string_view kThePeer = "the peer";

/// Of the ids in their order, in this session only; zeros if there are none.
Bytes digest_of_ids(const protocol::Session& session, const std::vector<std::string>& ids) {
  if (ids.empty()) return Bytes(kDigestBytes);
  DigestOfPieces digest;
  const auto add = [&](std::string_view text) {
    digest.add(write_to_bytes([&](ByteSink& out) { out.write_u64(text.size()); }));
    digest.add(as_bytes(text));
  };
  add("ids of aligned rows");
  add(session.id());
  for (const std::string& id : ids) add(id);
  return digest.finish();
}

/// With one peer; `peer` is what it is called.
void compare_ids(protocol::Session& session, const std::string& peer, const std::vector<std::string>& ids,
                 const std::string& what, std::ostream& out) {
  net::Channel& channel = session.channel();
  const Bytes mine = digest_of_ids(session, ids);
  channel.send({protocol::steps::kAlignedOrder, 0, kDigestBytes}, mine);
  Bytes theirs(kDigestBytes);
  channel.receive({protocol::steps::kAlignedOrder, 0, kDigestBytes}, [&](ByteSource& in) { in.read(theirs); });
  const bool peer_has_ids = theirs != Bytes(kDigestBytes);
  if (ids.empty() || !peer_has_ids) {
    out << "that the " << what << " are in the same order at "
        << (peer == kThePeer ? "both parties" : "this party and " + peer) << " is taken on trust: "
        << (!ids.empty()   ? peer + " names no ids"
            : peer_has_ids ? "only " + peer + " names ids"
                           : "neither names ids")
        << "\n";
    return;
  }
  require<DataError>(mine == theirs, "the ", what, " of ",
                     peer == kThePeer ? "the two parties" : "this party and " + peer,
                     " are not about the same people in the same order, as shared.alignment.mode "
                     "aligned promises: their ids differ. Sort both files alike; or set the mode to intersection at "
                     "both; or, if id_column does not name people at both, leave it out at one");
  out << "the " << what << " have the same ids in the same order at "
      << (peer == kThePeer ? "both parties" : "this party and " + peer) << "\n";
}

/// A line each time that another tenth is done.
class Tenths {
 public:
  explicit Tenths(std::ostream& out, std::string what) : out_(out), what_(std::move(what)) {}

  void show(std::uint64_t done, std::uint64_t total) {
    const std::uint64_t tenth = total == 0 ? 0 : done * 10 / total;
    if (total < kWorthTelling || tenth == last_) return;
    last_ = tenth;
    out_ << what_ << ": " << tenth * 10 << " %\n" << std::flush;
  }

 private:
  static constexpr std::uint64_t kWorthTelling = 50'000;
  std::ostream& out_;
  std::string what_;
  std::uint64_t last_ = 0;
};

}  // namespace

AlignedRows::AlignedRows(const data::RowSource& rows, protocol::Alignment alignment, std::span<const double> weights)
    : rows_(rows), alignment_(std::move(alignment)), weights_(weights) {}

data::Batch AlignedRows::batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const {
  std::vector<std::uint32_t> places;
  places.reserve(chosen.size());
  for (const std::uint32_t place : chosen) {
    require<InvalidArgument>(place < alignment_.size(), "there is no row ", place);
    places.push_back(alignment_.rows[place]);
  }
  data::Batch batch = rows_.batch(places, batch_size);
  const auto is_real = [&](std::uint32_t place) { return bool{alignment_.real[place]}; };
  if (!batch.labels.empty() && !std::ranges::all_of(chosen, is_real)) {
    batch.counts.reserve(chosen.size());
    for (const std::uint32_t place : chosen) batch.counts.push_back(is_real(place));
  }
  if (!weights_.empty()) {
    batch.weights.reserve(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      batch.weights.push_back(alignment_.real[chosen[i]] ? weights_[places[i]] : 0);
    }
  }
  return batch;
}

std::vector<double> AlignedRows::in_order(const std::vector<double>& values) const {
  std::vector<double> ordered(alignment_.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    ordered[i] = values.at(alignment_.rows[i]);
  }
  return ordered;
}

std::size_t AlignedRows::real() const {
  return static_cast<std::size_t>(std::ranges::count(alignment_.real, true));
}

AlignedRows AlignedRows::only_real() const {
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < alignment_.size(); ++i) {
    if (alignment_.real[i]) places.push_back(static_cast<std::uint32_t>(i));
  }
  return {rows_, select_places(alignment_, places), weights_};
}

protocol::Alignment select_places(const protocol::Alignment& all, std::span<const std::uint32_t> places) {
  protocol::Alignment chosen;
  chosen.rows.reserve(places.size());
  chosen.real.reserve(places.size());
  for (const std::uint32_t place : places) {
    chosen.rows.push_back(all.rows.at(place));
    chosen.real.push_back(all.real.at(place));
  }
  return chosen;
}

void check_ids(const std::vector<std::string>& ids, const std::filesystem::path& path) {
  std::unordered_map<std::string_view, std::size_t> first_rows;
  first_rows.reserve(ids.size());
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const auto [first, is_new] = first_rows.try_emplace(ids[row], row);
    require<DataError>(is_new, path.string(), ": rows ", first->second + 1, " and ", row + 1,
                       ", counted from 1 without the header, have the same id; keep one row for each id");
  }
}

void bind_order(const protocol::Sessions& sessions, const std::string& what, ByteView order) {
  protocol::bind_outputs(sessions, "order of the " + what, order);
}

void bind_alignment(const protocol::Sessions& sessions, const std::string& what, const protocol::Alignment& alignment) {
  if (!alignment.name.empty()) bind_order(sessions, what, as_bytes(alignment.name));
}

protocol::Alignment align_rows(const protocol::Sessions& sessions, const protocol::AlignedPeers& peers,
                               const job::Job& job, const PreparedRows& rows, const std::string& what,
                               std::ostream& out) {
  if (job.shared.alignment.mode == job::AlignmentMode::kAligned) {
    agree_with_all(sessions, "the " + what,
                   protocol::Settings().add("the number of rows, for shared.alignment.mode aligned,",
                                            std::uint64_t{rows.rows->rows()}));
    std::size_t place = 0;
    for (protocol::Session* session : sessions) {
      const std::string peer = sessions.several() ? peers.names.at(place) : std::string(kThePeer);
      protocol::naming_peer(*session, [&] { compare_ids(*session, peer, rows.ids, what, out); });
      ++place;
    }
    return all_rows(rows.rows->rows());
  }
  out << "aligning the " << what << ": " << rows.ids.size() << " ids here\n" << std::flush;
  Tenths tenths(out, "aligning the " + what);
  protocol::AlignmentOptions options;
  options.kind = kind_of(job.shared.alignment.mode);
  options.observer = [&](const protocol::AlignmentProgress& p) { tenths.show(p.done, p.total); };
  options.check_peer_ids = [&](std::uint64_t theirs) { check_peer_ids(job.own.limits, rows.ids.size(), theirs); };
  protocol::Alignment alignment = peers.names.empty() ? protocol::align(**sessions.begin(), rows.ids, options)
                                                      : protocol::align_all(sessions, rows.ids, peers, options);
  const bool any = std::ranges::find(alignment.real, true) != alignment.real.end();
  require<DataError>(any, "the parties' ", what,
                     " have no id in common; compare how both write their ids: blanks, leading zeros, capitals");
  bind_alignment(sessions, what, alignment);
  out << "aligned: " << plainly_counted(alignment.size(), "row") << "\n" << std::flush;
  return alignment;
}

void write_alignment(const protocol::Alignment& alignment, ByteSink& out) {
  out.write_u64(alignment.size());
  for (std::size_t i = 0; i < alignment.size(); ++i) {
    out.write_u32(alignment.rows[i]);
    out.write_u8(alignment.real[i] ? 1 : 0);
  }
}

protocol::Alignment read_alignment(ByteSource& in, std::size_t rows) {
  constexpr std::uint64_t kEntryBytes = 5;
  const std::uint64_t size = in.read_u64();
  require<DataError>(size <= in.remaining() / kEntryBytes, "the saved alignment is cut short");
  protocol::Alignment alignment{std::vector<std::uint32_t>(size), std::vector<bool>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    alignment.rows[i] = in.read_u32();
    alignment.real[i] = in.read_u8() == 1;
    require<DataError>(alignment.rows[i] < rows,
                       "the saved alignment is of a file with more rows: the file has changed since; bring it back, or "
                       "start a new run");
  }
  return alignment;
}

}  // namespace blindfl::app
