#include "blindfl/net/identity.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <span>

#include "blindfl/base/bytes.h"
#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/free_with.h"
#include "blindfl/base/text.h"
#include "blindfl/net/identity_file.h"

namespace blindfl::net {

namespace {

using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
// OPENSSL_free is a macro.
struct FreeBuffer {
  void operator()(void* p) const { OPENSSL_free(p); }
};
template <class T>
using BufferPtr = std::unique_ptr<T, FreeBuffer>;

constexpr std::size_t kMaxNameCharacters = 64;
constexpr long kSecondsPerDay = 24L * 60 * 60;
constexpr int kSerialBits = 128;

/// Forgets OpenSSL's own list of errors at the end of a scope: TLS in the same thread would take them for its own.
class ForgetErrors {
 public:
  ForgetErrors() { ERR_set_mark(); }
  ForgetErrors(const ForgetErrors&) = delete;
  ForgetErrors& operator=(const ForgetErrors&) = delete;
  ~ForgetErrors() { ERR_pop_to_mark(); }
};

void require_done(bool done) {
  require<Error>(done, "identity: OpenSSL cannot make a key or a certificate; check its installation");
}

BioPtr reader_of(std::string_view text, std::string_view where) {
  // OpenSSL takes an int, and a negative one for a text that ends with a zero.
  require<DataError>(text.size() <= kMaxIdentityFileBytes, where, ": is too long for a certificate or a key");
  require<DataError>(!text.empty(), where, ": is empty; name a file made by `blindfl keygen`");
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  require_done(bio != nullptr);
  return bio;
}

// OpenSSL clears the memory of a BIO when it frees it, so that a key may be written to one.
BioPtr writer() {
  BioPtr bio(BIO_new(BIO_s_mem()));
  require_done(bio != nullptr);
  return bio;
}

std::string_view written_to(const BioPtr& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const BioPtr bio = writer();
  require_done(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return std::string(written_to(bio));
}

SecretVector<char> pem_of(EVP_PKEY* key) {
  const BioPtr bio = writer();
  require_done(PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  const std::string_view text = written_to(bio);
  return {text.begin(), text.end()};
}

Bytes der_of(X509* certificate) {
  unsigned char* data = nullptr;
  const int size = i2d_X509(certificate, &data);
  const BufferPtr<unsigned char> owner(data);
  require_done(size > 0);
  const auto bytes = std::as_bytes(std::span(data, static_cast<std::size_t>(size)));
  return {bytes.begin(), bytes.end()};
}

struct Block {
  BufferPtr<char> kind;
  BufferPtr<char> header;
  BufferPtr<unsigned char> data;
  long size = 0;
};

/// The next block between BEGIN and END lines. False, and no data, if there is none.
bool read_block(BIO* bio, Block& block, std::string_view where) {
  char* kind = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  const int ok = PEM_read_bio(bio, &kind, &header, &data, &block.size);
  block.kind.reset(kind);
  block.header.reset(header);
  block.data.reset(data);
  if (ok == 1) return true;
  require<DataError>(ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE, where,
                     ": the certificate is damaged or cut short; get the file again");
  return false;
}

CertificatePtr parse_certificate(std::string_view pem, std::string_view where) {
  // Looked for in the text, so that a key is noticed even where its block is damaged.
  require<ConfigError>(
      pem.find("PRIVATE KEY") == std::string_view::npos, where,
      ": holds a private key, where only a certificate belongs. If it is your own, name the certificate "
      "instead; if a peer sent it, the key is no longer secret and the peer must make a new identity");
  const BioPtr bio = reader_of(pem, where);
  CertificatePtr found;
  for (Block block; read_block(bio.get(), block, where);) {
    require<DataError>(std::string_view(block.kind.get()) == "CERTIFICATE", where,
                       ": holds something that is not a certificate; name a file made by `blindfl keygen`");
    require<DataError>(found == nullptr, where,
                       ": holds more than one certificate; keep the party's own and remove the others");
    const unsigned char* data = block.data.get();
    const unsigned char* const end = data + block.size;
    found.reset(d2i_X509(nullptr, &data, block.size));
    require<DataError>(found != nullptr && data == end && X509_get0_pubkey(found.get()) != nullptr, where,
                       ": the certificate is damaged; get the file again");
  }
  require<DataError>(found != nullptr, where,
                     ": holds no certificate in PEM form; name a file made by `blindfl keygen`");
  return found;
}

CertificatePtr parse_certificate(std::string_view pem) {
  return parse_certificate(pem, "certificate");
}

// Without it OpenSSL would ask for a passphrase on the terminal.
int note_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* encrypted) {
  *static_cast<bool*>(encrypted) = true;
  return -1;
}

KeyPtr parse_key(std::string_view pem, const std::string& where) {
  const BioPtr bio = reader_of(pem, where);
  bool encrypted = false;
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, note_passphrase, &encrypted));
  require<DataError>(
      !encrypted, where,
      ": the private key is encrypted with a passphrase; decrypt it with `openssl pkey`, into a file that "
      "only you can read");
  require<DataError>(
      key != nullptr, where,
      ": holds no private key in PEM form, or a damaged one; name the .key file made by `blindfl keygen`");
  return key;
}

void require_match(X509* certificate, EVP_PKEY* key, const std::string& certificate_name, const std::string& key_name) {
  require<ConfigError>(X509_check_private_key(certificate, key) == 1, key_name, ": is not the key of ",
                       certificate_name, "; name the two files that one `blindfl keygen` made");
  // A key's file also contains the public part, and only that was compared.
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  require_done(context != nullptr);
  require<DataError>(EVP_PKEY_pairwise_check(context.get()) == 1, key_name,
                     ": the private key is damaged; restore the file, or make a new identity");
}

void add_extension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_nconf_nid(nullptr, &context, kind, value));
  require_done(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void set_random_serial(X509* certificate) {
  const BignumPtr serial(BN_new());
  require_done(serial != nullptr && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
               BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr);
}

void set_name(X509* certificate, std::string_view name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  require_done(X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC,
                                          reinterpret_cast<const unsigned char*>(name.data()),
                                          static_cast<int>(name.size()), -1, 0) == 1 &&
               X509_set_issuer_name(certificate, subject) == 1);
}

