// Saved state of updates under encryption, as the parties load it from their files. Input: a byte with whose state
// (bits 0, 1; 3: B's own rows once more) and how the rest becomes a file: as it stands (bit 2), or over the front of a
// right one (bit 3), or else as edits of it; the right one is from before training (bit 4) or after some steps.

#include <memory>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/session/in_process.h"
#include "small_paillier.h"

namespace {

using namespace blindfl;
using protocol::Party;

constexpr std::size_t kRows = 4;

protocol::MatMulSpec make_spec() {
  protocol::MatMulSpec spec;
  spec.in_a = 6;
  spec.in_b = 5;
  spec.out = 2;
  spec.batch = kRows;
  spec.features_a = spec.features_b = {.scale = 0, .largest = 3.0, .clip = false};
  spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
  spec.update = protocol::Update::kEncrypted;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.01, .steps = 20};
  return spec;
}

/// Both halves of a layer that was trained, with the states that they saved before and after.
class Layers {
 public:
  static constexpr std::size_t kStates = 3;

  Layers() {
    protocol::run_both([&] { make(Party::kA); }, [&] { make(Party::kB); }, [&] { close(); });
    for (std::size_t which = 0; which < kStates; ++which) before_[which] = save(which);
    SeededRandom random(1);
    for (int i = 0; i < 7; ++i) {  // more than a window of momentum
      const IntMatrix x_a = testing::random_matrix(IntMatrix::Kind::kCsr, kRows, 6, 0, 3, random);
      const IntMatrix x_b = testing::random_matrix(IntMatrix::Kind::kCsr, kRows, 5, 0, 3, random);
      const std::vector<double> dz(kRows * 2, 0.25);
      const protocol::Derivative d = protocol::encode_derivative(FixedPoint(make_spec().derivative), kRows, 2, dz);
      protocol::run_both([&] { (void)layers_[0]->backward(x_a, protocol::absent_derivative(kRows, kRows)); },
                         [&] { (void)layers_[1]->backward(x_b, d); }, [&] { close(); });
      layers_[0]->holder()->step();
      layers_[1]->owner()->step();
      layers_[1]->row_update()->step();
    }
    for (std::size_t which = 0; which < kStates; ++which) after_[which] = save(which);
  }

  [[nodiscard]] const Bytes& right(std::size_t which, bool trained) const {
    return trained ? after_[which] : before_[which];
  }
  [[nodiscard]] Bytes save(std::size_t which) {
    return write_to_bytes([&](ByteSink& out) {
      if (which == 0) layers_[0]->holder()->save(out, pool_);
      if (which == 1) layers_[1]->owner()->save(out);
      if (which == 2) layers_[1]->row_update()->save(out);
    });
  }
  /// What was read of the bytes.
  Bytes load(std::size_t which, const Bytes& bytes) {
    BufferSource in(bytes);
    if (which == 0) layers_[0]->holder()->load(in, pool_);
    if (which == 1) layers_[1]->owner()->load(in);
    if (which == 2) layers_[1]->row_update()->load(in);
    return {bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(in.remaining())};
  }
  /// What the next pass would do with what was loaded.
  void use(std::size_t which) {
    if (which == 2) layers_[1]->row_update()->refresh_all();
    if (which != 0) return;
    const std::vector<std::int64_t> ones(6, 1);
    (void)multiply(IntMatrix::dense(1, 6, ones, 0, 1),
                   dynamic_cast<const he::paillier::CryptoTensor&>(layers_[0]->holder()->sum()), 6, pool_);
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

  he::PaillierScheme scheme_{he::paillier::InsecureParams::make(), {}};
  decltype(net::make_memory_channels()) channels_ = net::make_memory_channels();
  std::array<std::unique_ptr<protocol::Session>, 2> sessions_;
  std::array<std::unique_ptr<protocol::MatMul>, 2> layers_;
  std::array<Bytes, kStates> before_;
  std::array<Bytes, kStates> after_;
  ThreadPool pool_;
};

Bytes make_file(fuzz::Input& input, unsigned switches, const Bytes& right) {
  const ByteView rest = input.rest();
  if ((switches & 4) != 0) return {rest.begin(), rest.end()};
  if ((switches & 8) == 0) return fuzz::edited(input, right);
  // Longer ones are longer, shorter ones end early: the length is the input's, behind the header at least.
  Bytes file(right.begin(), right.begin() + std::min<std::ptrdiff_t>(std::ssize(right), 40));
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Layers layers;
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const std::size_t which = std::min<std::size_t>(switches & 3, 2);
  const Bytes file = make_file(input, switches, layers.right(which, (switches & 16) == 0));
  (void)layers.load(which, layers.right(which, true));
  const Bytes before = layers.save(which);
  fuzz::check(before == layers.right(which, true), "what was saved is loaded");
  Bytes read;
  try {
    read = layers.load(which, file);
  } catch (const DataError&) {
    fuzz::check(layers.save(which) == before, "a file that is refused changes nothing");
    fuzz::check(file != layers.right(which, true) && file != layers.right(which, false), "a right one is not refused");
    return 0;
  }
  fuzz::check(layers.save(which) == read, "what was loaded is saved");
  layers.use(which);
  return 0;
}
