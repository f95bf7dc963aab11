// How a party's files become features, as it loads that from its folder. Input: a byte with which right one is edited
// (bit 0: LIBSVM's instead of CSV's), or that the rest is the file as it stands (bit 1). What loads encodes rows, too.

#include <array>
#include <filesystem>
#include <string_view>

#include "blindfl/base/error.h"
#include "blindfl/prepare/preparation.h"
#include "input.h"
#include "memory_file.h"

namespace {

using namespace blindfl;
using prepare::Preparation;

/// A training file, and what was fitted to it.
class Fitted {
 public:
  template <class Spec>
  Fitted(std::string_view text, const Spec& spec) {
    file_.replace(as_bytes(text));
    saved_ = save(Preparation::fit(spec, file_.path()));
  }

  [[nodiscard]] static Bytes save(const Preparation& preparation) {
    return write_to_bytes([&](ByteSink& out) { preparation.save(out); });
  }
  [[nodiscard]] const Bytes& saved() const { return saved_; }
  void encode(const Preparation& preparation) const {
    const auto read = preparation.read(file_.path(), prepare::Labels::kIfThere, std::filesystem::temp_directory_path());
    fuzz::check(read.rows != nullptr, "there are rows, or an error");
  }

 private:
  fuzz::MemoryFile file_;
  Bytes saved_;
};

prepare::CsvSpec csv_spec() {
  prepare::CsvSpec spec;
  spec.label = "y";
  spec.labels.positive = "no";  // the first by name: the other order than usual
  spec.weight = "w";
  spec.columns = {{.name = "age", .transform = prepare::Transform::kStandardise},
                  {.name = "city", .kind = data::ColumnKind::kCategory},
                  {.name = "tags", .kind = data::ColumnKind::kCategories}};
  return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<Fitted, 2> fitted{
      Fitted("y,age,city,tags,w\nyes,40,Rome,a;b,1\nno,,Oslo,,2\nyes,27.5,Rome,b,0.5\n", csv_spec()),
      Fitted("1 1:0.5 3:2\n0 2:1\n", prepare::LibsvmSpec{.labels = prepare::LabelSpec()})};
  fuzz::Input input(data, size);
  const unsigned switches = input.take_byte();
  const Fitted& right = fitted[switches & 1];
  const ByteView rest = input.rest();
  const Bytes file = (switches & 2) != 0 ? Bytes(rest.begin(), rest.end()) : fuzz::edited(input, right.saved());
  BufferSource in(file);
  try {
    const Preparation loaded = Preparation::load(in);
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
