#include "blindfl/app/torch/run_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/base/checked_file.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/nn/state.h"

namespace blindfl::app {

namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;

void write_text(ByteSink& out, std::string_view text) {
  out.write_u64(text.size());
  out.write(as_bytes(text));
}

std::string read_text(ByteSource& in) {
  const std::uint64_t size = in.read_u64();
  require<DataError>(size <= std::min(in.remaining(), kLongestText), "a text in it is cut short");
  std::string text(size, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  return text;
}

/// Version 1 had no test share, no scale of labels, and not the number of rows that were trained on. Versions 3 and 4
/// are those of models of several A's, 3 without what they began with: those of one stay as they were.
constexpr FileLabel kAnyModel{.kind = "model", .version = 4};

FileLabel label_of(const ModelFacts& facts) {
  const bool several = facts.shapes_a.several();
  return {.kind = "model", .version = !several ? 2U : facts.began.empty() ? 3U : kAnyModel.version};
}

/// Version 1 had no digests of the files. Version 3 is that of several A's: what they began with, and what they know
/// orders by.
FileLabel alignment_label(bool several = true) {
  return {.kind = "alignment", .version = several ? 3U : 2U};
}

Bytes read_beginning(ByteSource& in, std::uint32_t version) {
  Bytes began(version > 2 ? kDigestBytes : 0);
  in.read(began);
  return began;
}

void check_unchanged(ByteSource& in, const MarkedFile& file) {
  Bytes digest(kDigestBytes);
  in.read(digest);
  require<DataError>(digest == file.digest, file.path.string(),
                     ": has changed since the run began; bring it back as it was, or start a new run with another "
                     "private.run.folder");
}

void write_shape_of(const PartyShape& shape, ByteSink& out) {
  const Bytes bytes = write_to_bytes([&](ByteSink& inner) { write_shape(shape, inner); });
  out.write_u64(bytes.size());
  out.write(bytes);
}

void write_facts(ByteSink& out, const ModelFacts& facts) {
  write_text(out, facts.run);
  out.write_u8(facts.party == Party::kA ? 0 : 1);
  out.write_u64(facts.step);
  out.write_u64(facts.rows);
  out.write_u64(facts.trained);
  write_text(out, job::kept_shared(facts.shared));
  write_shape_of(facts.shapes_a[0], out);
  write_shape_of(facts.shape_b, out);
  if (!facts.shapes_a.several()) return;
  out.write_u64(facts.shapes_a.size());
  out.write_u64(facts.place);
  for (std::size_t i = 0; i < facts.shapes_a.size(); ++i) {
    write_text(out, facts.shapes_a.name(i));
    if (i > 0) write_shape_of(facts.shapes_a[i], out);
  }
  out.write(facts.began);
}

PartyShape read_shape_of(ByteSource& in) {
  const std::uint64_t size = in.read_u64();
  require<DataError>(size <= std::min(in.remaining(), kLongestText), "a shape in it is cut short");
  Bytes bytes(size);
  in.read(bytes);
  BufferSource source(bytes);
  return read_shape(source);
}

ModelFacts read_facts(ByteSource& in, std::uint32_t version) {
  ModelFacts facts;
  facts.run = read_text(in);
  facts.party = in.read_u8() == 0 ? Party::kA : Party::kB;
  facts.step = in.read_u64();
  facts.rows = in.read_u64();
  facts.trained = version > 1 ? in.read_u64() : facts.rows;
  facts.shared = job::parse_kept_shared(read_text(in));
  if (version == 1) facts.shared.training.test_share = 0;
  std::vector<PartyShape> shapes{read_shape_of(in)};
  facts.shape_b = read_shape_of(in);
  std::vector<std::string> names;
  if (version > 2) {
    const std::uint64_t count = in.read_u64();
    facts.place = in.read_u64();
    require<DataError>(1 < count && count <= protocol::kMostPeers && facts.place < count,
                       "its number of A's is impossible");
    for (std::uint64_t i = 0; i < count; ++i) {
      names.push_back(read_text(in));
      if (i > 0) shapes.push_back(read_shape_of(in));
    }
    if (version > 3) {
      facts.began.resize(kDigestBytes);
      in.read(facts.began);
    }
  }
  facts.shapes_a = ShapesOfA(std::move(shapes), std::move(names));
  return facts;
}

LabelScaling read_scaling(ByteSource& in) {
  LabelScaling scaling;
  for (double* v : {&scaling.center, &scaling.scale}) *v = std::bit_cast<double>(in.read_u64());
  require<DataError>(std::isfinite(scaling.center) && std::isfinite(scaling.scale) && scaling.scale > 0,
                     "its labels have no scale");
  return scaling;
}

void skip_rest(ByteSource& in) {
  Bytes piece(std::size_t{1} << 16);
  while (in.remaining() > 0) {
    in.read(std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(in.remaining(), piece.size()))));
  }
}

}  // namespace

