#include "blindfl/app/torch/kept_view.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/protocol/layers/weight.h"

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKind = "view";
constexpr std::string_view kEnding = ".bin";
constexpr std::size_t kStepDigits = 12;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostLayers = 64;

void write_matrix(ByteSink& out, const ShareMatrix& matrix) {
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(matrix.rows()), static_cast<std::uint64_t>(matrix.cols()),
        static_cast<std::uint64_t>(matrix.scale()), static_cast<std::uint64_t>(matrix.ring_bits())}) {
    out.write_u64(number);
  }
  out.write_u128(matrix.values());
}

/// Throws DataError unless so many values of so many bytes can be in what is left.
void check_room(const ByteSource& in, std::uint64_t rows, std::uint64_t cols, std::size_t bytes) {
  const std::uint64_t most = in.remaining() / bytes;
  require<DataError>(cols == 0 || rows <= most / cols, "a matrix in it is cut short");
}

int read_small(ByteSource& in, int most) {
  const std::uint64_t number = in.read_u64();
  require<DataError>(number <= static_cast<std::uint64_t>(most), "a scale or a ring in it cannot be");
  return static_cast<int>(number);
}

ShareMatrix read_matrix(ByteSource& in) {
  const std::uint64_t rows = in.read_u64();
  const std::uint64_t cols = in.read_u64();
  const int scale = read_small(in, ShareMatrix::kMostRingBits);
  const int ring_bits = read_small(in, ShareMatrix::kMostRingBits);
  require<DataError>(ring_bits > 0, "a ring in it has no bits");
  check_room(in, rows, cols, sizeof(UInt128));
  ShareMatrix matrix(rows, cols, scale, ring_bits);
  in.read_u128(matrix.values());
  const UInt128 above = ring_bits == ShareMatrix::kMostRingBits ? UInt128{0} : ~UInt128{0} << ring_bits;
  require<DataError>(std::ranges::all_of(matrix.values(), [&](UInt128 v) { return (v & above) == 0; }),
                     "a value in it is not of its ring");
  return matrix;
}

void write_weight(ByteSink& out, const std::optional<ShareMatrix>& weight) {
  out.write_u8(weight ? 1 : 0);
  if (weight) write_matrix(out, *weight);
}

std::optional<ShareMatrix> read_weight(ByteSource& in) {
  if (!in.read_flag()) return std::nullopt;
  return read_matrix(in);
}

void write_layer(ByteSink& out, const SeenLayer& layer) {
  out.write_text(layer.name);
  out.write_u8(layer.categories ? 1 : 0);
  out.write_u64(layer.rows);
  out.write_u64(layer.outputs);
  out.write_u64(static_cast<std::uint64_t>(layer.output_scale));
  out.write_u8(layer.opened ? 1 : 0);
  if (layer.opened) {
    for (const double value : layer.z) out.write_real(value);
  } else {
    write_matrix(out, layer.share);
  }
  write_weight(out, layer.weight_a);
  write_weight(out, layer.weight_b);
}

SeenLayer read_layer(ByteSource& in) {
  SeenLayer layer;
  layer.name = in.read_text(kLongestName);
  layer.categories = in.read_flag();
  const std::uint64_t rows = in.read_u64();
  const std::uint64_t outputs = in.read_u64();
  layer.output_scale = read_small(in, ShareMatrix::kMostRingBits);
  layer.opened = in.read_flag();
  if (layer.opened) {
    check_room(in, rows, outputs, sizeof(double));
    layer.z.resize(rows * outputs);
    for (double& value : layer.z) value = in.read_real();
    require<DataError>(std::ranges::all_of(layer.z, [](double v) { return std::isfinite(v); }), "Z in it is no number");
  } else {
    layer.share = read_matrix(in);
    require<DataError>(layer.share.rows() == rows && layer.share.cols() == outputs, "a share in it has another shape");
  }
  layer.rows = rows;
  layer.outputs = outputs;
  layer.weight_a = read_weight(in);
  layer.weight_b = read_weight(in);
  return layer;
}

/// A weight's piece, where it is all that this party has, and not too large.
std::optional<ShareMatrix> whole_piece(const nn::FederatedParameter& parameter) {
  const protocol::Weight& weight = parameter.weight();
  const std::size_t values = weight.piece.rows() * weight.piece.cols();
  if (weight.update != nullptr || values == 0 || values > kMostSeenWeights) return std::nullopt;
  return weight.piece;
}

/// Calls `f(name, layer)` for each source layer, of numeric features or of categories.
template <class F>
void for_each_source(const JobModel& model, F&& f) {
  for (const auto& named : model.module->named_modules("", /*include_self=*/false)) {
    if (auto* numeric = dynamic_cast<nn::MatMulImpl*>(named.value().get())) f(named.key(), *numeric);
    if (auto* categories = dynamic_cast<nn::EmbedMatMulImpl*>(named.value().get())) f(named.key(), *categories);
  }
}

