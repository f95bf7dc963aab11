#include "blindfl/net/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::net::identity_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::message_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

std::string content_of(const SecretVector<char>& key) {
  return {key.begin(), key.end()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

KeyPtr parsed_key(const SecretVector<char>& key) {
  const BioPtr in(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())), BIO_free);
  return {PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
}

/// Whether both contain the same number, however it is written.
bool same_secret(const SecretVector<char>& a, const SecretVector<char>& b) {
  BIGNUM* numbers[] = {nullptr, nullptr};
  EXPECT_EQ(EVP_PKEY_get_bn_param(parsed_key(a).get(), OSSL_PKEY_PARAM_PRIV_KEY, &numbers[0]), 1);
  EXPECT_EQ(EVP_PKEY_get_bn_param(parsed_key(b).get(), OSSL_PKEY_PARAM_PRIV_KEY, &numbers[1]), 1);
  const bool same = BN_cmp(numbers[0], numbers[1]) == 0;
  for (BIGNUM* number : numbers) BN_free(number);
  return same;
}

/// Files of one identity, and errors that must not contain its key.
class IdentityFiles : public ::testing::Test {
 protected:
  IdentityFiles() {
    ERR_clear_error();
    certificate_path_ = folder_.write("me.crt", me_.certificate);
    key_path_ = folder_.write("me.key", content_of(me_.key));
  }

  void expect_silent_about_the_key(const std::string& message) const {
    for (const std::string& line : lines_of(content_of(me_.key))) {
      // Every eighth part of a line: half a key is too much as well.
      for (std::size_t at = 0; at + 8 <= line.size() && !line.starts_with("-----"); at += 8) {
        EXPECT_THAT(message, Not(HasSubstr(line.substr(at, 8))));
      }
    }
  }

  /// The message of the error that loading the two files ends with.
  template <class E>
  std::string refusal(const std::filesystem::path& certificate, const std::filesystem::path& key) const {
    std::string message = message_of<E>([&] { (void)load_identity(certificate, key); });
    expect_silent_about_the_key(message);
    EXPECT_EQ(ERR_peek_error(), 0U) << "OpenSSL was left with an error that is not its next user's";
    return message;
  }
  template <class E>
  std::string refusal(const std::filesystem::path& certificate) const {
    std::string message = message_of<E>([&] { (void)load_certificate(certificate); });
    expect_silent_about_the_key(message);
    EXPECT_THAT(message, StartsWith(certificate.string() + ": "));
    EXPECT_EQ(ERR_peek_error(), 0U) << "OpenSSL was left with an error that is not its next user's";
    return message;
  }

  const Identity me_ = generate_identity("me", 30);
  const ScratchFolder folder_;
  std::filesystem::path certificate_path_;
  std::filesystem::path key_path_;
};

TEST(Identity, IsNewEachTime) {
  const Identity a = generate_identity("party", 30);
  const Identity b = generate_identity("party", 30);
  EXPECT_NE(a.key, b.key);
  EXPECT_FALSE(same_certificate(a.certificate, b.certificate));
  EXPECT_TRUE(same_certificate(a.certificate, a.certificate));
  EXPECT_NE(fingerprint(a.certificate), fingerprint(b.certificate));
}

TEST(Identity, IsValidFromADayAgoForTheDaysAskedFor) {
  using std::chrono::days;
  for (const int asked : {1, 825, kMaxValidDays}) {
    const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const Validity validity = validity_of(generate_identity("party", asked).certificate);
    const auto after = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    EXPECT_GE(validity.not_before, before - days(1));
    EXPECT_LE(validity.not_before, after - days(1));
    EXPECT_GE(validity.not_after, before + days(asked));
    EXPECT_LE(validity.not_after, after + days(asked));
  }
  for (const int asked : {-1, 0, kMaxValidDays + 1}) {
    EXPECT_THAT([&] { (void)generate_identity("party", asked); }, ThrowsMessage<ConfigError>(HasSubstr("days")));
  }
}

TEST(Identity, HasANameOfPrintableAscii) {
  for (const std::string& name : {std::string("a"), std::string("Bank A (new)"), std::string(64, 'x')}) {
    EXPECT_FALSE(generate_identity(name, 1).certificate.empty()) << name;
  }
  for (const std::string& name : {std::string(), std::string(65, 'x'), std::string("a\nb"), std::string("a\0b", 3),
                                  std::string("\x7F"), std::string("B\xC3\xA4nk"), std::string("\x1B[2J")}) {
    EXPECT_THAT([&] { (void)generate_identity(name, 1); }, ThrowsMessage<ConfigError>(HasSubstr("name")));
  }
}

TEST(Identity, HasAFingerprintThatEyesCanCompare) {
  const Identity identity = generate_identity("party", 30);
  EXPECT_THAT(fingerprint(identity.certificate), MatchesRegex("([0-9a-f]{4} ){15}[0-9a-f]{4}"));
}

TEST(Identity, HasTheFingerprintThatOpensslPrints) {
  const std::string certificate =
      "-----BEGIN CERTIFICATE-----\n"
      "MIIBeTCCAR+gAwIBAgIUSX7DrW1Qe8LqTnT3TqTye3oLg04wCgYIKoZIzj0EAwIw\n"
      "EjEQMA4GA1UEAwwHZml4dHVyZTAeFw0yNjExMTUxNDIzMThaFw0zNTAyMDExNDIz\n"
      "MThaMBIxEDAOBgNVBAMMB2ZpeHR1cmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
      "AARl7iGGHwunW0CMRFXbklB9D7cMaVZOrPpdhi+lwoGb0XZSUMTNr2jGmq6DF9Q7\n"
      "Az9OayHHoDLC68XiqO0p0Xvno1MwUTAdBgNVHQ4EFgQUnhlYtPQp6n2uDiA7bXVS\n"
      "VU0pyR0wHwYDVR0jBBgwFoAUnhlYtPQp6n2uDiA7bXVSVU0pyR0wDwYDVR0TAQH/\n"
      "BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAaEnRAo+Nbis1COJd2wRXs284dlbQe\n"
      "TYu/hoRfqR7jMAIhAIfziqFpdF68ibQYq++3slVZUIcckddsZjcd6WK6rN9d\n"
      "-----END CERTIFICATE-----\n";
  EXPECT_EQ(fingerprint(certificate),
            "377f d344 3c9d bd41 29cd 814c 1bf0 cc4f f214 4e57 ba74 67a1 987d b2e5 4ee5 2370");
  const Validity validity = validity_of(certificate);
  using namespace std::chrono_literals;
  EXPECT_EQ(validity.not_before, std::chrono::sys_days(2026y / 11 / 15) + 14h + 23min + 18s);
  EXPECT_EQ(validity.not_after, std::chrono::sys_days(2035y / 2 / 1) + 14h + 23min + 18s);
}

TEST_F(IdentityFiles, HoldWhatWasSaved) {
  const auto certificate = folder_.path() / "new.crt";
  const auto key = folder_.path() / "new.key";
  save_identity(me_, certificate, key);
  const Identity loaded = load_identity(certificate, key);
  EXPECT_EQ(loaded.certificate, me_.certificate);
  EXPECT_EQ(loaded.key, me_.key);
  EXPECT_EQ(load_certificate(certificate), me_.certificate);
}

TEST_F(IdentityFiles, AreReadableByTheOwnerAndByAll) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    const ScratchFolder fresh;
    const mode_t before = umask(mask);
    save_identity(me_, fresh.path() / "me.crt", fresh.path() / "me.key");
    umask(before);
    EXPECT_EQ(mode_of(fresh.path() / "me.key"), 0600U);
    EXPECT_EQ(mode_of(fresh.path() / "me.crt"), 0644U & ~mask);
  }
}

