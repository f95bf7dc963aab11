#include "blindfl/base/disk_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"

namespace blindfl::disk_file_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

TEST(DiskFile, IsReadInPiecesFromAnyPlace) {
  const ScratchFolder folder;
  DiskFile file = DiskFile::open(folder.write("file", "abcdef"));
  EXPECT_EQ(file.size(), 6U);
  Bytes piece(4);
  EXPECT_EQ(file.read_some(piece), 4U);
  EXPECT_EQ(file.read_some(piece), 2U) << "the rest";
  EXPECT_EQ(file.read_some(piece), 0U);
  file.seek(1);
  EXPECT_EQ(file.read_some(piece), 4U);
  EXPECT_EQ(piece.front(), std::byte{'b'});
}

TEST(DiskFile, IsAnOrdinaryFile) {
  const ScratchFolder folder;
  EXPECT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const auto& path : {folder.path(), folder / "pipe", std::filesystem::path("/dev/zero")}) {
    const auto refused =
        ThrowsMessage<DataError>(AllOf(StartsWith(path.string()), HasSubstr("is not an ordinary file")));
    EXPECT_THAT([&] { (void)DiskFile::open(path); }, refused);
  }
  EXPECT_THAT([&] { (void)DiskFile::open(folder / "absent"); }, ThrowsMessage<DataError>(HasSubstr("No such file")));
  EXPECT_THROW((void)DiskFile::open_to_append(folder / "absent"), DataError);
  EXPECT_THROW((void)DiskFile::open_or_create(folder.path(), Readers::kOwner), ConfigError);
  EXPECT_THROW((void)DiskFile::open_or_create(folder / "pipe", Readers::kOwner), ConfigError);
}

TEST(DiskFile, IsNewWhereItIsCreated) {
  const ScratchFolder folder;
  const auto path = folder / "file";
  DiskFile file = DiskFile::create(path, Readers::kOwner);
  file.write(as_bytes("abc"));
  file.flush_to_disk();
  file.close();
  flush_name_to_disk(path);
  EXPECT_EQ(content_of(path), "abc");
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_THAT([&] { (void)DiskFile::create(path, Readers::kOwner); },
              ThrowsMessage<ConfigError>(HasSubstr("is never overwritten")));
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  EXPECT_THROW((void)DiskFile::create(folder / "link", Readers::kOwner), ConfigError);
  EXPECT_THROW((void)DiskFile::open_or_create(folder / "link", Readers::kOwner), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(DiskFile, GoesOnAtTheEndOrWhereItIsCut) {
  const ScratchFolder folder;
  const auto path = folder.write("file", "abcdef");
  DiskFile file = DiskFile::open_to_append(path);
  file.write(as_bytes("g"));
  EXPECT_EQ(content_of(path), "abcdefg");
  file.cut(2);
  file.write(as_bytes("!"));
  EXPECT_EQ(content_of(path), "ab!");
}

TEST(DiskFile, KnowsWhetherOthersMayUseIt) {
  const ScratchFolder folder;
  const auto path = folder.write("file", "");
  EXPECT_TRUE(DiskFile::open(path).is_private());
  for (const unsigned mode : {0640U, 0620U, 0604U, 0602U, 0601U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(DiskFile::open(path).is_private()) << mode;
  }
}

TEST(DiskFile, MayHaveNoName) {
  const ScratchFolder folder;
  DiskFile file = DiskFile::create_unnamed(folder.path());
  EXPECT_EQ(folder.count(), 0);
  EXPECT_TRUE(file.is_private());
  file.write(as_bytes("abcdef"));
  Bytes piece(3);
  file.read_at(2, piece);
  EXPECT_EQ(piece, (Bytes{std::byte{'c'}, std::byte{'d'}, std::byte{'e'}}));
  EXPECT_THROW(file.read_at(4, piece), DataError) << "too short";
  file.write(as_bytes("g"));
  file.read_at(4, piece);
  EXPECT_EQ(piece.back(), std::byte{'g'}) << "reading elsewhere does not move the writer";
  EXPECT_THROW((void)DiskFile::create_unnamed(folder / "nowhere"), ConfigError);
}

}  // namespace
}  // namespace blindfl::disk_file_test
