#include "blindfl/net/grpc/link_words.h"

namespace blindfl::net {

std::string link_words(std::string_view error, bool worked) {
  const auto says = [&](std::string_view words) { return error.find(words) != std::string_view::npos; };
  if (says("Connection refused")) return "nobody listens there: is the peer running, and is the port right?";
  if (says("DNS resolution failed") || says("Domain name not found") || says("C-ares status is not ARES_SUCCESS")) {
    return "there is no such host name: is it spelt right, and can this machine look up names?";
  }
  if (says("No route to host") || says("Network is unreachable") || says("Host is unreachable")) {
    return "there is no way there: is the address right, and is a firewall in between?";
  }
  if (says("wrong version number") || says("Tls handshake failed")) {
    return "what answers there does not speak TLS as BlindFL does: is it another program, or a peer with --plaintext?";
  }
  if (says("imed out") || says("imeout") || says("Deadline") || says("deadline") || says("keepalive")) {
    return "it does not answer: is the address right, and is a firewall in between?";
  }
  if (worked) return "the connection broke";
  // What a dialer sees of a listener that does not like its certificate: under TLS 1.3 it learns of it late.
  if (says("ocket closed") || says("onnection reset") || says("roken pipe") || says("EOF")) {
    return "it hangs up before the first word: does the peer have this party's certificate, and does it use TLS?";
  }
  return "what answers there is not what was expected: is it BlindFL that listens there?";
}

}  // namespace blindfl::net
