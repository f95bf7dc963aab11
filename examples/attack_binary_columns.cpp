// What B could do with one scoring under an open top: recovers A's columns of zeros and ones from Z and B's own
// columns, on what B really sees of the protocol. SECURITY.md, "What B can reconstruct under an open top".

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "blindfl/blindfl.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/attack_data.h"

namespace {

constexpr const char* kUsage =
    "usage: attack_binary_columns [--rows N] [--columns-a N] [--columns-b N] [--out N] [--bits N] [--file LIBSVM]\n"
    "Without a file, A's columns are independent zeros and ones, and B's are normal. Of a file of 123 binary features "
    "(a9a),\n"
    "A has the first --columns-a, and B the others.\n";

using Seconds = std::chrono::duration<double>;

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> options = {{"--rows", "4000"}, {"--columns-a", "40"}, {"--columns-b", "10"},
                                                {"--out", "64"},    {"--bits", "16"},      {"--file", ""}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) {
      std::cerr << kUsage;
      return 2;
    }
    option->second = argv[i + 1];
  }
  const auto number = [&](const char* name) { return std::stoll(options[name]); };
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoul(options[name])); };
  namespace attacks = blindfl::lab::attacks;
  const attacks::TwoTables rows =
      options["--file"].empty()
          ? attacks::synthetic_columns(number("--rows"), number("--columns-a"), number("--columns-b"), 1)
          : attacks::real_columns(options["--file"], size("--rows"), 123, size("--columns-a"));
  const int bits = static_cast<int>(number("--bits"));
  const torch::Tensor z =
      attacks::record_scoring(*blindfl::make_scheme("lattice"), rows, {.out = size("--out"), .output_scale = bits});

  const auto begin = std::chrono::steady_clock::now();
  const attacks::RecoveredColumns found = attacks::attack_binary_columns(z, rows.b, bits);
  const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  const attacks::RecoveredFraction fraction = attacks::fraction_of(found, rows.a);
  std::cout << rows.a.size(0) << " rows scored once, " << z.size(1) << " outputs at " << bits << " fractional bits, "
            << rows.b.size(1) << " columns of B\n"
            << attacks::columns_within_reach(z, rows.b, bits, rows.a) << " of " << fraction.of
            << " columns of A lie in the span of Z and B's own\n"
            << fraction.recovered << " of " << fraction.of << " columns of A recovered exactly ("
            << 100 * fraction.value() << " %), in " << seconds << " s\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "attack_binary_columns: " << error.what() << "\n" << kUsage;
  return 1;
}
