#include "blindfl/base/checked_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::checked_file_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::message_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr FileLabel kLabel{.kind = "checkpoint", .version = 2, .owner = "party A of run credit"};

std::string text_of(const CheckedContent& content) {
  std::string text(content.bytes.size(), '\0');
  std::ranges::transform(content.bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

class CheckedFile : public ::testing::Test {
 protected:
  /// The refusal of the file as it stands, or with other bytes, which must begin with its path.
  [[nodiscard]] std::string refusal() const {
    std::string message = message_of<DataError>([&] { (void)read_checked(path_, kLabel); });
    EXPECT_THAT(message, StartsWith(path_.string() + ": "));
    return message;
  }
  [[nodiscard]] std::string refusal(const std::string& bytes) const {
    (void)folder_.write(path_.filename().string(), bytes);
    return refusal();
  }

  [[nodiscard]] std::string written(const FileLabel& label, std::string_view content) const {
    write_atomically(path_, label, as_bytes(content));
    return content_of(path_);
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "step.ckpt";
};

/// The bytes of a file with right digest, whatever its header says: nobody but a forger writes these.
std::string sealed(std::string header, std::string_view content) {
  header.resize(128);
  const Bytes digest = digest_of(std::string(content) + header);
  for (const std::byte b : digest) header += static_cast<char>(b);
  return header + std::string(content);
}

TEST_F(CheckedFile, ComesBackAsItWasWritten) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, std::size_t{200'001}}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31 % 251);
    write_atomically(path_, kLabel, as_bytes(content));
    const CheckedContent read = read_checked(path_, kLabel);
    EXPECT_EQ(text_of(read), content);
    EXPECT_EQ(read.version, 2U);
  }
  EXPECT_EQ(folder_.count(), 1) << "only the file itself stays";
}

TEST_F(CheckedFile, HasTheHeaderThatIsDocumented) {
  const std::string bytes = written(kLabel, "abc");
  ASSERT_EQ(bytes.size(), kCheckedHeaderBytes + 3);
  EXPECT_EQ(bytes.substr(0, 8), "BlindFL\n");
  EXPECT_EQ(bytes.substr(8, 8), std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(bytes.substr(16, 24), "checkpoint" + std::string(14, '\0'));
  EXPECT_EQ(bytes.substr(40, 80), "party A of run credit" + std::string(59, '\0'));
  EXPECT_EQ(bytes.substr(120, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(to_hex(as_bytes(bytes.substr(128, 32))), to_hex(digest_of("abc" + bytes.substr(0, 128))));
  EXPECT_EQ(bytes.substr(160), "abc");
}

TEST_F(CheckedFile, IsItsOwnersAloneUnlessItIsForEveryone) {
  write_atomically(path_, kLabel, as_bytes("x"));
  EXPECT_EQ(mode_of(path_), 0600U);
  using std::filesystem::perms;
  for (const perms more : {perms::group_read, perms::others_read, perms::others_write}) {
    std::filesystem::permissions(path_, perms::owner_read | perms::owner_write | more);
    EXPECT_THAT([&] { (void)read_checked(path_, kLabel); },
                ThrowsMessage<ConfigError>(AllOf(StartsWith(path_.string()), HasSubstr("chmod 600"))));
  }
  FileLabel open = kLabel;
  open.readers = Readers::kEveryone;
  EXPECT_EQ(text_of(read_checked(path_, open)), "x");
}

TEST_F(CheckedFile, IsRefusedWhereverItIsCut) {
  for (std::size_t size = written(kLabel, "some content").size(); size-- > 0;) {
    std::filesystem::resize_file(path_, size);
    EXPECT_THAT(refusal(), HasSubstr("is cut short: it has")) << size;
  }
}

TEST_F(CheckedFile, IsRefusedWithAnyBitChanged) {
  const std::string bytes = written(kLabel, "some content");
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char c) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(c).flush();
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 1; bit < 256; bit *= 2) {
      put(at, static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ bit));
      const std::string message = refusal();
      if (at < 8) {
        EXPECT_THAT(message, HasSubstr("is not a file of BlindFL's; name the checkpoint")) << at;
      } else if (at < 12) {
        EXPECT_THAT(message, HasSubstr("has a header of version")) << at;
      } else if (at < 120 || at >= 128) {
        EXPECT_THAT(message, HasSubstr("is damaged: its SHA-256")) << at;
      }
    }
    put(at, bytes[at]);
  }
  EXPECT_EQ(text_of(read_checked(path_, kLabel)), "some content");
  EXPECT_THAT(refusal(bytes + "x"), HasSubstr("is damaged: 1 bytes follow its end"));
}

TEST_F(CheckedFile, DoesNotBelieveALengthWithoutEnd) {
  std::string bytes = written(kLabel, "abc");
  bytes.replace(120, 8, std::string(8, '\xFF'));
  EXPECT_THAT(refusal(bytes), HasSubstr("is cut short: it has 3 of 18446744073709551615"));
}

TEST_F(CheckedFile, IsRefusedIfItIsSomethingElse) {
  EXPECT_THAT(refusal("-----BEGIN CERTIFICATE-----\n"), HasSubstr("is not a file of BlindFL's"));
  EXPECT_THAT(refusal(written({.kind = "paillier key"}, "k")), HasSubstr("holds a 'paillier key', not a 'checkpoint'"));
  FileLabel of_b = kLabel;
  of_b.owner = "party B of run credit";
  EXPECT_THAT(refusal(written(of_b, "b")),
              HasSubstr("belongs to 'party B of run credit', not to 'party A of run credit'"));
  FileLabel newer = kLabel;
  newer.version = 3;
  EXPECT_THAT(refusal(written(newer, "n")), AllOf(HasSubstr("holds version 3"), HasSubstr("versions up to 2")));
}

TEST_F(CheckedFile, OfAnOlderVersionOrAnyOwnerIsReadIfThatIsAskedFor) {
  FileLabel older = kLabel;
  older.version = 1;
  write_atomically(path_, older, as_bytes("old"));
  EXPECT_EQ(read_checked(path_, kLabel).version, 1U);
  FileLabel anyone = kLabel;
  anyone.owner = {};
  EXPECT_EQ(text_of(read_checked(path_, anyone)), "old");
}

TEST_F(CheckedFile, ShowsNothingOfAForgedHeaderThatATerminalObeys) {
  std::string header = written(kLabel, "").substr(0, 128);
  header.replace(16, 10, "\x1B[2J\x07\n\t\x80\xFF+");
  EXPECT_THAT(refusal(sealed(header, "")), HasSubstr("holds a '?[2J?????+', not a"));
  header = written(kLabel, "").substr(0, 128);
  header.replace(12, 4, std::string(4, '\0'));
  EXPECT_THAT(refusal(sealed(header, "")), HasSubstr("without a version"));
}

TEST_F(CheckedFile, IsNotAFolderOrAPipe) {
  EXPECT_THAT([&] { (void)read_checked(folder_.path(), kLabel); },
              ThrowsMessage<DataError>(HasSubstr("not an ordinary file")));
  EXPECT_THAT([&] { (void)read_checked(folder_ / "absent", kLabel); },
              ThrowsMessage<DataError>(HasSubstr("No such file")));
}

TEST_F(CheckedFile, IsReadToItsEndAndNoFurther) {
  write_atomically(path_, kLabel, [](ByteSink& sink) {
    sink.write_u32(7);
    sink.write_u64(8);
  });
  read_checked(path_, kLabel, [](ByteSource& source, std::uint32_t version) {
    EXPECT_EQ(version, 2U);
    EXPECT_EQ(source.remaining(), 12U);
    EXPECT_EQ(source.read_u32(), 7U);
    EXPECT_EQ(source.read_u64(), 8U);
  });
  EXPECT_THAT([&] { read_checked(path_, kLabel, [](ByteSource& source, std::uint32_t) { (void)source.read_u32(); }); },
              ThrowsMessage<DataError>(AllOf(StartsWith(path_.string()), HasSubstr("8 bytes more"))));
  const auto too_much = [](ByteSource& source, std::uint32_t) {
    (void)source.read_u64();
    (void)source.read_u64();
  };
  EXPECT_THAT([&] { read_checked(path_, kLabel, too_much); },
              ThrowsMessage<DataError>(AllOf(StartsWith(path_.string()), HasSubstr("does not hold a whole"))));
}

TEST_F(CheckedFile, StaysWhatItWasIfItsWriterFails) {
  write_atomically(path_, kLabel, as_bytes("before"));
  const auto body = [](ByteSink& sink) {
    sink.write(Bytes(300'000));
    throw DataError("the model cannot be saved");
  };
  EXPECT_THROW(write_atomically(path_, kLabel, body), DataError);
  EXPECT_EQ(text_of(read_checked(path_, kLabel)), "before");
  EXPECT_EQ(folder_.count(), 1) << "nothing else stays";
}

TEST_F(CheckedFile, NeedsALabelThatFits) {
  const auto write = [&](const FileLabel& label) { write_atomically(path_, label, as_bytes("")); };
  const std::string long_kind(25, 'k');
  const std::string long_owner(81, 'o');
  EXPECT_THROW(write({.kind = ""}), InvalidArgument);
  EXPECT_THROW(write({.kind = long_kind}), InvalidArgument);
  EXPECT_THROW(write({.kind = "a\n"}), InvalidArgument);
  EXPECT_THROW(write({.kind = "k", .version = 0}), InvalidArgument);
  EXPECT_THROW(write({.kind = "k", .owner = long_owner}), InvalidArgument);
  EXPECT_EQ(folder_.count(), 0);
  const std::string kind(24, 'k');
  const std::string owner(80, 'o');
  write({.kind = kind, .owner = owner});
  EXPECT_EQ(read_checked(path_, {.kind = kind, .owner = owner}).version, 1U);
}

}  // namespace
}  // namespace blindfl::checked_file_test
