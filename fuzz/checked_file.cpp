// A file with a header and a digest: a checkpoint, a key. Input: what to put in (1: the magic and the header's version,
// 2: the content's length, 4: the digest), then the file.

#include <algorithm>
#include <cstring>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "input.h"
#include "memory_file.h"

using namespace blindfl;

namespace {

constexpr std::size_t kLengthAt = 120;
constexpr std::size_t kDigestAt = 128;

void repair(Bytes& file, unsigned what) {
  if (file.size() < kCheckedHeaderBytes) return;
  if ((what & 1) != 0) std::memcpy(file.data(), "BlindFL\n\1\0\0\0", 12);
  if ((what & 2) != 0) {
    const std::uint64_t length = file.size() - kCheckedHeaderBytes;
    std::memcpy(file.data() + kLengthAt, &length, sizeof length);
  }
  if ((what & 4) != 0) {
    Bytes hashed(file.begin() + kCheckedHeaderBytes, file.end());
    hashed.insert(hashed.end(), file.begin(), file.begin() + kDigestAt);
    std::ranges::copy(digest_of(hashed), file.begin() + kDigestAt);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile memory;
  fuzz::Input input(data, size);
  const unsigned what = input.take_byte();
  Bytes file(input.rest().begin(), input.rest().end());
  repair(file, what);
  memory.replace(file);
  try {
    const CheckedContent content = read_checked(memory.path(), {.kind = "checkpoint", .version = 2, .owner = {}});
    fuzz::check(content.version == 1 || content.version == 2, "a version is one that was asked for");
    fuzz::check(std::ranges::equal(content.bytes, ByteView(file).subspan(kCheckedHeaderBytes)), "the content is whole");
  } catch (const DataError&) {
  }
  return 0;
}
