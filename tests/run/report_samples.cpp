// Writes reports of every kind into a folder, for the test that looks at them in a browser: report_samples FOLDER

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "run/sample_attacks.h"
#include "run/sample_reports.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: report_samples FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = arguments[1];
    for (const auto& [name, report] : blindfl::testing::sample_reports()) {
      std::ofstream file(folder / name, std::ios::binary);
      file << blindfl::run::report_html(report);
      if (!file.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
    }
    std::ofstream attacks(folder / "attacks.html", std::ios::binary);
    attacks << blindfl::run::attacks_html(blindfl::testing::sample_attacks(true));
    if (!attacks.flush()) throw std::runtime_error("cannot write " + (folder / "attacks.html").string());
  } catch (const std::exception& error) {
    std::cerr << "report_samples: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
