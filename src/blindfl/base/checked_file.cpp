#include "blindfl/base/checked_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "blindfl/base/atomic_file.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl {

namespace {

constexpr std::string_view kMagic = "BlindFL\n";
constexpr std::uint32_t kHeaderVersion = 1;
constexpr std::size_t kDigestAt = kCheckedHeaderBytes - kDigestBytes;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

struct Header {
  std::uint32_t header_version = kHeaderVersion;
  std::uint32_t version = 0;
  std::string kind;
  std::string owner;
  std::uint64_t length = 0;
};

void check_label(const FileLabel& label) {
  require<InvalidArgument>(!label.kind.empty() && label.kind.size() <= kMaxKindCharacters && is_printable(label.kind),
                           "a file's kind has 1 to ", kMaxKindCharacters, " printable ASCII characters");
  require<InvalidArgument>(label.owner.size() <= kMaxOwnerCharacters && is_printable(label.owner),
                           "a file's owner has at most ", kMaxOwnerCharacters, " printable ASCII characters");
  require<InvalidArgument>(label.version > 0, "versions of a file's content begin with 1");
}

void write_padded(ByteSink& sink, std::string_view text, std::size_t size) {
  const Bytes zeros(size - text.size());
  sink.write(as_bytes(text));
  sink.write(zeros);
}

/// All of the header but the digest.
Bytes encode(const FileLabel& label, std::uint64_t length) {
  return write_to_bytes([&](ByteSink& sink) {
    sink.write(as_bytes(kMagic));
    sink.write_u32(kHeaderVersion);
    sink.write_u32(label.version);
    write_padded(sink, label.kind, kMaxKindCharacters);
    write_padded(sink, label.owner, kMaxOwnerCharacters);
    sink.write_u64(length);
  });
}

// Without what follows the first zero, and without what a terminal would obey.
std::string read_padded(ByteSource& source, std::size_t size) {
  std::string text(size, '\0');
  source.read(std::as_writable_bytes(std::span(text)));
  return printable(std::string_view(text).substr(0, text.find('\0')));
}

Header decode(ByteView bytes) {
  BufferSource source(bytes.subspan(kMagic.size()));
  Header header;
  header.header_version = source.read_u32();
  header.version = source.read_u32();
  header.kind = read_padded(source, kMaxKindCharacters);
  header.owner = read_padded(source, kMaxOwnerCharacters);
  header.length = source.read_u64();
  return header;
}

/// Passes on what is written, and keeps count of it.
class CountingSink final : public ByteSink {
 public:
  explicit CountingSink(ByteSink& next) : next_(next) {}
  void write(ByteView bytes) override {
    next_.write(bytes);
    digest_.add(bytes);
    length_ += bytes.size();
  }
  [[nodiscard]] std::uint64_t length() const { return length_; }
  [[nodiscard]] DigestOfPieces& digest() { return digest_; }

 private:
  ByteSink& next_;
  DigestOfPieces digest_;
  std::uint64_t length_ = 0;
};

/// A file that is being read and refused. The errors say what it was taken for.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const FileLabel& label)
      : label_(label), name_(path.string()), file_(DiskFile::open(path)), buffer_(kPieceBytes) {}

  /// Checks all there is to check, and goes to the beginning of the content.
  [[nodiscard]] Header check();
  void read(std::span<std::byte> out);

 private:
  void check_beginning(std::size_t have, std::uint64_t size) const;
  void check_digest(std::uint64_t length);
  void check_label_of(const Header& header) const;
  template <class... Parts>
  void refuse_unless(bool fine, const Parts&... parts) const {
    require<DataError>(fine, name_, ": ", parts...);
  }

  const FileLabel& label_;
  std::string name_;
  DiskFile file_;
  std::array<std::byte, kCheckedHeaderBytes> header_{};
  SecretVector<std::byte> buffer_;  ///< pieces that were read ahead
  std::span<std::byte> ahead_;
};

Header Reader::check() {
  require<ConfigError>(label_.readers == Readers::kEveryone || file_.is_private(), name_,
                       ": others than its owner may read or change this file (", label_.kind, "); run `chmod 600 '",
                       name_, "'`, and make a new one if somebody may have read it");
  const std::uint64_t size = file_.size();
  check_beginning(file_.read_some(header_), size);
  Header header = decode(header_);
  refuse_unless(header.header_version == kHeaderVersion, "has a header of version ", header.header_version,
                ", and this release knows version ", kHeaderVersion,
                "; use the release that wrote it, or another copy if it may be damaged");
  const std::uint64_t length = size - kCheckedHeaderBytes;
  refuse_unless(length >= header.length, "is cut short: it has ", length, " of ", header.length,
                " bytes of content. Its writer was stopped, the disk was full or it was not copied to its end; use "
                "another copy, or an earlier file");
  refuse_unless(length == header.length, "is damaged: ", length - header.length,
                " bytes follow its end; use another copy, or an earlier file");
  check_digest(length);
  check_label_of(header);
  file_.seek(kCheckedHeaderBytes);
  return header;
}

