// What B could do with rows that are opened again after each epoch, under an open top with any number of outputs:
// recovers A's columns of zeros and ones from the differences of Z, on what B really sees of the protocol. SECURITY.md,
// "What B can reconstruct under an open top".

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "blindfl/blindfl.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/attack_differences.h"

namespace {

constexpr const char* kUsage =
    "usage: attack_differences [--rows N] [--validation N] [--columns-a N] [--columns-b N] [--out N] [--epochs N]\n"
    "                          [--deviation X] [--rate X]\n"
    "Trains a logistic regression (--out 1) or a perceptron on independent zeros and ones of A and normal columns of "
    "B.\n";

using Seconds = std::chrono::duration<double>;

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> options = {{"--rows", "2000"},     {"--validation", "400"}, {"--columns-a", "8"},
                                                {"--columns-b", "10"},  {"--out", "1"},          {"--epochs", "30"},
                                                {"--deviation", "1.0"}, {"--rate", "0.5"}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) {
      std::cerr << kUsage;
      return 2;
    }
    option->second = argv[i + 1];
  }
  const auto number = [&](const char* name) { return std::stoll(options[name]); };
  namespace attacks = blindfl::lab::attacks;
  const std::int64_t trained = number("--rows");
  const std::int64_t all = trained + number("--validation");
  const attacks::TwoTables rows = attacks::synthetic_columns(all, number("--columns-a"), number("--columns-b"), 1);
  const attacks::TwoTables validation = attacks::rows_between(rows, trained, all);
  const attacks::ViewOptions view{.out = static_cast<std::size_t>(number("--out")),
                                  .initial_deviation = std::stod(options["--deviation"]),
                                  .epochs = static_cast<std::size_t>(number("--epochs")),
                                  .learning_rate = std::stod(options["--rate"])};
  const auto seen = attacks::record_validations(*blindfl::make_scheme("lattice"),
                                                attacks::rows_between(rows, 0, trained), validation, view);

  const auto begin = std::chrono::steady_clock::now();
  const attacks::RecoveredColumns found = attacks::attack_differences(seen, validation.b, view.output_scale);
  const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  const attacks::RecoveredFraction fraction = attacks::fraction_of(found, validation.a);
  std::cout << validation.a.size(0) << " rows opened after each of " << view.epochs << " epochs, " << view.out
            << " outputs, initial weights of standard deviation " << view.initial_deviation << "\n"
            << fraction.recovered << " of " << fraction.of << " columns of A recovered exactly ("
            << 100 * fraction.value() << " %), in " << seconds << " s\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "attack_differences: " << error.what() << "\n" << kUsage;
  return 1;
}
