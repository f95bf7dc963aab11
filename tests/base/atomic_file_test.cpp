#include "blindfl/base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"

namespace blindfl::atomic_file_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(AtomicFile, AppearsWhenItIsCommitted) {
  const ScratchFolder folder;
  const auto path = folder / "file";
  {
    AtomicFile file(path, Readers::kOwner);
    file.write(as_bytes("....and "));
    file.write(as_bytes("the end"));
    file.rewrite_beginning(as_bytes("this"));
    file.write(as_bytes("."));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
    EXPECT_EQ(content_of(path), "thisand the end.");
    EXPECT_THROW(file.write(as_bytes("more")), InvalidArgument);
    EXPECT_THROW(file.commit(), InvalidArgument);
  }
  EXPECT_EQ(folder.count(), 1);
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST(AtomicFile, LeavesNothingIfItIsNotCommitted) {
  const ScratchFolder folder;
  const auto path = folder.write("file", "before");
  {
    AtomicFile file(path, Readers::kOwner);
    file.write(Bytes(100'000));
    EXPECT_EQ(folder.count(), 2);
  }
  EXPECT_EQ(content_of(path), "before");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, TakesThePlaceOfAFileAndItsMode) {
  const ScratchFolder folder;
  const auto path = folder / "file";
  const mode_t before = umask(022);
  write_text_atomically(path, "public", Readers::kEveryone);
  EXPECT_EQ(mode_of(path), 0644U);
  write_text_atomically(path, "secret", Readers::kOwner);
  umask(before);
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(content_of(path), "secret");
}

TEST(AtomicFile, ReplacesALinkAndNotWhatItLeadsTo) {
  const ScratchFolder folder;
  const auto other = folder.write("other", "untouched");
  std::filesystem::create_symlink(other, folder / "file");
  write_text_atomically(folder / "file", "new", Readers::kOwner);
  EXPECT_EQ(content_of(other), "untouched");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "file"));
}

TEST(AtomicFile, NeedsAFolderAndAName) {
  const ScratchFolder folder;
  EXPECT_THAT([&] { write_text_atomically(folder / "nowhere" / "file", "", Readers::kOwner); },
              ThrowsMessage<ConfigError>(HasSubstr("check the folder")));
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THAT([&] { write_text_atomically(folder / "taken", "", Readers::kOwner); },
              ThrowsMessage<Error>(HasSubstr("cannot be put in its place")));
  EXPECT_THROW(write_text_atomically("", "", Readers::kOwner), ConfigError);
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, KeepsWhatWasThereIfTheDiskIsFull) {
  const ScratchFolder folder;
  const auto path = folder.write("file", "before");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_THAT([&] { write_text_atomically(path, std::string(100'000, 'x'), Readers::kOwner); },
              ThrowsMessage<Error>(HasSubstr("cannot be written")));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(content_of(path), "before");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, MayBeWrittenBySeveralThreadsAtOnce) {
  const ScratchFolder folder;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        write_text_atomically(folder / "file", std::string(1000, static_cast<char>('a' + t)), Readers::kOwner);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string content = content_of(folder / "file");
  EXPECT_EQ(content, std::string(1000, content.front()));
  EXPECT_EQ(folder.count(), 1);
}

/// Ends a process in the middle of a file, as `kill -9` does.
std::string killed_while_writing(const std::filesystem::path& path) {
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(path, Readers::kOwner);
    file.write(Bytes(100'000));
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return "." + path.filename().string() + "." + std::to_string(child) + "-";
}

TEST(Leftovers, OfAKilledProcessAreRemoved) {
  const ScratchFolder folder;
  const auto path = folder.write("step.ckpt", "before");
  const std::string beginning = killed_while_writing(path);
  EXPECT_EQ(folder.count(), 2);
  EXPECT_EQ(content_of(path), "before");
  const auto removed = remove_leftovers(folder.path());
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_THAT(removed.front().filename().string(), ::testing::StartsWith(beginning));
  EXPECT_EQ(folder.count(), 1);
  EXPECT_THAT(remove_leftovers(folder.path()), IsEmpty());
}

TEST(Leftovers, AreNotWhatALivingProcessWrites) {
  const ScratchFolder folder;
  AtomicFile file(folder / "file", Readers::kOwner);
  file.write(as_bytes("x"));
  EXPECT_THAT(remove_leftovers(folder.path()), IsEmpty());
  file.commit();
  EXPECT_EQ(content_of(folder / "file"), "x");
}

TEST(Leftovers, AreRecognisedByTheirNameAlone) {
  const ScratchFolder folder;
  for (const char* name :
       {"file", ".hidden", ".blindfl-part", ".1-2.blindfl-part", ".a.1.blindfl-part", ".a.x-2.blindfl-part",
        ".a.1-.blindfl-part", "a.1-2.blindfl-part", ".a.1-2.blindfl-part.bak", ".a.1-2.blindfl-par"}) {
    (void)folder.write(name, "");
  }
  // A folder and a link of such a name are somebody else's.
  std::filesystem::create_directory(folder / ".b.1-2.blindfl-part");
  std::filesystem::create_symlink(folder / "file", folder / ".c.1-2.blindfl-part");
  const auto leftover = folder.write(".a.b.1-2.blindfl-part", "");
  const auto before = folder.count();
  EXPECT_THAT(remove_leftovers(folder.path()), ElementsAre(leftover));
  EXPECT_EQ(folder.count(), before - 1);
  EXPECT_THAT([&] { (void)remove_leftovers(folder / "nowhere"); },
              ThrowsMessage<DataError>(HasSubstr("cannot be listed")));
}

}  // namespace
}  // namespace blindfl::atomic_file_test
