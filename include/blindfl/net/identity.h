#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "blindfl/base/bytes.h"
#include "blindfl/base/secret.h"

namespace blindfl::net {

// Who is at the other end of a link. Each party makes one identity, the parties exchange certificates once and compare
// fingerprints by another way than they were sent; from then on each accepts that one certificate from its peer and no
// other. Nobody signs certificates but their owners, so there is no authority to trust or to be deceived by.
//
// Errors about files begin with the path. DataError: a file cannot be read or is no such thing. ConfigError: the files
// are what they should be, but must not be used like this. Neither ever quotes what a file contains.

/// What a party shows to its peer, and what proves that it may.
struct Identity {
  std::string certificate;  ///< PEM; public
  SecretVector<char> key;   ///< PEM; never leaves this party
};

/// When a certificate can be used. Nothing here compares it with a clock: the link does, at every connection.
struct Validity {
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
};

constexpr int kMaxValidDays = 3650;

/// A new key on the curve P-256 and a certificate for it that it signed itself, fit for both ends of TLS 1.3. Valid
/// from a day ago, since the peer's clock may be slow, and `valid_days` from now on.
///
/// Throws ConfigError unless `name` is 1 to 64 printable ASCII characters and `valid_days` within 1 to `kMaxValidDays`.
[[nodiscard]] Identity generate_identity(std::string_view name, int valid_days);

/// Writes both files, to disk: the key for its owner only (mode 0600), the certificate for all (0644).
///
/// Throws ConfigError if either exists, and Error if the disk takes no more. Then no file was changed and none is new.
void save_identity(const Identity& identity, const std::filesystem::path& certificate_path,
                   const std::filesystem::path& key_path);

/// This party's identity. Throws ConfigError if others than its owner may use the key's file, or if the key is not the
/// certificate's, and DataError if either file does not hold exactly what it should.
[[nodiscard]] Identity load_identity(const std::filesystem::path& certificate_path,
                                     const std::filesystem::path& key_path);

/// A peer's certificate: PEM of exactly one. Throws ConfigError if the file holds a private key, which must not have
/// been sent, and DataError if it is anything else.
[[nodiscard]] std::string load_certificate(const std::filesystem::path& path);

/// Throws DataError if `certificate` is not PEM of exactly one; so do the functions below.
[[nodiscard]] Validity validity_of(std::string_view certificate);

/// SHA-256 of the certificate (its DER form), for people to compare aloud: 64 lower-case hexadecimal digits in 16
/// groups of four, with one space between groups. Without the spaces it is what `openssl x509 -fingerprint -sha256`
/// prints, which writes capitals and colons.
[[nodiscard]] std::string fingerprint(std::string_view certificate);

/// Whether both are the same certificate, however their PEM is written.
[[nodiscard]] bool same_certificate(std::string_view a, std::string_view b);

/// No signature is longer.
constexpr std::size_t kMaxSignatureBytes = 512;

/// A signature of `message` with the identity's key: ECDSA or RSA with SHA-256, or Ed25519, as the key is. Whoever
/// signs begins a message with what it is for, which is never what TLS signs: 64 spaces, and a context. Throws
/// DataError if the key cannot be read or cannot sign.
[[nodiscard]] Bytes sign(const Identity& identity, ByteView message);

/// Whether `signature` is one of `message` with the key of `certificate`. Any bytes may be a signature.
/// Throws DataError if `certificate` is not PEM of exactly one.
[[nodiscard]] bool is_signed_by(std::string_view certificate, ByteView message, ByteView signature);

}  // namespace blindfl::net
