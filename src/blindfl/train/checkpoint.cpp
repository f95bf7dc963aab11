#include "blindfl/train/checkpoint.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/nn/state.h"

namespace blindfl::train {

namespace {

/// The first has no count of range checks.
constexpr std::uint32_t kVersion = 2;

void write_state(ByteSink& out, const TrainingState& state) {
  out.write_u64(state.step);
  out.write_u64(std::bit_cast<std::uint64_t>(state.seconds));
  out.write_u64(state.best_step);
  out.write_u8(state.best ? 1 : 0);
  out.write_u64(std::bit_cast<std::uint64_t>(state.best.value_or(0)));
  out.write_u64(state.not_better);
  out.write_u8(state.enough ? 1 : 0);
  for (const net::Traffic& traffic : {state.sent, state.received}) {
    out.write_u64(traffic.messages);
    out.write_u64(traffic.bytes);
  }
  out.write_u64(state.range_checks);
}

TrainingState read_state(ByteSource& in, std::uint32_t version) {
  TrainingState state;
  state.step = in.read_u64();
  state.seconds = std::bit_cast<double>(in.read_u64());
  state.best_step = in.read_u64();
  const bool has_best = in.read_u8() == 1;
  const auto best = std::bit_cast<double>(in.read_u64());
  if (has_best) state.best = best;
  state.not_better = in.read_u64();
  state.enough = in.read_u8() == 1;
  for (net::Traffic* traffic : {&state.sent, &state.received}) {
    traffic->messages = in.read_u64();
    traffic->bytes = in.read_u64();
  }
  if (version >= 2) state.range_checks = in.read_u64();
  return state;
}

std::filesystem::path keys_path(const std::filesystem::path& folder, std::size_t peer) {
  return folder / (peer == 1 ? "keys.bin" : "keys-" + std::to_string(peer) + ".bin");
}

}  // namespace

void save_checkpoint(const run::RunFolder& folder, const TrainingState& state, const nn::FederatedModule& model,
                     const nn::FederatedOptimizer& optimizer) {
  const std::string owner = folder.owner();
  const FileLabel label{.kind = "checkpoint", .version = kVersion, .owner = owner};
  write_atomically(folder.checkpoint_path(state.step), label, [&](ByteSink& out) {
    write_state(out, state);
    nn::save_state(model, out);
    optimizer.save(out);
  });
}

TrainingState load_checkpoint(const run::RunFolder& folder, std::uint64_t step, nn::FederatedModule& model,
                              nn::FederatedOptimizer& optimizer) {
  TrainingState state;
  const std::string owner = folder.owner();
  const std::filesystem::path path = folder.checkpoint_path(step);
  const FileLabel label{.kind = "checkpoint", .version = kVersion, .owner = owner};
  read_checked(path, label, [&](ByteSource& in, std::uint32_t version) {
    reading_state([&] {
      state = read_state(in, version);
      require<DataError>(state.step == step, path.string(), ": is of another step than its name says");
      nn::load_state(model, in);
      optimizer.load(in);
    });
  });
  return state;
}

void remove_checkpoints(const run::RunFolder& folder, std::size_t keep, const std::vector<std::uint64_t>& needed) {
  const std::vector<run::SavedStep> all = folder.checkpoints();
  for (std::size_t i = keep; i < all.size(); ++i) {
    const bool is_needed = all[i].step > 0 && std::ranges::find(needed, all[i].step) != needed.end();
    if (!is_needed) std::filesystem::remove(all[i].path);
  }
}

void supersede_checkpoints_after(const run::RunFolder& folder, std::uint64_t step, std::size_t keep) {
  namespace fs = std::filesystem;
  const fs::path aside = folder.checkpoint_path(step).parent_path() / "superseded";
  std::size_t moved = 0;
  for (const run::SavedStep& saved : folder.checkpoints()) {
    if (saved.step <= step) continue;
    if (fs::create_directory(aside)) fs::permissions(aside, fs::perms::owner_all);
    fs::rename(saved.path, aside / saved.path.filename());
    flush_name_to_disk(saved.path);
    ++moved;
  }
  if (!fs::is_directory(aside)) return;
  std::vector<fs::directory_entry> files(fs::directory_iterator(aside), {});
  std::erase_if(files, [](const fs::directory_entry& file) { return file.path().extension() != ".ckpt"; });
  std::ranges::sort(files, std::greater{}, [](const fs::directory_entry& file) { return file.last_write_time(); });
  for (std::size_t i = std::max(keep, moved); i < files.size(); ++i) fs::remove(files[i].path());
}

void save_keys(const std::filesystem::path& folder, const protocol::Sessions& sessions) {
  std::size_t peer = 0;
  for (const protocol::Session* session : sessions) {
    const std::filesystem::path path = keys_path(folder, ++peer);
    if (session->keys_to_save() == 0) continue;
    write_atomically(path, {.kind = "keys"}, [&](ByteSink& out) { session->save_keys(out); });
  }
}

SavedKeys load_keys(const std::filesystem::path& folder, std::size_t peer) {
  const std::filesystem::path path = keys_path(folder, peer);
  if (!std::filesystem::exists(path)) return nullptr;
  return std::make_shared<const SecretVector<std::byte>>(read_checked(path, {.kind = "keys"}).bytes);
}

}  // namespace blindfl::train
