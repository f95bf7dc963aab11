#include <chrono>
#include <ostream>
#include <string>
#include <string_view>

#include "blindfl/app/lab/lab_commands.h"
#include "blindfl/app/lab/lab_link.h"
#include "blindfl/app/link/link_options.h"
#include "blindfl/base/random.h"
#include "blindfl/lab/secureml/dealt_triplets.h"

namespace blindfl::app {

namespace {

net::GrpcOptions listen_for(const Arguments& arguments, std::string_view listen, std::string_view certificate) {
  net::GrpcOptions options;
  options.role = net::GrpcOptions::Role::kListen;
  options.address = arguments.text(listen);
  options.patience = std::chrono::seconds(arguments.integer("patience", 1, 7LL * 24 * 3600));
  options.tls = tls_with(arguments, certificate);
  return options;
}

void run_deal(const Arguments& arguments, std::ostream& out) {
  LabLinks links(out);
  run_until_interrupted(links, [&] {
    links.add("A", listen_for(arguments, "listen-a", "peer-a"));
    links.add("B", listen_for(arguments, "listen-b", "peer-b"));
    links.wait();
    out << "dealing" << std::endl;
    lab::secureml::deal(*links.channel(0), *links.channel(1), Random());
  });
  out << "dealt             all that A asked for\n";
}

std::string more_help_of_deal() {
  return "It learns every random number that hides the parties' values: whoever runs it and sees what the parties send "
         "each other reads all of it.\n"
         "\nexample:\n"
         "  blindfl_lab deal --listen-a 0.0.0.0:7450 --peer-a keys/a.crt --listen-b 0.0.0.0:7451 --peer-b keys/b.crt "
         "--certificate keys/dealer.crt --key keys/dealer.key\n";
}

}  // namespace

Command deal_command() {
  return {
      .name = "deal",
      .summary = "the third process of SecureML's client-aided variant: deals triplets to A and B",
      .options = {{.name = "listen-a",
                   .placeholder = "HOST:PORT",
                   .summary = "wait for A here",
                   .need = Option::Need::kRequired},
                  {.name = "listen-b",
                   .placeholder = "HOST:PORT",
                   .summary = "wait for B here",
                   .need = Option::Need::kRequired},
                  {.name = "certificate", .placeholder = "FILE", .summary = "its certificate, from `blindfl keygen`"},
                  {.name = "key", .placeholder = "FILE", .summary = "its private key"},
                  {.name = "peer-a", .placeholder = "FILE", .summary = "A's certificate"},
                  {.name = "peer-b", .placeholder = "FILE", .summary = "B's"},
                  {.name = "patience",
                   .placeholder = "SECONDS",
                   .summary = "how long to wait for a party that is not there, or has gone",
                   .fallback = "300"},
                  {.name = "plaintext", .placeholder = {}, .summary = "no TLS: only inside links that are protected"}},
      .run = run_deal,
      .more_help = more_help_of_deal};
}

}  // namespace blindfl::app
