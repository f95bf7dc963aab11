#include "blindfl/app/plan/party_shape.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/run/steps.h"

namespace blindfl::app {

namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 48;
constexpr std::size_t kFieldBytes = 24;
constexpr std::uint64_t kMostColumns = 0xFFFFFFFFULL;  // columns are counted in 32 bits

std::uint64_t read_count(ByteSource& in, std::uint64_t least, std::uint64_t most, std::string_view what) {
  const std::uint64_t count = in.read_u64();
  require<ProtocolError>(least <= count && count <= most, "feature shape: ", what, " is out of range");
  return count;
}

CategoryField read_field(ByteSource& in, std::size_t index) {
  CategoryField field;
  field.name.assign("f").append(std::to_string(index + 1));
  field.categories = read_count(in, 1, kMostColumns, "the size of a categorical field");
  field.most = read_count(in, 1, std::uint64_t{1} << 20, "a row's number of categories");
  const std::uint64_t pooling = read_count(in, 0, 1, "the pooling of a field");
  field.pooling = pooling == 0 ? Pooling::kSum : Pooling::kMean;
  return field;
}

/// Messages of the same step are told apart by `number`.
void send_shape(net::Channel& channel, const net::StepInfo& step, std::size_t number, const PartyShape& shape) {
  const auto first = static_cast<std::uint32_t>(2 * number);
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_shape(shape, out); });
  channel.send({step, first, 8}, [&](ByteSink& out) { out.write_u64(bytes.size()); });
  channel.send({step, first + 1, bytes.size()}, bytes);
}

PartyShape receive_shape(net::Channel& channel, const net::StepInfo& step, std::size_t number) {
  const auto first = static_cast<std::uint32_t>(2 * number);
  std::uint64_t size = 0;
  channel.receive({step, first, 8}, [&](ByteSource& in) { size = in.read_u64(); });
  require<ProtocolError>(kHeadBytes <= size && size <= kHeadBytes + kMostFields * kFieldBytes,
                         "feature shape: the peer announces one of ", size, " bytes");
  PartyShape shape;
  channel.receive({step, first + 1, size}, [&](ByteSource& in) { shape = read_shape(in); });
  return shape;
}

/// B could tell one A that another has features which it has not, and so that its part is in a sum. Told other shapes
/// than another A, or than that one has, it makes masks that do not cancel.
void bind_shapes(const protocol::Sessions& sessions, const AllShapes& shapes) {
  if (!shapes.a.several()) return;
  const Bytes all = write_to_bytes([&](ByteSink& out) {
    for (const PartyShape& shape : shapes.a) write_shape(shape, out);
    write_shape(shapes.b, out);
  });
  protocol::bind_outputs(sessions, "features", digest_of(all));
}

}  // namespace

std::string words_of(const PartyShape& shape) {
  std::string words;
  if (shape.numeric > 0 || shape.fields.empty()) words = plainly_counted(shape.numeric, "numeric feature");
  if (!shape.fields.empty()) {
    words.append(words.empty() ? "" : ", ");
    words += plainly_counted(shape.fields.size(), "categorical field");
  }
  return words;
}

void write_shape(const PartyShape& shape, ByteSink& out) {
  out.write_u32(kVersion);
  out.write_u32(shape.encoding.clip ? 1 : 0);
  out.write_u64(shape.numeric);
  out.write_u64(shape.nonzeros);
  out.write_u64(static_cast<std::uint64_t>(shape.encoding.scale));
  out.write_u64(std::bit_cast<std::uint64_t>(shape.encoding.largest));
  out.write_u64(shape.fields.size());
  for (const CategoryField& field : shape.fields) {
    out.write_u64(field.categories);
    out.write_u64(field.most);
    out.write_u64(field.pooling == Pooling::kSum ? 0 : 1);
  }
}