void Reader::check_beginning(std::size_t have, std::uint64_t size) const {
  const ByteView magic = as_bytes(kMagic);
  const std::size_t compared = std::min(have, magic.size());
  refuse_unless(std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(compared), header_.begin()),
                "is not a file of BlindFL's; name the ", label_.kind, " that a run wrote");
  refuse_unless(have == kCheckedHeaderBytes, "is cut short: it has ", size,
                " bytes, less than its header takes; use another copy, or an earlier file");
}

void Reader::check_digest(std::uint64_t length) {
  DigestOfPieces digest;
  while (length > 0) {
    const auto piece = std::span(buffer_).first(static_cast<std::size_t>(std::min<std::uint64_t>(length, kPieceBytes)));
    refuse_unless(file_.read_some(piece) == piece.size(), "became shorter while it was read; try again");
    digest.add(piece);
    length -= piece.size();
  }
  digest.add(ByteView(header_).first(kDigestAt));
  refuse_unless(std::ranges::equal(digest.finish(), ByteView(header_).subspan(kDigestAt)),
                "is damaged: its SHA-256 is not that of what it holds; use another copy, or an earlier file");
}

void Reader::check_label_of(const Header& header) const {
  refuse_unless(header.kind == label_.kind, "holds a '", header.kind, "', not a '", label_.kind,
                "'; name another file");
  refuse_unless(label_.owner.empty() || header.owner == label_.owner, "belongs to '", header.owner, "', not to '",
                label_.owner, "'; name a file of this one's own");
  refuse_unless(header.version > 0, "has a content without a version; it was not written by BlindFL");
  refuse_unless(header.version <= label_.version, "holds version ", header.version, " of a '", label_.kind,
                "', and this release reads versions up to ", label_.version, "; use the release that wrote it");
}

void Reader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (ahead_.empty()) ahead_ = std::span(buffer_).first(file_.read_some(buffer_));
    refuse_unless(!ahead_.empty(), "became shorter while it was read; try again");
    const std::size_t count = std::min(out.size(), ahead_.size());
    std::copy_n(ahead_.begin(), count, out.begin());
    ahead_ = ahead_.subspan(count);
    out = out.subspan(count);
  }
}

class ContentSource final : public ByteSource {
 public:
  ContentSource(Reader& reader, std::uint64_t length) : reader_(reader), remaining_(length) {}
  void read(std::span<std::byte> out) override {
    require<ProtocolError>(out.size() <= remaining_, "it ends where ", out.size(), " more bytes should be");
    reader_.read(out);
    remaining_ -= out.size();
  }
  [[nodiscard]] std::uint64_t remaining() const override { return remaining_; }

 private:
  Reader& reader_;
  std::uint64_t remaining_;
};

}  // namespace

void write_atomically(const std::filesystem::path& path, const FileLabel& label,
                      const std::function<void(ByteSink&)>& body) {
  check_label(label);
  AtomicFile file(path, label.readers);
  file.write(Bytes(kCheckedHeaderBytes));
  CountingSink sink(file);
  body(sink);
  Bytes header = encode(label, sink.length());
  sink.digest().add(header);
  const Bytes digest = sink.digest().finish();
  header.insert(header.end(), digest.begin(), digest.end());
  file.rewrite_beginning(header);
  file.commit();
}

void write_atomically(const std::filesystem::path& path, const FileLabel& label, ByteView content) {
  write_atomically(path, label, [&](ByteSink& sink) { sink.write(content); });
}

void read_checked(const std::filesystem::path& path, const FileLabel& label,
                  const std::function<void(ByteSource&, std::uint32_t version)>& body) {
  check_label(label);
  Reader reader(path, label);
  const Header header = reader.check();
  ContentSource source(reader, header.length);
  try {
    body(source, header.version);
  } catch (const ProtocolError& error) {
    // What a file holds instead of what it should is the file's fault, not the peer's.
    fail<DataError>(path.string(), ": does not hold a whole '", label.kind, "': ", error.what());
  }
  require<DataError>(source.remaining() == 0, path.string(), ": holds ", source.remaining(), " bytes more than a '",
                     label.kind, "' has; use the release that wrote it");
}

CheckedContent read_checked(const std::filesystem::path& path, const FileLabel& label) {
  CheckedContent content;
  read_checked(path, label, [&](ByteSource& source, std::uint32_t version) {
    content.version = version;
    content.bytes.resize(static_cast<std::size_t>(source.remaining()));
    source.read(content.bytes);
  });
  return content;
}

}  // namespace blindfl
