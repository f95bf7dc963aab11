#include "blindfl/app/link/certificate_text.h"

#include <chrono>
#include <iomanip>
#include <sstream>

#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace {

std::string day_of(std::chrono::sys_seconds time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  std::ostringstream text;
  text << std::setfill('0') << std::setw(4) << static_cast<int>(day.year()) << '-' << std::setw(2)
       << static_cast<unsigned>(day.month()) << '-' << std::setw(2) << static_cast<unsigned>(day.day());
  return text.str();
}

}  // namespace

std::string describe_certificate(std::string_view certificate) {
  const net::Validity validity = net::validity_of(certificate);
  return "fingerprint: " + net::fingerprint(certificate) + "\nvalid:       " + day_of(validity.not_before) + " to " +
         day_of(validity.not_after) + " (UTC)\n";
}

}  // namespace blindfl::app