PartyShape read_shape(ByteSource& in) {
  require<ProtocolError>(in.read_u32() == kVersion, "feature shape: it is of another version");
  PartyShape shape;
  const std::uint32_t clip = in.read_u32();
  require<ProtocolError>(clip <= 1, "feature shape: its flags are unknown");
  shape.encoding.clip = clip == 1;
  shape.numeric = read_count(in, 0, kMostColumns, "the number of features");
  shape.nonzeros = read_count(in, 0, shape.numeric, "the number of features that are not 0");
  shape.encoding.scale = static_cast<int>(read_count(in, 0, FixedPoint::kMaxScale, "the scale of features"));
  shape.encoding.largest = std::bit_cast<double>(in.read_u64());
  require<ProtocolError>(std::isfinite(shape.encoding.largest) && shape.encoding.largest > 0,
                         "feature shape: the largest feature is not a positive number");
  const std::uint64_t fields = read_count(in, 0, kMostFields, "the number of categorical fields");
  require<ProtocolError>(in.remaining() == fields * kFieldBytes, "feature shape: it has another length than it says");
  shape.fields.reserve(fields);
  for (std::size_t i = 0; i < fields; ++i) shape.fields.push_back(read_field(in, i));
  return shape;
}

std::string ShapesOfA::name(std::size_t place) const {
  if (!names_.empty()) return names_.at(place);
  return several() ? "A " + std::to_string(place + 1) : "A";
}

PartyShape ShapesOfA::together() const {
  if (all_.empty()) return {};
  PartyShape sum = all_.front();
  // Where one says how many of its features are not 0 in a row, and another does not, all of the other's may be.
  const auto nonzeros = [](const PartyShape& shape) { return shape.nonzeros > 0 ? shape.nonzeros : shape.numeric; };
  const bool is_sparse = std::ranges::any_of(all_, [](const PartyShape& shape) { return shape.nonzeros > 0; });
  sum.nonzeros = is_sparse ? nonzeros(sum) : 0;
  for (std::size_t i = 1; i < all_.size(); ++i) {
    sum.numeric += all_[i].numeric;
    if (is_sparse) sum.nonzeros += nonzeros(all_[i]);
    sum.fields.insert(sum.fields.end(), all_[i].fields.begin(), all_[i].fields.end());
  }
  return sum;
}

PartyShape exchange_shapes(protocol::Session& session, const PartyShape& mine) {
  require<InvalidArgument>(mine.fields.size() <= kMostFields, "there are ", mine.fields.size(),
                           " categorical fields, and at most ", kMostFields, " are possible");
  send_shape(session.channel(), run::steps::kFeatureShape, 0, mine);
  return receive_shape(session.channel(), run::steps::kFeatureShape, 0);
}

AllShapes exchange_shapes(const protocol::Sessions& sessions, const PartyShape& mine,
                          const std::vector<std::string>& names, std::size_t place) {
  if (sessions.party() == Party::kB) {
    std::vector<PartyShape> all;
    for (protocol::Session* session : sessions) {
      protocol::naming_peer(*session, [&] { all.push_back(exchange_shapes(*session, mine)); });
    }
    std::size_t to = 0;
    for (protocol::Session* session : sessions) {
      protocol::naming_peer(*session, [&] {
        for (std::size_t other = 0; other < all.size(); ++other) {
          if (other != to) send_shape(session->channel(), run::steps::kShapeOfOther, other, all[other]);
        }
      });
      ++to;
    }
    return {ShapesOfA(std::move(all), names), mine};
  }
  protocol::Session& session = **sessions.begin();
  AllShapes shapes{.a = {}, .b = exchange_shapes(session, mine)};
  std::vector<PartyShape> all;
  for (std::size_t other = 0; other < std::max<std::size_t>(names.size(), 1); ++other) {
    all.push_back(other == place ? mine : receive_shape(session.channel(), run::steps::kShapeOfOther, other));
  }
  shapes.a = ShapesOfA(std::move(all), names);
  bind_shapes(sessions, shapes);
  return shapes;
}

}  // namespace blindfl::app
