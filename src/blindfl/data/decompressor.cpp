#include "blindfl/data/decompressor.h"

#include <lzma.h>
// zlib.h then says that it does not write to its input.
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/free_with.h"

namespace blindfl::data {

namespace {

// `xz -9` needs 65 MiB to decompress. A file that asks for far more than that is not one of ours.
constexpr std::uint64_t kXzMemoryBytes = std::uint64_t{256} << 20;
// 128 MiB: what `zstd -d` takes unless told otherwise.
constexpr int kZstdWindowBits = 27;

constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

[[noreturn]] void fail_cut_short(const std::string& name, std::string_view what) {
  fail<DataError>(name, ": the ", what, " data ends too early; the file was cut short, fetch it again");
}

[[noreturn]] void fail_damaged(const std::string& name, std::string_view what) {
  fail<DataError>(name, ": the ", what, " data is damaged; fetch the file again, and check it with `", what,
                  " --test`");
}

[[noreturn]] void fail_memory(const std::string& name, std::uint64_t bytes, std::string_view advice) {
  fail<DataError>(name, ": decompressing needs more than ", bytes >> 20, " MiB of memory; ", advice);
}

class XzDecompressor final : public Decompressor {
 public:
  explicit XzDecompressor(std::string name) : name_(std::move(name)) {
    check(lzma_stream_decoder(&stream_, kXzMemoryBytes, LZMA_CONCATENATED));
  }
  XzDecompressor(const XzDecompressor&) = delete;
  XzDecompressor& operator=(const XzDecompressor&) = delete;
  ~XzDecompressor() override { lzma_end(&stream_); }

  Progress decompress(std::string_view in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
    check(result);
    const Progress progress{.taken = in.size() - stream_.avail_in, .made = out.size() - stream_.avail_out};
    if (in.empty() && progress.made == 0 && result != LZMA_STREAM_END) fail_cut_short(name_, "xz");
    return progress;
  }

 private:
  void check(lzma_ret result) const {
    switch (result) {
      case LZMA_OK:
      case LZMA_STREAM_END:
        return;
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_BUF_ERROR:
        fail_cut_short(name_, "xz");
      case LZMA_MEMLIMIT_ERROR:
        fail_memory(name_, kXzMemoryBytes, "compress the file again with `xz -9` or lower");
      case LZMA_OPTIONS_ERROR:
        fail<DataError>(name_, ": the xz data uses features that this liblzma lacks; compress the file again");
      default:
        fail_damaged(name_, "xz");
    }
  }

  std::string name_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class GzipDecompressor final : public Decompressor {
 public:
  explicit GzipDecompressor(std::string name) : name_(std::move(name)) {
    // 16 more than the largest window: a gzip header and its checksum, nothing else.
    check(inflateInit2(&stream_, 15 + 16));
  }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;
  ~GzipDecompressor() override { inflateEnd(&stream_); }

  Progress decompress(std::string_view in, std::span<char> out) override {
    if (in.empty() && between_) return {};
    // After a file's end there may be another: such files were joined.
    if (between_) check(inflateReset(&stream_));
    between_ = false;
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto offered = static_cast<uInt>(std::min(in.size(), kMost));
    const auto room = static_cast<uInt>(std::min(out.size(), kMost));
    stream_.next_in = reinterpret_cast<const Bytef*>(in.data());
    stream_.avail_in = offered;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    between_ = result == Z_STREAM_END;
    // No progress, which is what happens without input.
    if (result == Z_BUF_ERROR && in.empty()) fail_cut_short(name_, "gzip");
    check(result);
    return {.taken = offered - stream_.avail_in, .made = room - stream_.avail_out};
  }

 private:
  void check(int result) const {
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) fail_damaged(name_, "gzip");
  }

  std::string name_;
  z_stream stream_{};
  bool between_ = false;
};

class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(std::string name) : name_(std::move(name)), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    check(ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kZstdWindowBits));
  }

  Progress decompress(std::string_view in, std::span<char> out) override {
    if (in.empty() && between_) return {};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &to, &from);
    check(result);
    // A frame has ended, and another may follow.
    between_ = result == 0;
    if (in.empty() && to.pos == 0 && !between_) fail_cut_short(name_, "zstd");
    return {.taken = from.pos, .made = to.pos};
  }

 private:
  void check(std::size_t result) const {
    if (ZSTD_isError(result) == 0) return;
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_memory_allocation:
        throw std::bad_alloc();
      case ZSTD_error_frameParameter_windowTooLarge:
        fail_memory(name_, std::uint64_t{1} << kZstdWindowBits, "compress the file again without `--long`");
      default:
        fail_damaged(name_, "zstd");
    }
  }

  std::string name_;
  std::unique_ptr<ZSTD_DStream, FreeWith<ZSTD_freeDStream>> stream_;
  bool between_ = false;
};

/// Whether a file begins with `magic`, or was cut within it: no text begins with `sure` bytes of it.
bool begins(std::string_view head, std::string_view magic, std::size_t sure) {
  return head.starts_with(magic) || (head.size() >= sure && magic.starts_with(head));
}

}  // namespace

std::unique_ptr<Decompressor> make_decompressor(std::string_view head, const std::string& name) {
  if (begins(head, kXzMagic, 1)) return std::make_unique<XzDecompressor>(name);
  if (begins(head, kGzipMagic, 1)) return std::make_unique<GzipDecompressor>(name);
  // Its first byte alone is a bracket.
  if (begins(head, kZstdMagic, 2)) return std::make_unique<ZstdDecompressor>(name);
  const bool bzip2 = head.starts_with("BZh") && head.find("1AY&SY") == 4;
  const bool zip = head.starts_with("PK\x03\x04");
  require<DataError>(!bzip2 && !zip, name, ": is compressed with ", bzip2 ? "bzip2" : "zip",
                     "; decompress it, or compress it with xz, gzip or zstd instead");
  return nullptr;
}

}  // namespace blindfl::data
