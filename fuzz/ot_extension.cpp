// Trees, or an extension, as the sender of oblivious transfers gets them. Input: a byte, whose bit 0 says which (1:
// trees), bit 1 whether edits of a valid message follow (see input.h) or, behind a valid header, the body itself, bits
// 2 and 3 the depth, bits 4 and 5 the kernels; and a byte, the number of tiles.

#include <array>

#include "blindfl/base/error.h"
#include "blindfl/ot/pool.h"
#include "blindfl/ot/trees.h"
#include "input.h"

namespace {

using namespace blindfl;
using namespace blindfl::ot;

struct Setting {
  explicit Setting(fuzz::Input& input) {
    const unsigned switches = input.take_byte();
    trees = (switches & 1) != 0;
    edits = (switches & 2) != 0;
    depth = std::array{2, 4, 8, 4}[switches >> 2 & 3];
    kernels = available_kernels()[(switches >> 4 & 3) % available_kernels().size()];
    tiles = 1 + input.take_byte() % 3;
  }
  bool trees;
  bool edits;
  int depth;
  const Kernels* kernels;
  std::size_t tiles;
};

SecretBlocks random_blocks(std::size_t count, Random& random) {
  SecretBlocks blocks(count);
  random.fill(std::as_writable_bytes(std::span(blocks)));
  return blocks;
}

Bytes message_of(fuzz::Input& input, const Setting& setting, Bytes valid) {
  if (setting.edits) return fuzz::edited(input, std::move(valid));
  valid.resize(OtSession::kHeaderBytes);
  valid.insert(valid.end(), input.rest().begin(), input.rest().end());
  return valid;
}

bool is_valid(const Bytes& message, const Bytes& valid) {
  return message.size() == valid.size() &&
         std::equal(message.begin(), message.begin() + OtSession::kHeaderBytes, valid.begin());
}

void try_extension(fuzz::Input& input, const Setting& setting, const OtSession& session, Random& random) {
  const SecretBlocks leaves = random_blocks(session.trees() * session.leaves_per_tree(), random);
  const Bytes valid = RandomOtReceiver(session, leaves, *setting.kernels).extend(setting.tiles);
  const Bytes message = message_of(input, setting, valid);
  RandomOtSender sender(session, Block{1, 2}, leaves, *setting.kernels);
  try {
    sender.extend(message, setting.tiles);
    fuzz::check(is_valid(message, valid), "only an extension is accepted");
    const std::size_t count = setting.tiles * kTileOts;
    fuzz::check(sender.ready() == count && sender.take(count).size() == count, "an extension fills the pool");
  } catch (const ProtocolError&) {
    fuzz::check(!is_valid(message, valid), "an extension is not refused");
    fuzz::check(sender.ready() == 0, "what is refused changes nothing");
  }
}

void try_trees(fuzz::Input& input, const Setting& setting, const OtSession& session, Random& random) {
  BufferSink out;
  session.write_header(out, OtStep::kTrees, 0, 0);
  out.write(Bytes(kTreesBytes));
  const Bytes message = message_of(input, setting, out.bytes());
  try {
    const ByteView body = session.checked_body(message, OtStep::kTrees, 0, 0, kTreesBytes);
    const SecretBlocks leaves =
        punctured_trees(session, random_blocks(1, random)[0], random_blocks(kBaseOts, random), body, *setting.kernels);
    fuzz::check(leaves.size() == session.trees() * session.leaves_per_tree(), "every tree has its leaves");
    fuzz::check(leaves[0] == Block{}, "one leaf of a tree is unknown");
  } catch (const ProtocolError&) {
    fuzz::check(!is_valid(message, out.bytes()), "trees are not refused");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Random random;
  fuzz::Input input(data, size);
  const Setting setting(input);
  OtSpec spec;
  spec.tree_depth = setting.depth;
  const OtSession session(spec);
  if (setting.trees) {
    try_trees(input, setting, session, random);
  } else {
    try_extension(input, setting, session, random);
  }
  return 0;
}