std::chrono::sys_seconds moment(const ASN1_TIME* time) {
  std::tm parts{};
  require<DataError>(ASN1_TIME_to_tm(time, &parts) == 1,
                     "certificate: its dates cannot be read; the party must make a new identity");
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

std::string_view view(const SecretVector<char>& text) {
  return {text.data(), text.size()};
}

const unsigned char* raw(ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// Edwards curves hash by themselves.
const char* digest_for(const EVP_PKEY* key) {
  return EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1 ? nullptr : "SHA256";
}

}  // namespace

Identity generate_identity(std::string_view name, int valid_days) {
  const ForgetErrors forget;
  require<ConfigError>(!name.empty() && name.size() <= kMaxNameCharacters && is_printable(name),
                       "identity: a party's name is 1 to ", kMaxNameCharacters,
                       " letters, digits, spaces and signs of ASCII; choose such a name");
  require<ConfigError>(valid_days >= 1 && valid_days <= kMaxValidDays, "identity: a certificate is valid for 1 to ",
                       kMaxValidDays, " days, not ", valid_days);

  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const CertificatePtr certificate(X509_new());
  require_done(key != nullptr && certificate != nullptr);
  require_done(X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
               X509_set_pubkey(certificate.get(), key.get()) == 1 &&
               X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kSecondsPerDay) != nullptr &&
               X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_days * kSecondsPerDay) != nullptr);
  set_random_serial(certificate.get());
  set_name(certificate.get(), name);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  // Tells apart two certificates of one name, for instance a party's old one and its new one.
  add_extension(certificate.get(), NID_subject_key_identifier, "hash");
  require_done(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  return {.certificate = pem_of(certificate.get()), .key = pem_of(key.get())};
}

void save_identity(const Identity& identity, const std::filesystem::path& certificate_path,
                   const std::filesystem::path& key_path) {
  NewFile key(key_path, Readers::kOwner);
  NewFile certificate(certificate_path, Readers::kEveryone);
  key.write(view(identity.key));
  certificate.write(identity.certificate);
  key.keep();
  certificate.keep();
}

Identity load_identity(const std::filesystem::path& certificate_path, const std::filesystem::path& key_path) {
  const ForgetErrors forget;
  const SecretVector<char> certificate_text = read_identity_file(certificate_path);
  const CertificatePtr certificate = parse_certificate(view(certificate_text), certificate_path.string());
  const SecretVector<char> key_text = read_key_file(key_path);
  const KeyPtr key = parse_key(view(key_text), key_path.string());
  require_match(certificate.get(), key.get(), certificate_path.string(), key_path.string());
  return {.certificate = pem_of(certificate.get()), .key = pem_of(key.get())};
}

std::string load_certificate(const std::filesystem::path& path) {
  const ForgetErrors forget;
  // In memory that is cleared, since a key may be here by mistake.
  const SecretVector<char> text = read_identity_file(path);
  return pem_of(parse_certificate(view(text), path.string()).get());
}

Validity validity_of(std::string_view certificate) {
  const ForgetErrors forget;
  const CertificatePtr parsed = parse_certificate(certificate);
  return {.not_before = moment(X509_get0_notBefore(parsed.get())),
          .not_after = moment(X509_get0_notAfter(parsed.get()))};
}

std::string fingerprint(std::string_view certificate) {
  const ForgetErrors forget;
  std::string text = to_hex(digest_of(der_of(parse_certificate(certificate).get())));
  for (std::size_t i = 4; i < text.size(); i += 5) text.insert(i, 1, ' ');
  return text;
}

bool same_certificate(std::string_view a, std::string_view b) {
  const ForgetErrors forget;
  return der_of(parse_certificate(a).get()) == der_of(parse_certificate(b).get());
}

Bytes sign(const Identity& identity, ByteView message) {
  const ForgetErrors forget;
  const KeyPtr key = parse_key(view(identity.key), "this party's identity");
  const DigestContextPtr context(EVP_MD_CTX_new());
  std::size_t size = kMaxSignatureBytes;
  Bytes signature(size);
  const bool done =
      context != nullptr &&
      EVP_DigestSignInit_ex(context.get(), nullptr, digest_for(key.get()), nullptr, nullptr, key.get(), nullptr) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, raw(message),
                     message.size()) == 1;
  require<DataError>(done, "this party's identity: its key cannot sign; make a new one with `blindfl keygen`");
  signature.resize(size);
  return signature;
}

bool is_signed_by(std::string_view certificate, ByteView message, ByteView signature) {
  const ForgetErrors forget;
  const CertificatePtr parsed = parse_certificate(certificate);
  EVP_PKEY* key = X509_get0_pubkey(parsed.get());
  const DigestContextPtr context(EVP_MD_CTX_new());
  require_done(context != nullptr);
  return EVP_DigestVerifyInit_ex(context.get(), nullptr, digest_for(key), nullptr, nullptr, key, nullptr) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message), message.size()) == 1;
}

}  // namespace blindfl::net
