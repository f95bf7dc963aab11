#include "blindfl/base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

void require_done(bool done) {
  require<Error>(done, "SHA-256 failed");
}

/// Looked up once: behind `EVP_sha256()` each digest would look it up anew, under locks, which takes as long as the
/// digest of a few words.
const EVP_MD* sha256() {
  struct Free {
    void operator()(EVP_MD* md) const { EVP_MD_free(md); }
  };
  static const std::unique_ptr<EVP_MD, Free> found(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  require_done(found != nullptr);
  return found.get();
}

}  // namespace

Bytes digest_of(ByteView bytes) {
  Bytes digest(kDigestBytes);
  unsigned int written = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &written,
                            sha256(), nullptr);
  require_done(ok == 1 && written == kDigestBytes);
  return digest;
}

Bytes keyed_digest_of(ByteView key, ByteView bytes) {
  Bytes digest(kDigestBytes);
  unsigned int written = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
           bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &written);
  require_done(done != nullptr && written == kDigestBytes);
  return digest;
}

void DigestOfPieces::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

DigestOfPieces::DigestOfPieces() : context_(EVP_MD_CTX_new()) {
  require_done(context_ != nullptr && EVP_DigestInit_ex(context_.get(), sha256(), nullptr) == 1);
}

DigestOfPieces::~DigestOfPieces() = default;

void DigestOfPieces::add(ByteView bytes) {
  require<InvalidArgument>(context_ != nullptr, "a digest was finished: nothing can be added");
  require_done(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Bytes DigestOfPieces::finish() {
  require<InvalidArgument>(context_ != nullptr, "a digest is finished once");
  Bytes digest(kDigestBytes);
  unsigned int written = 0;
  const int ok = EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &written);
  require_done(ok == 1 && written == kDigestBytes);
  context_.reset();
  return digest;
}

}  // namespace blindfl
