#include "blindfl/protocol/layers/layer_state.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

namespace {

constexpr std::uint32_t kLayerMark = 0x53534642;  // "BFSS"
constexpr std::uint32_t kLayerVersion = 2;
constexpr std::size_t kOriginBytes = 16;

/// Settings in words, but for the line of one of them.
std::string without(std::string_view text, std::string_view name) {
  std::string rest;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    const bool is_it = !name.empty() && line.starts_with(name) && line.substr(name.size()).starts_with(": ");
    if (!is_it) rest.append(line);
    text.remove_prefix(line.size());
  }
  return rest;
}

/// Whether settings in words have a line of that name, with a whole number.
bool has_number(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  const std::string line = std::string(name) + ": ";
  const std::size_t begin = text.starts_with(line) ? 0 : text.find("\n" + line) + 1;
  if (begin == 0 && !text.starts_with(line)) return false;
  const std::string_view value = text.substr(begin + line.size());
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  return digits > 0 && value.substr(digits).starts_with('\n');
}

}  // namespace

void write_state_header(ByteSink& out, const Settings& settings) {
  const std::string text = settings.text();
  out.write_u32(kLayerMark);
  out.write_u32(kLayerVersion);
  out.write_u32(static_cast<std::uint32_t>(text.size()));
  out.write(as_bytes(text));
}

void read_state_header(ByteSource& in, std::string_view what, const Settings& settings, std::string_view may_differ) {
  require<DataError>(in.read_u32() == kLayerMark, "this is not saved state of ", what,
                     ", nor of anything else that trains");
  const std::uint32_t version = in.read_u32();
  require<DataError>(version == kLayerVersion, "the saved state of ", what, " is of version ", version,
                     " of its format, and this program reads version ", kLayerVersion);
  const std::uint32_t size = in.read_u32();
  require<DataError>(size <= in.remaining(), "the saved state of ", what, " is cut short or damaged: its settings end ",
                     "after its own end");
  std::string text(size, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  if (text == settings.text()) return;
  if (has_number(text, may_differ) && without(text, may_differ) == without(settings.text(), may_differ)) return;
  const std::string differences = Settings::differences(settings, Settings::parse(text), "here", "in the saved state");
  fail<DataError>("the saved state is not that of ", what, ": ",
                  differences.empty() ? "its settings are damaged" : differences,
                  ". Load it into what was made with the same settings and keys");
}

void StateOrigin::save(ByteSink& out, const Session& session, const Clock& clock) const {
  if (!loaded_.empty() && clock == loaded_clock_) {
    out.write(loaded_);
    return;
  }
  // Together with the clock it stands for one moment: the counter tells trainings of one session apart.
  const Bytes digest = digest_of(session.id() + " " + std::to_string(loads_));
  out.write(ByteView(digest).first(kOriginBytes));
}

Bytes StateOrigin::read(ByteSource& in) {
  Bytes origin(kOriginBytes);
  in.read(origin);
  return origin;
}

void StateOrigin::loaded(Session& session, const std::string& what, const Bytes& origin, const Clock& clock) {
  ++loads_;
  loaded_ = origin;
  loaded_clock_ = clock;
  Settings settings;
  settings.add("saved in", to_hex(origin));
  for (std::size_t i = 0; i < clock.size(); ++i) settings.add("changes " + std::to_string(i), clock[i]);
  session.agree("the saved state of " + what, settings);
}

void write_weight(ByteSink& out, const Weight& weight) {
  out.write_u64(weight.version);
  write_share(out, weight.piece);
}

SavedWeight read_weight(ByteSource& in, const Weight& like) {
  const std::uint64_t version = read_version(in);
  return {version, read_share(in, like.piece)};
}

void write_share(ByteSink& out, const ShareMatrix& share) {
  out.write_u32(static_cast<std::uint32_t>(share.ring_bits()));
  out.write_u128(share.values());
}

ShareMatrix read_share(ByteSource& in, const ShareMatrix& like) {
  const std::uint32_t ring_bits = in.read_u32();
  require<DataError>(ring_bits == static_cast<std::uint32_t>(like.ring_bits()), "the saved state has shares modulo 2^",
                     ring_bits, ", and they are modulo 2^", like.ring_bits(), " here");
  ShareMatrix share(like.rows(), like.cols(), like.scale(), like.ring_bits());
  in.read_u128(share.values());
  ShareMatrix reduced = share;
  reduced.reduce();
  require<DataError>(reduced == share, "the saved state is damaged: a share is not of its ring");
  return share;
}

std::uint64_t read_version(ByteSource& in) {
  const std::uint64_t version = in.read_u64();
  require<DataError>(version >= 1 && version >> 63 == 0,
                     "the saved state is damaged: it counts changes that cannot be");
  return version;
}

}  // namespace blindfl::protocol
