// A LIBSVM file, plain or compressed: not from a peer, but from who knows where. Input: options (1: indices begin at 0,
// 2: the table has 5 columns), then the file.

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "blindfl/base/error.h"
#include "blindfl/data/libsvm.h"
#include "input.h"

namespace {

using namespace blindfl;

/// A file that is never on a disk.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("libsvm", 0)) { fuzz::check(descriptor_ >= 0, "there is a memory file"); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  void replace(ByteView content) const {
    const auto size = static_cast<off_t>(content.size());
    fuzz::check(ftruncate(descriptor_, size) == 0, "the memory file takes its size");
    fuzz::check(pwrite(descriptor_, content.data(), content.size(), 0) == size, "the memory file is written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  fuzz::Input input(data, size);
  const unsigned options = input.take_byte();
  file.replace(input.rest());
  try {
    const data::Table table = data::read_libsvm(
        file.path(), {.cols = (options & 2) != 0 ? 5U : 0U, .index_base = (options & 1) != 0 ? 0U : 1U});
    fuzz::check(table.rows() > 0 && table.labels().size() == table.rows(), "every row has a label");
    fuzz::check((options & 2) == 0 || table.cols() == 5, "a table has the columns that were asked for");
  } catch (const DataError&) {
  }
  return 0;
}