void take_weights(SeenLayer& seen, const nn::MatMulImpl& layer) {
  seen.weight_a = whole_piece(layer.weight_a());
  seen.weight_b = whole_piece(layer.weight_b());
}
// The parts of a layer of categories mean nothing by themselves.
void take_weights(SeenLayer& seen, const nn::EmbedMatMulImpl& /*layer*/) {
  seen.categories = true;
}

/// Adds the first rows of a share to those that are there.
void append(ShareMatrix& all, const ShareMatrix& share, std::size_t rows) {
  ShareMatrix more(all.rows() + rows, share.cols(), share.scale(), share.ring_bits());
  std::ranges::copy(all.values(), more.values().begin());
  std::ranges::copy(share.values().first(rows * share.cols()),
                    more.values().begin() + static_cast<std::ptrdiff_t>(all.rows() * share.cols()));
  all = std::move(more);
}

void take_output(SeenLayer& seen, Party party, const nn::SourceOutput& output, const torch::Tensor& z) {
  const ShareMatrix& share = output.shares.front().output.share;
  const std::size_t rows = std::min(output.rows, kMostSeenRows - seen.rows);
  if (rows == 0) return;
  seen.outputs = share.cols();
  seen.output_scale = output.opening.scale;
  seen.opened = z.defined() && party == Party::kB;
  if (seen.opened) {
    const std::vector<double> values = nn::to_vector(z.slice(0, 0, nn::torch_size(rows)));
    seen.z.insert(seen.z.end(), values.begin(), values.end());
  } else {
    append(seen.share, share, rows);
  }
  seen.rows += rows;
}

std::string file_name(const SeenPass& pass) {
  std::string digits = std::to_string(pass.step);
  digits.insert(0, kStepDigits - std::min(kStepDigits, digits.size()), '0');
  return pass.set + "-" + digits + std::string(kEnding);
}

std::size_t passes_of(const fs::path& folder, const std::string& set) {
  if (!fs::is_directory(folder)) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(fs::directory_iterator(folder), [&](const auto& entry) {
    return entry.path().filename().string().starts_with(set + "-");
  }));
}

}  // namespace

void write_pass(const SeenPass& pass, ByteSink& out) {
  out.write_text(pass.set);
  out.write_u64(pass.step);
  out.write_u64(pass.layers.size());
  for (const SeenLayer& layer : pass.layers) write_layer(out, layer);
}

SeenPass read_pass(ByteSource& in) {
  SeenPass pass;
  pass.set = in.read_text(kLongestName);
  pass.step = in.read_u64();
  const std::uint64_t layers = in.read_u64();
  require<DataError>(layers <= kMostLayers, "it has more layers than a model");
  for (std::uint64_t i = 0; i < layers; ++i) pass.layers.push_back(read_layer(in));
  return pass;
}

void ViewKeeper::keep_start() const {
  SeenPass pass{.set = "start"};
  for_each_source(model_, [&](const std::string& name, const auto& layer) {
    SeenLayer& seen = pass.layers.emplace_back(SeenLayer{.name = name});
    take_weights(seen, layer);
  });
  write(pass);
}

void ViewKeeper::write(const SeenPass& pass) const {
  folder_.make_view_folder();
  const fs::path path = folder_.view_path() / file_name(pass);
  const bool is_one_more = pass.set == "validation" && !fs::exists(path);
  if (is_one_more && passes_of(folder_.view_path(), pass.set) >= kMostSeenValidations) return;
  const std::string owner = folder_.owner();
  write_atomically(path, {.kind = kKind, .owner = owner}, [&](ByteSink& out) { write_pass(pass, out); });
}

ViewKeeper::Pass::Pass(const ViewKeeper& keeper, std::string_view set, std::uint64_t step)
    : keeper_(keeper), seen_{.set = std::string(set), .step = step} {
  seen_.layers.reserve(kMostLayers);  // observers hold references
  for_each_source(keeper_.model_, [&](const std::string& name, auto& layer) {
    SeenLayer& seen = seen_.layers.emplace_back(SeenLayer{.name = name});
    take_weights(seen, layer);
    layer.observe([&seen, party = keeper_.folder_.summary().party](
                      const nn::SourceOutput& output, const torch::Tensor& z) { take_output(seen, party, output, z); });
  });
}

ViewKeeper::Pass::~Pass() {
  for_each_source(keeper_.model_, [](const std::string& /*name*/, auto& layer) { layer.observe({}); });
}

void ViewKeeper::Pass::keep() const {
  keeper_.write(seen_);
}

std::vector<SeenPass> load_view(const fs::path& folder, const std::string& owner) {
  std::vector<SeenPass> passes;
  if (!fs::is_directory(folder / "view")) return passes;
  for (const auto& entry : fs::directory_iterator(folder / "view")) {
    if (entry.path().extension() != kEnding) continue;
    read_checked(entry.path(), {.kind = kKind, .owner = owner}, [&](ByteSource& in, std::uint32_t /*version*/) {
      reading_state([&] { passes.push_back(read_pass(in)); });
    });
  }
  std::ranges::sort(passes, {}, [](const SeenPass& pass) { return std::pair(pass.set, pass.step); });
  return passes;
}

}  // namespace blindfl::app
