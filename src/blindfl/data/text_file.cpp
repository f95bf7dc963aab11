#include "blindfl/data/text_file.h"

#include <fstream>
#include <span>
#include <system_error>

#include "blindfl/base/error.h"
#include "blindfl/data/decompressor.h"

namespace blindfl::data {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

/// The bytes of a file after decompression.
class LineReader::Input {
 public:
  Input(const std::filesystem::path& path, DigestOfPieces* digest);

  /// How many bytes of `out` were filled: 0 only at the end.
  std::size_t read(std::span<char> out);

 private:
  void read_raw();

  std::string name_;
  DigestOfPieces* digest_;  // null: nobody wants it
  std::ifstream file_;
  std::vector<char> buffer_;
  // Bytes of the file that nobody has consumed yet.
  std::string_view raw_;
  bool file_ended_ = false;
  // None: the file is plain.
  std::unique_ptr<Decompressor> decompressor_;
};

LineReader::Input::Input(const std::filesystem::path& path, DigestOfPieces* digest)
    : name_(path.string()), digest_(digest), buffer_(kBufferBytes) {
  std::error_code unreadable;
  const auto type = std::filesystem::status(path, unreadable).type();
  require<DataError>(type != std::filesystem::file_type::not_found, name_,
                     ": there is no such file; check the path of the data");
  require<DataError>(type != std::filesystem::file_type::directory, name_, ": is a directory; name a file in it");
  file_.open(path, std::ios::binary);
  require<DataError>(file_.is_open(), name_, ": cannot be opened; check who may read it");
  read_raw();
  decompressor_ = make_decompressor(raw_, name_);
}

void LineReader::Input::read_raw() {
  file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  require<DataError>(!file_.bad(), name_, ": reading failed; check the disk and the file");
  raw_ = std::string_view(buffer_.data(), static_cast<std::size_t>(file_.gcount()));
  file_ended_ = raw_.empty();
  if (digest_ != nullptr) digest_->add(as_bytes(raw_));
}

std::size_t LineReader::Input::read(std::span<char> out) {
  while (true) {
    if (raw_.empty() && !file_ended_) read_raw();
    if (decompressor_ == nullptr) {
      const std::size_t count = raw_.copy(out.data(), out.size());
      raw_.remove_prefix(count);
      return count;
    }
    const auto [taken, made] = decompressor_->decompress(raw_, out);
    raw_.remove_prefix(taken);
    if (made > 0 || file_ended_) return made;
  }
}

LineReader::LineReader(const std::filesystem::path& path, std::size_t max_line_bytes, DigestOfPieces* digest)
    : input_(std::make_unique<Input>(path, digest)),
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
