#include "blindfl/app/link/link_options.h"

namespace blindfl::app {

std::vector<Option> link_options() {
  return {
      {.name = "listen", .placeholder = "HOST:PORT", .summary = "wait for the peer here; 0.0.0.0 for all interfaces"},
      {.name = "dial", .placeholder = "HOST:PORT", .summary = "call the peer, who listens there"},
      {.name = "certificate", .placeholder = "FILE", .summary = "this party's certificate, from `blindfl keygen`"},
      {.name = "key", .placeholder = "FILE", .summary = "its private key"},
      {.name = "peer", .placeholder = "FILE", .summary = "the peer's certificate: the only one that is accepted"},
      {.name = "patience",
       .placeholder = "SECONDS",
       .summary = "how long to wait for a peer that is not there, or has gone",
       .fallback = "300"},
      {.name = "plaintext",
       .placeholder = {},
       .summary = "no TLS: anybody on the way can read and change everything. Only inside a link that is protected"}};
}

net::GrpcOptions read_link_options(const Arguments& arguments) {
  require<UsageError>(arguments.has("listen") != arguments.has("dial"),
                      "say where the peer is: either --listen HOST:PORT or --dial HOST:PORT");
  net::GrpcOptions options;
  options.role = arguments.has("listen") ? net::GrpcOptions::Role::kListen : net::GrpcOptions::Role::kDial;
  options.address = arguments.text(arguments.has("listen") ? "listen" : "dial");
  options.patience = std::chrono::seconds(arguments.integer("patience", 1, 7LL * 24 * 3600));
  const bool certificates = arguments.has("certificate") || arguments.has("key") || arguments.has("peer");
  require<UsageError>(!(arguments.has("plaintext") && certificates),
                      "--plaintext uses no certificates: leave out either it or --certificate, --key and --peer");
  options.tls = tls_with(arguments, "peer");
  return options;
}

std::optional<net::TlsOptions> tls_with(const Arguments& arguments, std::string_view certificate_option) {
  if (arguments.has("plaintext")) return std::nullopt;
  require<UsageError>(arguments.has("certificate") && arguments.has("key") && arguments.has(certificate_option),
                      "the link needs --certificate, --key and --", certificate_option,
                      "; make the first two with `blindfl keygen`");
  return net::TlsOptions{net::load_identity(arguments.text("certificate"), arguments.text("key")),
                         net::load_certificate(arguments.text(certificate_option))};
}

}  // namespace blindfl::app
