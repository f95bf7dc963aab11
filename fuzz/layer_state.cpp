// Saved state of a MatMul layer, as a party loads it from its file. Input: a byte with whose state (bit 0: B's) and how
// the rest becomes a file: as it stands (bit 1), behind the header of a right one (bit 2), or else as edits of a right
// one.

#include <array>
#include <memory>

#include "blindfl/base/error.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/session/in_process.h"
#include "input.h"
#include "testing/plain/plain_scheme.h"

namespace {

using namespace blindfl;
using protocol::Party;

protocol::MatMulSpec make_spec() {
  protocol::MatMulSpec spec;
  spec.in_a = 3;
  spec.in_b = 2;
  spec.out = 2;
  spec.batch = 4;
  // Plain SGD that is declared: shares of A's weights are of a ring of their own, and steps are counted.
  spec.sgd = {.learning_rate = 0.1, .steps = 10};
  return spec;
}

/// Both halves of a layer in a session of their own: loading sends a message, which nobody takes here.
class Layers {
 public:
  Layers() {
    protocol::run_both([&] { make(Party::kA); }, [&] { make(Party::kB); }, [&] { close(); });
  }

  [[nodiscard]] Bytes save(std::size_t which) const {
    return write_to_bytes([&](ByteSink& out) { layers_[which]->save(out); });
  }
  /// What was read of the file.
  Bytes load(std::size_t which, const Bytes& file) {
    BufferSource in(file);
    layers_[which]->load(in);
    return {file.begin(), file.end() - static_cast<std::ptrdiff_t>(in.remaining())};
  }

 private:
  void make(Party party) {
    const std::size_t i = party == Party::kA ? 0 : 1;
    sessions_[i] = std::make_unique<protocol::Session>(party, i == 0 ? *channels_.first : *channels_.second, scheme_);
    layers_[i] = std::make_unique<protocol::MatMul>(*sessions_[i], make_spec());
  }
  void close() {
    channels_.first->close();
    channels_.second->close();
  }

  testing::PlainScheme scheme_;
  decltype(net::make_memory_channels()) channels_ = net::make_memory_channels();
  std::array<std::unique_ptr<protocol::Session>, 2> sessions_;
  std::array<std::unique_ptr<protocol::MatMul>, 2> layers_;
};

Bytes make_file(fuzz::Input& input, unsigned switches, const Bytes& right) {
  const ByteView rest = input.rest();
  if ((switches & 2) != 0) return {rest.begin(), rest.end()};
  if ((switches & 4) == 0) return fuzz::edited(input, right);
  BufferSource in(right);
  (void)in.read_u64();
  const std::size_t header = 12 + in.read_u32();
  Bytes file(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(header));
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Layers saved;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t which = switches & 1;
  const Bytes right = saved.save(which);
  const Bytes file = make_file(input, switches, right);
  Layers layers;
  const Bytes before = layers.save(which);
  Bytes read;
  try {
    read = layers.load(which, file);
  } catch (const DataError&) {
    fuzz::check(layers.save(which) == before, "a file that is refused changes nothing");
    fuzz::check(file != right, "a right one is not refused");
    return 0;
  }
  fuzz::check(layers.save(which) == read, "what was loaded is saved");
  return 0;
}