TEST_F(IdentityFiles, AreNeverOverwritten) {
  const Identity other = generate_identity("other", 30);
  const auto absent = folder_.path() / "absent";
  EXPECT_THAT([&] { save_identity(other, certificate_path_, absent); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr(certificate_path_.string()), HasSubstr("exists already"))));
  EXPECT_FALSE(std::filesystem::exists(absent));
  EXPECT_THAT([&] { save_identity(other, absent, key_path_); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr(key_path_.string()), HasSubstr("exists already"))));
  EXPECT_FALSE(std::filesystem::exists(absent));
  EXPECT_THROW(save_identity(other, certificate_path_, key_path_), ConfigError);
  EXPECT_THROW(save_identity(other, absent, absent), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(absent));
  EXPECT_EQ(content_of(certificate_path_), me_.certificate);
  EXPECT_EQ(content_of(key_path_), content_of(me_.key));
}

TEST_F(IdentityFiles, AreNotWrittenThroughLinks) {
  const auto target = folder_.path() / "target";
  const auto link = folder_.path() / "link";
  std::filesystem::create_symlink(target, link);
  EXPECT_THROW(save_identity(me_, folder_.path() / "new.crt", link), ConfigError);
  EXPECT_THROW(save_identity(me_, link, folder_.path() / "new.key"), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(folder_.count(), 3);
}

TEST_F(IdentityFiles, AreBothWrittenOrNone) {
  const ScratchFolder fresh;
  const auto nowhere = fresh.path() / "no such folder_" / "me";
  EXPECT_THAT([&] { save_identity(me_, nowhere, fresh.path() / "me.key"); },
              ThrowsMessage<ConfigError>(HasSubstr(nowhere.string())));
  EXPECT_THAT([&] { save_identity(me_, fresh.path() / "me.crt", nowhere); },
              ThrowsMessage<ConfigError>(HasSubstr(nowhere.string())));
  EXPECT_EQ(fresh.count(), 0);
}

TEST_F(IdentityFiles, AreGoneIfTheDiskIsFull) {
  const ScratchFolder fresh;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  // Room for a part of the key, and then for the key but not for the certificate.
  for (const rlim_t room : {rlim_t{100}, rlim_t{me_.key.size()}}) {
    const rlimit tight{.rlim_cur = room, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const std::string message =
        message_of<Error>([&] { save_identity(me_, fresh.path() / "me.crt", fresh.path() / "me.key"); });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(message, HasSubstr("cannot be written"));
    expect_silent_about_the_key(message);
    EXPECT_EQ(fresh.count(), 0);
  }
  (void)std::signal(SIGXFSZ, handler);
}

TEST_F(IdentityFiles, AreRefusedIfOthersMayUseTheKey) {
  for (const unsigned mode : {0640U, 0604U, 0644U, 0660U, 0620U, 0602U, 0610U, 0777U}) {
    std::filesystem::permissions(key_path_, static_cast<std::filesystem::perms>(mode));
    EXPECT_THAT(refusal<ConfigError>(certificate_path_, key_path_),
                AllOf(StartsWith(key_path_.string()), HasSubstr("chmod 600 '" + key_path_.string() + "'")));
  }
  for (const unsigned mode : {0600U, 0400U, 0700U}) {
    std::filesystem::permissions(key_path_, static_cast<std::filesystem::perms>(mode));
    EXPECT_EQ(load_identity(certificate_path_, key_path_).key, me_.key);
  }
}

TEST_F(IdentityFiles, AreRefusedIfTheyAreNotOnePair) {
  const Identity other = generate_identity("me", 30);
  const auto others_key = folder_.write("other.key", content_of(other.key));
  EXPECT_THAT(refusal<ConfigError>(certificate_path_, others_key),
              AllOf(HasSubstr(others_key.string()), HasSubstr(certificate_path_.string()), HasSubstr("not the key")));
}

TEST_F(IdentityFiles, AreRefusedIfTheyAreSwapped) {
  EXPECT_THAT(refusal<ConfigError>(key_path_, certificate_path_), HasSubstr("private key"));
  EXPECT_THAT(refusal<DataError>(certificate_path_, folder_.write("c.key", me_.certificate)),
              HasSubstr("no private key"));
}

TEST_F(IdentityFiles, AreRefusedIfTheyAreMissingOrNoFiles) {
  const auto absent = folder_.path() / "absent";
  EXPECT_THAT(refusal<DataError>(absent, key_path_), AllOf(StartsWith(absent.string()), HasSubstr("No such file")));
  EXPECT_THAT(refusal<DataError>(certificate_path_, absent), StartsWith(absent.string()));
  EXPECT_THAT(refusal<DataError>(folder_.path()), HasSubstr("not an ordinary file"));
  EXPECT_THAT(refusal<DataError>("/dev/zero"), HasSubstr("not an ordinary file"));
  const auto pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal<DataError>(pipe), HasSubstr("not an ordinary file"));
  EXPECT_THAT(refusal<DataError>(certificate_path_, pipe), HasSubstr("not an ordinary file"));
}

TEST_F(IdentityFiles, AreRefusedIfTheyAreHuge) {
  std::filesystem::resize_file(certificate_path_, std::uintmax_t{1} << 40);
  EXPECT_THAT(refusal<DataError>(certificate_path_), HasSubstr("longer than"));
  std::filesystem::resize_file(certificate_path_, std::uintmax_t{1} << 20);
  EXPECT_EQ(load_certificate(certificate_path_), me_.certificate) << "a megabyte is not too long";
  std::filesystem::resize_file(certificate_path_, (std::uintmax_t{1} << 20) + 1);
  EXPECT_THAT(refusal<DataError>(certificate_path_), HasSubstr("longer than"));
  std::filesystem::resize_file(key_path_, std::uintmax_t{1} << 40);
  EXPECT_THAT(refusal<DataError>(folder_.write("c", me_.certificate), key_path_), HasSubstr("longer than"));
}

TEST_F(IdentityFiles, AreRefusedIfTheyAreEmptyOrGarbage) {
  std::string every_byte;
  for (int i = 0; i < 1024; ++i) every_byte += static_cast<char>(i);
  EXPECT_THAT(refusal<DataError>(folder_.write("c", "")), HasSubstr("is empty"));
  EXPECT_THAT(refusal<DataError>(certificate_path_, folder_.write("k", "")), HasSubstr("is empty"));
  for (const std::string& garbage :
       {std::string("\n"), std::string("hello"), std::string(5000, '-'), std::string(5000, '\0'), every_byte,
        std::string("-----BEGIN CERTIFICATE-----"),
        std::string("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
        std::string("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        std::string("-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END CERTIFICATE-----\n")}) {
    EXPECT_THAT(refusal<DataError>(folder_.write("c", garbage)), HasSubstr("certificate"));
    EXPECT_THAT(refusal<DataError>(certificate_path_, folder_.write("k", garbage)), HasSubstr("private key"));
  }
}

TEST_F(IdentityFiles, AreRefusedWhereverTheyAreCutShort) {
  const std::string_view certificate = me_.certificate;
  for (std::size_t length = 1; length + 1 < certificate.size(); ++length) {
    (void)refusal<DataError>(folder_.write("c", certificate.substr(0, length)));
  }
  const std::string key = content_of(me_.key);
  for (std::size_t length = 1; length + 1 < key.size(); ++length) {
    (void)refusal<DataError>(certificate_path_, folder_.write("k", std::string_view(key).substr(0, length)));
  }
}

TEST_F(IdentityFiles, AreRefusedOrToldApartWithAnyCharacterOfTheCertificateChanged) {
  int refused = 0;
  for (std::size_t at = 0; at < me_.certificate.size(); at += 2) {
    std::string changed = me_.certificate;
    changed[at] = changed[at] == 'B' ? 'C' : 'B';
    try {
      const std::string loaded = load_certificate(folder_.write("c", changed));
      // The last character may have bits that mean nothing.
      EXPECT_EQ(same_certificate(loaded, me_.certificate), loaded == me_.certificate) << at;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_F(IdentityFiles, AreRefusedOrTheSameWithAnyCharacterOfTheKeyChanged) {
  int refused = 0;
  for (std::size_t at = 0; at < me_.key.size(); ++at) {
    std::string changed = content_of(me_.key);
    changed[at] = changed[at] == 'B' ? 'C' : 'B';
    try {
      EXPECT_TRUE(same_secret(load_identity(certificate_path_, folder_.write("k", changed)).key, me_.key)) << at;
    } catch (const Error& error) {
      expect_silent_about_the_key(error.what());
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

TEST_F(IdentityFiles, MayHaveTextAroundThem) {
  const auto certificate = folder_.write("c", "Our certificate:\r\n\n" + me_.certificate + "\nGreetings\n");
  const auto key = folder_.write("k", "# do not share\n" + content_of(me_.key));
  const Identity loaded = load_identity(certificate, key);
  EXPECT_EQ(loaded.certificate, me_.certificate);
  EXPECT_EQ(loaded.key, me_.key);
  EXPECT_TRUE(same_certificate(content_of(certificate), me_.certificate));
}

TEST_F(IdentityFiles, HoldExactlyOneCertificate) {
  const Identity other = generate_identity("other", 30);
  const auto two = folder_.write("two.crt", me_.certificate + other.certificate);
  EXPECT_THAT(refusal<DataError>(two), HasSubstr("more than one certificate"));
  EXPECT_THAT(refusal<DataError>(two, key_path_), HasSubstr("more than one certificate"));
  EXPECT_THAT(refusal<DataError>(folder_.write("c", me_.certificate + me_.certificate)), HasSubstr("more than one"));
  EXPECT_THAT(refusal<DataError>(
                  folder_.write("c", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n")),
              HasSubstr("not a certificate"));
  EXPECT_THAT([&] { (void)fingerprint(me_.certificate + other.certificate); }, ::testing::Throws<DataError>());
  EXPECT_THAT([&] { (void)same_certificate(me_.certificate, ""); }, ::testing::Throws<DataError>());
  EXPECT_THAT([&] { (void)validity_of({}); }, ::testing::Throws<DataError>());
}

TEST_F(IdentityFiles, NeverHoldAPeersPrivateKey) {
  const std::string key = content_of(me_.key);
  for (const std::string& mixed : {key, me_.certificate + key, key + me_.certificate, key.substr(0, key.size() / 2),
                                   std::string("-----BEGIN EC PRIVATE KEY-----\n")}) {
    EXPECT_THAT(refusal<ConfigError>(folder_.write("peer.crt", mixed)),
                AllOf(HasSubstr("holds a private key"), HasSubstr("new identity")));
  }
  EXPECT_THAT([&] { (void)fingerprint(me_.certificate + key); }, ThrowsMessage<ConfigError>(HasSubstr("private key")));
}

// The key, behind a passphrase, in the form that OpenSSL has written since 1.0 and in the one before.
std::vector<std::string> encrypted_forms_of(const SecretVector<char>& key) {
  const KeyPtr parsed = parsed_key(key);
  std::string passphrase = "tell nobody";
  auto* const secret = reinterpret_cast<unsigned char*>(passphrase.data());
  const auto length = static_cast<int>(passphrase.size());
  const BioPtr now(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(now.get(), parsed.get(), EVP_aes_256_cbc(), passphrase.data(), length,
                                          nullptr, nullptr),
            1);
  const BioPtr then(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(PEM_write_bio_PrivateKey_traditional(then.get(), parsed.get(), EVP_aes_256_cbc(), secret, length, nullptr,
                                                 nullptr),
            1);
  std::vector<std::string> forms;
  for (BIO* out : {now.get(), then.get()}) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    forms.emplace_back(data, static_cast<std::size_t>(size));
  }
  return forms;
}

TEST_F(IdentityFiles, AreRefusedIfTheKeyNeedsAPassphrase) {
  for (const std::string& encrypted : encrypted_forms_of(me_.key)) {
    EXPECT_THAT(refusal<DataError>(certificate_path_, folder_.write("encrypted.key", encrypted)),
                HasSubstr("passphrase"));
  }
}

TEST(Signature, IsThatOfTheKeyOfTheCertificateAndOfTheMessage) {
  const Identity one = generate_identity("one", 1);
  const Identity other = generate_identity("other", 1);
  const Bytes message(100, std::byte{5});
  const Bytes signature = sign(one, message);
  EXPECT_LE(signature.size(), kMaxSignatureBytes);
  EXPECT_TRUE(is_signed_by(one.certificate, message, signature));
  EXPECT_FALSE(is_signed_by(other.certificate, message, signature));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    Bytes forged = signature;
    forged[i] ^= std::byte{1};
    EXPECT_FALSE(is_signed_by(one.certificate, message, forged)) << i;
  }
  Bytes changed = message;
  changed.back() ^= std::byte{128};
  EXPECT_FALSE(is_signed_by(one.certificate, changed, signature));
  EXPECT_FALSE(is_signed_by(one.certificate, message, {}));
  EXPECT_FALSE(is_signed_by(one.certificate, message, Bytes(512, std::byte{0x30})));
  EXPECT_FALSE(is_signed_by(one.certificate, {}, signature));
  EXPECT_TRUE(is_signed_by(one.certificate, {}, sign(one, {})));
  EXPECT_THROW((void)is_signed_by("no certificate", message, signature), DataError);
  EXPECT_THROW((void)sign({.certificate = one.certificate, .key = {}}, message), DataError);
  EXPECT_EQ(ERR_peek_error(), 0U) << "TLS in this thread would take it for its own";
}

}  // namespace
}  // namespace blindfl::net::identity_test
