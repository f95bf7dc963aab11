// How a party's files become features, as it loads that from its folder. Input: a byte with which right one is edited
// (bit 0: LIBSVM's instead of CSV's), or that the rest is the file as it stands (bit 1). What loads encodes rows, too.

#include <array>
#include <filesystem>
#include <string_view>

#include "blindfl/app/prepare/preparation.h"
#include "blindfl/base/error.h"
#include "input.h"
#include "memory_file.h"

namespace {

using namespace blindfl;
namespace job = app::job;

/// A training file, and what was fitted to it.
class Fitted {
 public:
  Fitted(std::string_view text, job::FileFormat format) {
    file_.replace(as_bytes(text));
    job::Job job;
    job.shared.model.kind = job::ModelKind::kWdl;
    job.own.party = job::PartyName::kB;
    job.own.data.train = file_.path();
    job.own.data.format = format;
    if (format == job::FileFormat::kCsv) {
      job.own.data.label_column = "y";
      job.own.data.label.positive = "no";  // the first by name: the other order than usual
      job.own.data.weight_column = "w";
      job.own.data.columns = {
          {.name = "age", .transform = job::Transform::kStandardise, .missing = data::Missing::kMean},
          {.name = "city", .kind = data::ColumnKind::kCategory},
          {.name = "tags", .kind = data::ColumnKind::kCategories}};
    }
    saved_ = save(app::Preparation::fit(job));
  }

  [[nodiscard]] static Bytes save(const app::Preparation& preparation) {
    return write_to_bytes([&](ByteSink& out) { preparation.save(out); });
  }
  [[nodiscard]] const Bytes& saved() const { return saved_; }
  void encode(const app::Preparation& preparation) const {
    const auto read = preparation.read(file_.path(), app::Labels::kIfThere, std::filesystem::temp_directory_path());
    fuzz::check(read.rows != nullptr, "there are rows, or an error");
  }

 private:
  fuzz::MemoryFile file_;
  Bytes saved_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<Fitted, 2> fitted{
      Fitted("y,age,city,tags,w\nyes,40,Rome,a;b,1\nno,,Oslo,,2\nyes,27.5,Rome,b,0.5\n", job::FileFormat::kCsv),
      Fitted("1 1:0.5 3:2\n0 2:1\n", job::FileFormat::kLibsvm)};
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const Fitted& right = fitted[switches & 1];
  const ByteView rest = input.rest();
  const Bytes file = (switches & 2) != 0 ? Bytes(rest.begin(), rest.end()) : fuzz::edited(input, right.saved());
  BufferSource in(file);
  try {
    const app::Preparation loaded = app::Preparation::load(in);
    const Bytes again = Fitted::save(loaded);
    fuzz::check(std::ranges::equal(again, ByteView(file).first(file.size() - in.remaining())),
                "saved again, it is the same");
    right.encode(loaded);
  } catch (const DataError&) {
    fuzz::check(file != right.saved(), "a right one is not refused");
  } catch (const ConfigError&) {
    fuzz::check(file != right.saved(), "a right one is not refused");
  }
  return 0;
}
