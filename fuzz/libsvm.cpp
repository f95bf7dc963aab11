// A LIBSVM file, plain or compressed: not from a peer, but from who knows where. Input: options (1: indices begin at 0,
// 2: the table has 5 columns, 4: rows may do without labels), then the file.

#include "blindfl/data/libsvm.h"
#include "blindfl/base/error.h"
#include "input.h"
#include "memory_file.h"

using namespace blindfl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  fuzz::Input input(data, size);
  const unsigned options = input.take_byte();
  file.replace(input.rest());
  try {
    const data::Table table = data::read_libsvm(file.path(), {.cols = (options & 2) != 0 ? 5U : 0U,
                                                              .index_base = (options & 1) != 0 ? 0U : 1U,
                                                              .optional_labels = (options & 4) != 0});
    fuzz::check(table.rows() > 0 && table.labels().size() == table.rows(), "every row has a label");
    fuzz::check((options & 2) == 0 || table.cols() == 5, "a table has the columns that were asked for");
  } catch (const DataError&) {
  }
  return 0;
}
