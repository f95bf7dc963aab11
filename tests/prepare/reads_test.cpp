#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "blindfl/base/digest.h"
#include "specs.h"
#include "testing/compressed.h"
#include "testing/scratch_folder.h"

namespace blindfl::prepare::reads_test {
namespace {

using blindfl::testing::ScratchFolder;
using testing::csv_of_b;
using testing::libsvm_of_b;

/// Counts how often a file is opened. Opening and closing alternate here: the kernel tells equal events in a row as
/// one.
class Opens {
 public:
  explicit Opens(const std::filesystem::path& path) : queue_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(queue_, path.c_str(), IN_OPEN | IN_CLOSE), 0) << "cannot watch " << path;
  }
  Opens(const Opens&) = delete;
  Opens& operator=(const Opens&) = delete;
  ~Opens() { close(queue_); }

  /// Since the last call.
  [[nodiscard]] std::size_t count() const {
    std::size_t opens = 0;
    alignas(inotify_event) std::array<char, 4096> events{};
    for (ssize_t size = 0; (size = read(queue_, events.data(), events.size())) > 0;) {
      for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
        inotify_event event{};
        std::memcpy(&event, events.data() + at, sizeof(event));
        opens += (event.mask & IN_OPEN) != 0 ? 1 : 0;
        at += sizeof(event) + event.len;
      }
    }
    return opens;
  }

 private:
  int queue_;
};

template <class Source>
void expect_one_open_each(const Source& source, const ScratchFolder& folder) {
  const Opens opens(source.train);
  const Preparation preparation = source.fit();
  EXPECT_EQ(opens.count(), 1U) << "to fit";
  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(opens.count(), 1U) << "to encode";
  EXPECT_EQ(rows.digest, digest_of(blindfl::testing::content_of(source.train))) << "nobody need read it again";
}

TEST(Reads, AreOneToFitAndOneToEncode) {
  const ScratchFolder folder;
  std::string text = "id,x,c,w,y\n";
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = std::to_string(i);
    text += number + "," + std::to_string(i % 9) + ",c" + std::to_string(i % 5) + ",1," + std::to_string(i % 2) + "\n";
  }
  auto csv = csv_of_b(folder.write("train.csv", text));
  csv.spec.id = "id";
  csv.spec.weight = "w";
  csv.spec.columns = {{.name = "c", .kind = data::ColumnKind::kCategory}};
  expect_one_open_each(csv, folder);
  csv.train = folder.write("train.csv.gz", blindfl::testing::gzip(text));
  expect_one_open_each(csv, folder);
  expect_one_open_each(libsvm_of_b(folder.write("train.svm", "1 1:1\n0 2:1\n")), folder);
}

}  // namespace
}  // namespace blindfl::prepare::reads_test
