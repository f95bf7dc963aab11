// What was learnt from columns, as a party loads it from its files. Input: a byte (0: a vocabulary, 1: a scaling; 2
// more: the mark and the version are put in), then the file.

#include "blindfl/base/error.h"
#include "blindfl/data/numeric_scaling.h"
#include "blindfl/data/vocabulary.h"
#include "input.h"

namespace {

using namespace blindfl;

template <class Saved>
void load(ByteView bytes) {
  BufferSource in(bytes);
  const Saved loaded = Saved::load(in);
  const Bytes again = write_to_bytes([&](ByteSink& out) { loaded.save(out); });
  fuzz::check(std::ranges::equal(again, bytes.first(bytes.size() - in.remaining())), "saved again, it is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned options = input.take_byte();
  const bool vocabulary = (options & 1) == 0;
  BufferSink file;
  if ((options & 2) != 0) {
    file.write(as_bytes(vocabulary ? "BFVO" : "BFNS"));
    file.write_u32(1);
  }
  file.write(input.rest());
  try {
    vocabulary ? load<data::Vocabulary>(file.bytes()) : load<data::NumericScaling>(file.bytes());
  } catch (const DataError&) {
  }
  return 0;
}
