// What a party saw, kept for an audit of its own: as it was, and refused where a file holds something else.

#include "blindfl/app/torch/kept_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::kept_view_test {
namespace {

using ::testing::HasSubstr;

ShareMatrix some_share(std::size_t rows, std::size_t cols, int ring_bits = 40) {
  ShareMatrix share(rows, cols, 16, ring_bits);
  for (std::size_t i = 0; i < share.values().size(); ++i) share.values()[i] = 1000 * i + 7;
  return share;
}

SeenPass sample(const std::string& set, std::uint64_t step) {
  SeenPass pass{.set = set, .step = step};
  SeenLayer opened{.name = "source", .rows = 3, .outputs = 2, .output_scale = 16, .opened = true};
  opened.z = {0.5, -1, 2, 3, -4, 1e9};
  opened.weight_a = some_share(4, 2, 128);
  SeenLayer shared{.name = "deep", .categories = true, .rows = 3, .outputs = 2, .output_scale = 12};
  shared.share = some_share(3, 2);
  pass.layers = {opened, shared};
  return pass;
}

Bytes bytes_of(const SeenPass& pass) {
  BufferSink sink;
  write_pass(pass, sink);
  return sink.take();
}

SeenPass read(ByteView bytes) {
  BufferSource source(bytes);
  SeenPass pass;
  reading_state([&] { pass = read_pass(source); });
  return pass;
}

void expect_same(const SeenPass& read, const SeenPass& written) {
  EXPECT_EQ(read.set, written.set);
  EXPECT_EQ(read.step, written.step);
  ASSERT_EQ(read.layers.size(), written.layers.size());
  for (std::size_t i = 0; i < read.layers.size(); ++i) {
    const SeenLayer& a = read.layers[i];
    const SeenLayer& b = written.layers[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.categories, b.categories);
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.output_scale, b.output_scale);
    EXPECT_EQ(a.opened, b.opened);
    EXPECT_EQ(a.z, b.z);
    EXPECT_EQ(a.share, b.share);
    EXPECT_EQ(a.weight_a, b.weight_a);
    EXPECT_EQ(a.weight_b, b.weight_b);
  }
}

TEST(KeptView, ComesBackAsItWas) {
  const SeenPass pass = sample("validation", 120);
  expect_same(read(bytes_of(pass)), pass);
}

TEST(KeptView, RefusesBytesThatAreCutShort) {
  const Bytes all = bytes_of(sample("test", 1));
  for (std::size_t size = 0; size < all.size(); ++size) {
    EXPECT_THROW((void)read(ByteView(all).first(size)), DataError) << size << " bytes";
  }
}

// Lengths, rings and flags that cannot be: an error, and no memory for what is not there.
TEST(KeptView, RefusesBytesThatWereChangedOrReadsThem) {
  const Bytes all = bytes_of(sample("test", 1));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    Bytes changed = all;
    changed[at] = std::byte{0xFF};
    try {
      (void)read(changed);
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, all.size() / 8);
}

TEST(KeptView, RefusesAValueThatIsNotOfItsRing) {
  SeenPass pass = sample("test", 1);
  pass.layers[1].share.values()[0] = UInt128{1} << 40;
  EXPECT_THAT(testing::message_of<DataError>([&] { (void)read(bytes_of(pass)); }), HasSubstr("not of its ring"));
}

TEST(KeptView, RefusesZThatIsNoNumber) {
  SeenPass pass = sample("test", 1);
  pass.layers[0].z[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(testing::message_of<DataError>([&] { (void)read(bytes_of(pass)); }), HasSubstr("no number"));
}

TEST(KeptView, OfAFolderWithoutOneIsEmpty) {
  const testing::ScratchFolder folder;
  EXPECT_TRUE(load_view(folder.path(), "party A of run r").empty());
}

}  // namespace
}  // namespace blindfl::app::kept_view_test