void save_preparation(const std::filesystem::path& folder, const Preparation& preparation) {
  write_atomically(folder / "preparation.bin", {.kind = "preparation"}, [&](ByteSink& out) { preparation.save(out); });
}

Preparation load_preparation(const std::filesystem::path& folder) {
  std::optional<Preparation> loaded;
  read_checked(folder / "preparation.bin", {.kind = "preparation"}, [&](ByteSource& in, std::uint32_t /*version*/) {
    reading_state([&] { loaded.emplace(Preparation::load(in)); });
  });
  return std::move(*loaded);
}

MarkedFile MarkedFile::of(const std::filesystem::path& path, std::size_t rows) {
  DiskFile file = DiskFile::open(path);
  DigestOfPieces digest;
  Bytes piece(std::size_t{1} << 20);
  while (const std::size_t have = file.read_some(piece)) digest.add(ByteView(piece).first(have));
  return {.path = path, .rows = rows, .digest = digest.finish()};
}

void save_alignment(const std::filesystem::path& folder, const SavedAlignment& alignment, const MarkedFile& train,
                    const std::optional<MarkedFile>& test) {
  const bool several = !alignment.began.empty();
  write_atomically(folder / "alignment.bin", alignment_label(several), [&](ByteSink& out) {
    const auto write = [&](const MarkedFile& file, const protocol::Alignment& aligned) {
      out.write(file.digest);
      if (several) write_text(out, aligned.name);
      write_alignment(aligned, out);
    };
    out.write(alignment.began);
    write(train, alignment.train);
    out.write_u64(alignment.test ? 1 : kNone);
    if (alignment.test) write(test.value(), *alignment.test);
  });
}

SavedAlignment load_alignment(const std::filesystem::path& folder, const MarkedFile& train,
                              const std::optional<MarkedFile>& test) {
  SavedAlignment alignment;
  read_checked(folder / "alignment.bin", alignment_label(), [&](ByteSource& in, std::uint32_t version) {
    const auto read = [&](const MarkedFile& file) {
      if (version > 1) check_unchanged(in, file);
      std::string name = version > 2 ? read_text(in) : std::string();
      protocol::Alignment aligned = read_alignment(in, file.rows);
      aligned.name = std::move(name);
      return aligned;
    };
    reading_state([&] {
      alignment.began = read_beginning(in, version);
      alignment.train = read(train);
      const bool has_test = in.read_u64() == 1;
      require<DataError>(has_test == test.has_value(), "private.data.test: the job named ", has_test ? "a" : "no",
                         " test file when the run began; name the same now");
      if (has_test) alignment.test = read(*test);
    });
  });
  return alignment;
}

Bytes load_beginning(const std::filesystem::path& folder) {
  Bytes began;
  read_checked(folder / "alignment.bin", alignment_label(), [&](ByteSource& in, std::uint32_t version) {
    reading_state([&] {
      began = read_beginning(in, version);
      skip_rest(in);
    });
  });
  return began;
}

void save_model(const std::filesystem::path& folder, const ModelFacts& facts, const protocol::MaskKey& masks,
                const JobModel& model) {
  write_atomically(folder / "model.bin", label_of(facts), [&](ByteSink& out) {
    write_facts(out, facts);
    masks.save(out);
    for (const double v : {model.labels.center, model.labels.scale}) out.write_u64(std::bit_cast<std::uint64_t>(v));
    nn::save_state(*model.module, out);
  });
}

ModelFacts load_model_facts(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "model.bin";
  require<ConfigError>(std::filesystem::exists(path), path.string(),
                       ": there is no model; train one with `blindfl train`, or set private.run.folder to the folder "
                       "of a finished run");
  ModelFacts facts;
  read_checked(path, kAnyModel, [&](ByteSource& in, std::uint32_t version) {
    reading_state([&] {
      facts = read_facts(in, version);
      skip_rest(in);
    });
  });
  return facts;
}

protocol::MaskKey load_model(const std::filesystem::path& folder, JobModel& model) {
  std::optional<protocol::MaskKey> masks;
  read_checked(folder / "model.bin", kAnyModel, [&](ByteSource& in, std::uint32_t version) {
    reading_state([&] {
      (void)read_facts(in, version);
      masks.emplace(protocol::MaskKey::load(in));
      if (version > 1) model.labels = read_scaling(in);
      nn::load_state(*model.module, in);
    });
  });
  return std::move(*masks);
}

}  // namespace blindfl::app
