#include "blindfl/base/digest.h"

#include <openssl/evp.h>

#include "blindfl/base/error.h"

namespace blindfl {

Bytes digest_of(ByteView bytes) {
  Bytes digest(kDigestBytes);
  unsigned int written = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &written,
                            EVP_sha256(), nullptr);
  require<Error>(ok == 1 && written == kDigestBytes, "SHA-256 failed");
  return digest;
}

}  // namespace blindfl
