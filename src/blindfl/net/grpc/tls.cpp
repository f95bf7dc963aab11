#include "blindfl/net/grpc/tls.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

namespace tls13 = grpc::experimental;

/// gRPC's own check of the chain is switched off below: it can only say "certificate verify failed", where this can say
/// why. That the peer owns the key of the certificate it shows, the handshake has proved by then.
class PinnedCertificate final : public tls13::ExternalCertificateVerifier {
 public:
  PinnedCertificate(std::string pinned, std::shared_ptr<Handshakes> handshakes)
      : pinned_(std::move(pinned)), handshakes_(std::move(handshakes)) {}

  bool Verify(tls13::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)> /*later*/,
              grpc::Status* status) override {
    const std::string why = refusal({request->peer_cert().data(), request->peer_cert().size()});
    if (why.empty()) {
      handshakes_->accepted();
    } else {
      handshakes_->refused(why);
    }
    *status = why.empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, why);
    return true;  // decided at once
  }
  void Cancel(tls13::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  [[nodiscard]] std::string refusal(const std::string& shown) const try {
    if (!same_certificate(shown, pinned_)) {
      return "the peer's certificate (fingerprint " + fingerprint(shown) + ") is not the expected one (fingerprint " +
             fingerprint(pinned_) + "); compare both with the peer by phone, and get its certificate again";
    }
    const Validity valid = validity_of(shown);
    const auto now = std::chrono::system_clock::now();
    if (now > valid.not_after) return "the peer's certificate has expired: it must make a new one";
    if (now < valid.not_before) return "the peer's certificate is not valid yet: is a clock wrong?";
    return {};
  } catch (const Error& error) {
    return std::string("the peer's certificate is unusable: ") + error.what();
  }

  std::string pinned_;
  std::shared_ptr<Handshakes> handshakes_;
};

// gRPC 1.51 has no switch for the version of TLS. With a TLS 1.2 suite that needs a pre-shared key nobody has, only
// TLS 1.3 is left. gRPC reads this once, when the process makes its first credentials.
void allow_only_tls_13() {
  static const int once = setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES128-GCM-SHA256", /*overwrite=*/1);
  require<ConfigError>(once == 0, "TLS cannot be restricted to version 1.3");
}

void check_own(const TlsOptions& options) {
  const Validity valid = validity_of(options.identity.certificate);
  const auto now = std::chrono::system_clock::now();
  require<ConfigError>(now <= valid.not_after,
                       "this party's certificate has expired: make a new one with `blindfl keygen` and give it to the "
                       "peer");
  require<ConfigError>(now >= valid.not_before, "this party's certificate is not valid yet: is the clock right?");
  require<ConfigError>(!same_certificate(options.identity.certificate, options.peer_certificate),
                       "the peer's certificate is this party's own: each party has its own, and needs the other's");
}

// Before gRPC's options are made, which only credentials free.
void prepare(const TlsOptions& options) {
  allow_only_tls_13();
  check_own(options);
}

template <class CredentialsOptions>
void configure(CredentialsOptions& credentials, const TlsOptions& options,
               const std::shared_ptr<Handshakes>& handshakes) {
  std::string key(options.identity.key.begin(), options.identity.key.end());
  credentials.set_certificate_provider(std::make_shared<tls13::StaticDataCertificateProvider>(
      options.peer_certificate, std::vector<tls13::IdentityKeyCertPair>{{key, options.identity.certificate}}));
  explicit_bzero(key.data(), key.size());  // gRPC has its own copy by now, which nobody can clear
  credentials.watch_root_certs();
  credentials.watch_identity_key_cert_pairs();
  credentials.set_check_call_host(false);
  credentials.set_certificate_verifier(
      tls13::ExternalCertificateVerifier::Create<PinnedCertificate>(options.peer_certificate, handshakes));
}

}  // namespace

void Handshakes::refused(const std::string& why) {
  const std::lock_guard lock(mutex_);
  refusal_ = why;
  ++refusals_;
}

void Handshakes::accepted() {
  const std::lock_guard lock(mutex_);
  accepted_at_ = Clock::now();
}

void Handshakes::forget() {
  const std::lock_guard lock(mutex_);
  refusal_.clear();
  accepted_at_.reset();
}

std::string Handshakes::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::uint64_t Handshakes::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

std::optional<Handshakes::Clock::time_point> Handshakes::accepted_at() const {
  const std::lock_guard lock(mutex_);
  return accepted_at_;
}

std::shared_ptr<grpc::ChannelCredentials> dialer_credentials(const std::optional<TlsOptions>& tls,
                                                             const std::shared_ptr<Handshakes>& handshakes) {
  if (!tls) return grpc::InsecureChannelCredentials();
  prepare(*tls);
  tls13::TlsChannelCredentialsOptions credentials;
  configure(credentials, *tls, handshakes);
  credentials.set_verify_server_certs(false);
  return tls13::TlsCredentials(credentials);
}

std::shared_ptr<grpc::ServerCredentials> listener_credentials(const std::optional<TlsOptions>& tls,
                                                              const std::shared_ptr<Handshakes>& handshakes) {
  if (!tls) return grpc::InsecureServerCredentials();
  prepare(*tls);
  tls13::TlsServerCredentialsOptions credentials(nullptr);
  configure(credentials, *tls, handshakes);
  credentials.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  return tls13::TlsServerCredentials(credentials);
}

}  // namespace blindfl::net
