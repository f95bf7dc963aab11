#include "blindfl/data/text_file.h"

#include <lzma.h>

#include <cstdint>
#include <fstream>
#include <new>
#include <optional>
#include <span>
#include <system_error>

#include "blindfl/base/error.h"

namespace blindfl::data {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
// `xz -9` needs 65 MiB to decompress. A file that asks for far more than that is not one of ours.
constexpr std::uint64_t kDecoderMemoryBytes = std::uint64_t{256} << 20;
constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// What a file is compressed with, other than xz; empty if nothing known.
std::string_view foreign_compression(std::string_view head) {
  if (head.starts_with("\x1F\x8B")) return "gzip";
  if (head.starts_with("BZh") && head.find("1AY&SY") == 4) return "bzip2";
  if (head.starts_with("PK\x03\x04")) return "zip";
  if (head.starts_with("\x28\xB5\x2F\xFD")) return "zstd";
  return {};
}

[[noreturn]] void fail_decoding(const std::string& name, lzma_ret problem) {
  switch (problem) {
    case LZMA_MEM_ERROR:
      throw std::bad_alloc();
    case LZMA_BUF_ERROR:
      fail<DataError>(name, ": the xz data ends too early; the file was cut short, fetch it again");
    case LZMA_MEMLIMIT_ERROR:
      fail<DataError>(name, ": decompressing needs more than ", kDecoderMemoryBytes >> 20,
                      " MiB of memory; compress the file again with `xz -9` or lower");
    case LZMA_OPTIONS_ERROR:
      fail<DataError>(name, ": the xz data uses features that this liblzma lacks; compress the file again");
    default:
      fail<DataError>(name, ": the xz data is damaged; fetch the file again, and check it with `xz --test`");
  }
}

/// Owns the state of liblzma.
class XzDecoder {
 public:
  explicit XzDecoder(const std::string& name) {
    const lzma_ret problem = lzma_stream_decoder(&stream, kDecoderMemoryBytes, LZMA_CONCATENATED);
    if (problem != LZMA_OK) fail_decoding(name, problem);
  }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder() { lzma_end(&stream); }

  lzma_stream stream = LZMA_STREAM_INIT;
};

}  // namespace

/// The bytes of a file after decompression.
class LineReader::Input {
 public:
  explicit Input(const std::filesystem::path& path);

  /// How many bytes of `out` were filled: 0 only at the end.
  std::size_t read(std::span<char> out) { return decoder_ ? read_xz(out) : read_plain(out); }

 private:
  void read_raw();
  std::size_t read_plain(std::span<char> out);
  std::size_t read_xz(std::span<char> out);

  std::string name_;
  std::ifstream file_;
  std::vector<char> buffer_;
  // Bytes of the file that nobody has consumed yet.
  std::string_view raw_;
  bool file_ended_ = false;
  bool decoded_all_ = false;
  std::optional<XzDecoder> decoder_;
};

LineReader::Input::Input(const std::filesystem::path& path) : name_(path.string()), buffer_(kBufferBytes) {
  std::error_code unreadable;
  const auto type = std::filesystem::status(path, unreadable).type();
  require<DataError>(type != std::filesystem::file_type::not_found, name_,
                     ": there is no such file; check the path of the data");
  require<DataError>(type != std::filesystem::file_type::directory, name_, ": is a directory; name a file in it");
  file_.open(path, std::ios::binary);
  require<DataError>(file_.is_open(), name_, ": cannot be opened; check who may read it");

  read_raw();
  const std::string_view foreign = foreign_compression(raw_);
  require<DataError>(foreign.empty(), name_, ": is compressed with ", foreign,
                     "; decompress it, or compress it with xz instead");
  // No text begins with 0xFD, so that even a file cut within the magic is known for what it was.
  if (!raw_.empty() && (raw_.starts_with(kXzMagic) || kXzMagic.starts_with(raw_))) decoder_.emplace(name_);
}

void LineReader::Input::read_raw() {
  file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  require<DataError>(!file_.bad(), name_, ": reading failed; check the disk and the file");
  raw_ = std::string_view(buffer_.data(), static_cast<std::size_t>(file_.gcount()));
  file_ended_ = raw_.empty();
}

std::size_t LineReader::Input::read_plain(std::span<char> out) {
  if (raw_.empty() && !file_ended_) read_raw();
  const std::size_t count = raw_.copy(out.data(), out.size());
  raw_.remove_prefix(count);
  return count;
}

std::size_t LineReader::Input::read_xz(std::span<char> out) {
  lzma_stream& stream = decoder_->stream;
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.size();
  while (stream.avail_out > 0 && !decoded_all_) {
    if (raw_.empty() && !file_ended_) read_raw();
    stream.next_in = reinterpret_cast<const std::uint8_t*>(raw_.data());
    stream.avail_in = raw_.size();
    // Told that the file has ended, liblzma takes missing data for an error and not for a reason to wait.
    const lzma_ret result = lzma_code(&stream, file_ended_ ? LZMA_FINISH : LZMA_RUN);
    raw_.remove_prefix(raw_.size() - stream.avail_in);
    decoded_all_ = result == LZMA_STREAM_END;
    if (result != LZMA_OK && !decoded_all_) fail_decoding(name_, result);
  }
  return out.size() - stream.avail_out;
}

LineReader::LineReader(const std::filesystem::path& path, std::size_t max_line_bytes)
    : input_(std::make_unique<Input>(path)),
      name_(path.string()),
      max_line_bytes_(max_line_bytes),
      buffer_(kBufferBytes) {}

LineReader::~LineReader() = default;

bool LineReader::refill() {
  unread_ = std::string_view(buffer_.data(), input_->read(buffer_));
  return !unread_.empty();
}

bool LineReader::next() {
  carried_.clear();
  line_ = {};
  for (bool ended = false; !ended;) {
    if (unread_.empty() && !refill()) {
      if (carried_.empty()) return false;
      line_ = carried_;
      break;
    }
    const std::size_t end = unread_.find('\n');
    ended = end != std::string_view::npos;
    const std::string_view piece = unread_.substr(0, end);
    require<DataError>(piece.size() <= max_line_bytes_ - carried_.size(), name_, ": line ", number_ + 1,
                       " is longer than ", max_line_bytes_, " bytes; this is not a file of rows");
    unread_.remove_prefix(ended ? end + 1 : unread_.size());
    if (ended && carried_.empty()) {
      line_ = piece;
    } else {
      carried_ += piece;
      line_ = carried_;
    }
  }
  ++number_;
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (number_ == 1 && line_.starts_with(kByteOrderMark)) line_.remove_prefix(kByteOrderMark.size());
  return true;
}

}  // namespace blindfl::data
