#include "blindfl/app/link/named_errors.h"

#include <algorithm>
#include <exception>
#include <string_view>

namespace blindfl::app {

std::string words_for_all(std::span<const std::string> names) {
  const auto whose = [&](const std::exception& error) -> std::string {
    const std::string_view what = error.what();
    const auto named = [&](const std::string& name) { return what.starts_with(name + ": "); };
    const auto found = std::ranges::find_if(names, named);
    return found == names.end() ? "" : *found;
  };
  const auto words = [](const std::string& name, const std::string& about) { return name.empty() ? "" : about; };
  try {
    throw;
  } catch (const ProtocolError& error) {
    return words(whose(error), error.what());
  } catch (const ConfigError& error) {
    return words(whose(error), error.what());
  } catch (const TransportError& error) {
    return words(whose(error), "it lost " + whose(error));
  } catch (const std::exception& error) {
    return words(whose(error), "it cannot continue with " + whose(error));
  } catch (...) {
    return {};
  }
}

}  // namespace blindfl::app
