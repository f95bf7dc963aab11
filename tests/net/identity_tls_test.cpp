#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "blindfl/base/free_with.h"
#include "blindfl/net/identity.h"

namespace blindfl::net::identity_tls_test {
namespace {

template <class T, auto kFree>
using Ptr = std::unique_ptr<T, FreeWith<kFree>>;
using SslPtr = Ptr<SSL, SSL_free>;

Ptr<BIO, BIO_free> reader_of(std::string_view text) {
  return Ptr<BIO, BIO_free>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Ptr<X509, X509_free> parsed(std::string_view certificate) {
  return Ptr<X509, X509_free>(PEM_read_bio_X509(reader_of(certificate).get(), nullptr, nullptr, nullptr));
}

/// One end of TLS 1.3 that shows `me` and trusts `peer` alone.
SslPtr end_of_link(const SSL_METHOD* method, const Identity& me, const std::string& peer) {
  const Ptr<SSL_CTX, SSL_CTX_free> context(SSL_CTX_new(method));
  const Ptr<EVP_PKEY, EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(reader_of({me.key.data(), me.key.size()}).get(), nullptr, nullptr, nullptr));
  EXPECT_EQ(SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION), 1);
  EXPECT_EQ(SSL_CTX_use_certificate(context.get(), parsed(me.certificate).get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), key.get()), 1);
  EXPECT_EQ(X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), parsed(peer).get()), 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return SslPtr(SSL_new(context.get()));
}

/// Whether both ends accept each other.
bool shake_hands(const SslPtr& client, const SslPtr& server) {
  BIO* left = nullptr;
  BIO* right = nullptr;
  if (BIO_new_bio_pair(&left, 0, &right, 0) != 1) return false;
  SSL_set_bio(client.get(), left, left);
  SSL_set_bio(server.get(), right, right);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  bool client_done = false;
  bool server_done = false;
  // A handshake takes three turns.
  for (int turn = 0; turn < 10 && !(client_done && server_done); ++turn) {
    client_done = client_done || SSL_do_handshake(client.get()) == 1;
    server_done = server_done || SSL_do_handshake(server.get()) == 1;
  }
  return client_done && server_done;
}

TEST(IdentityTls, AcceptsTheCertificateItTrusts) {
  const Identity a = generate_identity("A", 30);
  const Identity b = generate_identity("B", 30);
  const SslPtr client = end_of_link(TLS_client_method(), a, b.certificate);
  const SslPtr server = end_of_link(TLS_server_method(), b, a.certificate);
  ASSERT_TRUE(shake_hands(client, server));
  EXPECT_EQ(std::string_view(SSL_get_version(client.get())), "TLSv1.3");
}

TEST(IdentityTls, AcceptsNoOther) {
  const Identity a = generate_identity("A", 30);
  const Identity b = generate_identity("B", 30);
  // Of the same name, and signed by itself like the right one.
  const Identity impostor = generate_identity("A", 30);
  EXPECT_FALSE(shake_hands(end_of_link(TLS_client_method(), impostor, b.certificate),
                           end_of_link(TLS_server_method(), b, a.certificate)));
  EXPECT_FALSE(shake_hands(end_of_link(TLS_client_method(), b, a.certificate),
                           end_of_link(TLS_server_method(), impostor, b.certificate)));
}

}  // namespace
}  // namespace blindfl::net::identity_tls_test
