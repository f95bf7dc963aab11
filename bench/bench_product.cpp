// The private product alone, both parties one after the other in one thread of control: what each of them computes and
// sends, per scheme, kernels and number of threads. No link, no libtorch.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.h"
#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/share/products.h"
#include "testing/plain/plain_scheme.h"
#include "timing.h"

namespace {

using blindfl::bench::positive;
using blindfl::he::LatticeScheme;
using blindfl::he::Scheme;

constexpr const char* kUsage =
    "usage: bench_product [--json] [--scheme plain|lattice] [--kernels NAME] [--threads N] [--repeat N] [--bits N]\n"
    "                     [--shape BATCHxINxOUT]\n"
    "  --kernels   only these kernels of the lattice scheme\n"
    "  --threads   only this number; without it 1, and all cores\n"
    "  --repeat    products of which the median is taken, 15 without it\n"
    "  --bits      of the private matrix' values, 20 without it\n";

struct Shape {
  std::size_t batch;
  std::size_t in;
  std::size_t out;
};
const std::vector<Shape> kShapes{Shape{128, 14, 1},   Shape{128, 62, 1},  Shape{128, 63, 64},
                                 Shape{128, 392, 64}, Shape{128, 80, 64}, Shape{1024, 392, 256}};

struct Options {
  bool json = false;
  std::optional<std::string> scheme;
  std::optional<std::string> kernels;
  std::vector<std::size_t> threads{1};
  std::size_t repeat = 15;
  int bits = 20;
  std::vector<Shape> shapes = kShapes;
};

struct NamedScheme {
  std::string name;
  std::string kernels;
  std::unique_ptr<Scheme> scheme;
};

/// Milliseconds of the median product, by what can be told apart.
struct Measured {
  double ahead = 0;     // key's owner, before it needs any data
  double encrypt = 0;   // key's owner, with everything prepared
  double open = 0;      // key's owner
  double load = 0;      // multiplier
  double prepare = 0;   // multiplier, before the operand is there
  double multiply = 0;  // multiplier, with everything prepared
  std::uint64_t operand_bytes = 0;
  std::uint64_t reply_bytes = 0;
};

/// Writes into the same memory each time, as a link's buffers are.
class FixedSink final : public blindfl::ByteSink {
 public:
  explicit FixedSink(std::size_t size) : bytes_(size) {}
  void write(blindfl::ByteView bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += bytes.size();
  }
  void restart() { used_ = 0; }
  [[nodiscard]] blindfl::ByteView bytes() const { return blindfl::ByteView(bytes_).first(used_); }

 private:
  blindfl::Bytes bytes_;
  std::size_t used_ = 0;
};

blindfl::IntMatrix random_left(const blindfl::he::ProductSpec& spec, blindfl::Random& random) {
  const std::uint64_t bound = spec.left_bound;
  std::vector<std::int64_t> values(spec.rows * spec.inner);
  for (auto& v : values)
    v = static_cast<std::int64_t>(random.next_u64() % (2 * bound)) - static_cast<std::int64_t>(bound);
  return blindfl::IntMatrix::dense(spec.rows, spec.inner, std::move(values), spec.left_scale, bound);
}

/// The products of a MatMul layer with A's features, as ten epochs of a9a would have them, under momentum.
blindfl::he::ProductSpec spec_of(const Shape& s, bool forward, int bits) {
  blindfl::protocol::MatMulSpec spec;
  spec.in_a = s.in;
  spec.out = s.out;
  spec.batch = s.batch;
  spec.features_a = {.scale = bits == 1 ? 0 : std::min(bits, 16), .largest = bits > 16 ? std::exp2(bits - 16) : 1.0};
  spec.sgd = {.momentum = 0.9, .steps = 2550};
  const blindfl::protocol::MatMulParams params(spec);
  return forward ? params.forward(blindfl::protocol::Party::kA, s.batch) : params.backward(s.batch);
}

bool is_right(const blindfl::he::Plan& plan, const blindfl::ShareMatrix& sum, const blindfl::ShareMatrix& product) {
  const blindfl::ShareMatrix difference = sum - product;
  return std::ranges::all_of(difference.values(), [&](blindfl::UInt128 v) {
    return std::abs(static_cast<double>(blindfl::signed_low_bits(v, difference.ring_bits()))) <= plan.largest_error();
  });
}

Measured measure(const Scheme& scheme, const Shape& s, bool forward, std::size_t threads, const Options& options) {
  blindfl::Random random;
  blindfl::ThreadPool pool(threads);
  const auto plan = scheme.plan(spec_of(s, forward, options.bits));
  const blindfl::he::ProductSpec& spec = plan->spec();
  const blindfl::IntMatrix x = random_left(spec, random);
  blindfl::ShareMatrix m = blindfl::random_share(spec.inner, spec.cols, spec.right_scale, random, spec.ring_bits);
  if (spec.right_bits < spec.ring_bits) {
    for (blindfl::UInt128& v : m.values()) v = blindfl::low_bits(v, spec.right_bits - 1);
  }
  const blindfl::he::KeySetup setup{.set = plan->key_set()};
  const auto owner = scheme.generate_keys(setup, random);
  const auto multiplier = scheme.multiplier(setup, owner->public_key());

  multiplier->expect(*plan);
  owner->expect(*plan);

  blindfl::bench::Stopwatch ahead;
  blindfl::bench::Stopwatch encrypt;
  blindfl::bench::Stopwatch load;
  blindfl::bench::Stopwatch prepare;
  blindfl::bench::Stopwatch multiply;
  blindfl::bench::Stopwatch open;
  FixedSink operand_bytes(plan->operand_bytes());
  FixedSink reply(plan->reply_bytes());
  for (std::size_t i = 0; i < options.repeat; ++i) {
    operand_bytes.restart();
    reply.restart();
    ahead.restart();
    while (owner->prepare()) {
    }
    ahead.lap();
    encrypt.restart();
    owner->encrypt(*plan, m, random, pool, operand_bytes);
    encrypt.lap();
    blindfl::BufferSource operand_in(operand_bytes.bytes());
    load.restart();
    const auto operand = multiplier->load(*plan, operand_in, pool);
    load.lap();
    prepare.restart();
    while (multiplier->prepare()) {
    }
    const auto left = multiplier->prepare_left(*plan, x, pool);
    prepare.lap();
    multiply.restart();
    const blindfl::ShareMatrix kept = left ? multiplier->multiply_prepared(*plan, *left, *operand, random, pool, reply)
                                           : multiplier->multiply(*plan, x, *operand, random, pool, reply);
    multiply.lap();
    blindfl::BufferSource reply_in(reply.bytes());
    open.restart();
    const blindfl::ShareMatrix opened = owner->open(*plan, reply_in, random, pool);
    open.lap();
    blindfl::require<blindfl::Error>(i > 0 || is_right(*plan, opened + kept, blindfl::multiply(x, m)),
                                     "a product came out wrong");
  }
  return {ahead.median_lap(),   encrypt.median_lap(),  open.median_lap(),     load.median_lap(),
          prepare.median_lap(), multiply.median_lap(), plan->operand_bytes(), plan->reply_bytes()};
}

void print(const NamedScheme& scheme, std::size_t threads, const Shape& s, bool forward, const Measured& m, bool json) {
  const std::string product = forward
                                  ? std::to_string(s.batch) + "x" + std::to_string(s.in) + "x" + std::to_string(s.out)
                                  : std::to_string(s.in) + "x" + std::to_string(s.batch) + "x" + std::to_string(s.out);
  const double owner = m.ahead + m.encrypt + m.open;
  const double multiplier = m.load + m.prepare + m.multiply;
  if (json) {
    std::cout << R"({"scheme":")" << scheme.name << R"(","kernels":")" << scheme.kernels << R"(","threads":)" << threads
              << R"(,"batch":)" << s.batch << R"(,"in":)" << s.in << R"(,"out":)" << s.out << R"(,"direction":")"
              << (forward ? "forward" : "backward") << R"(","owner_ms":)" << owner << R"(,"multiplier_ms":)"
              << multiplier << R"(,"ahead_ms":)" << m.ahead << R"(,"encrypt_ms":)" << m.encrypt << R"(,"open_ms":)"
              << m.open << R"(,"load_ms":)" << m.load << R"(,"prepare_ms":)" << m.prepare << R"(,"multiply_ms":)"
              << m.multiply << R"(,"operand_bytes":)" << m.operand_bytes << R"(,"reply_bytes":)" << m.reply_bytes
              << "}\n";
    return;
  }
  std::cout << std::left << std::setw(9) << (forward ? "forward" : "backward") << std::setw(14) << product << std::right
            << std::fixed << std::setprecision(3) << std::setw(9) << m.ahead << std::setw(9) << m.encrypt
            << std::setw(9) << m.open << std::setw(10) << owner << " |" << std::setw(9) << m.load << std::setw(9)
            << m.prepare << std::setw(9) << m.multiply << std::setw(11) << multiplier << " |" << std::setprecision(0)
            << std::setw(9) << static_cast<double>(m.operand_bytes) / 1e3 << std::setw(9)
            << static_cast<double>(m.reply_bytes) / 1e3 << std::endl;
}

std::vector<NamedScheme> schemes(const Options& options) {
  std::vector<NamedScheme> found;
  if (!options.scheme || *options.scheme == "lattice") {
    for (const auto* kernels : blindfl::he::lattice::available_kernels()) {
      if (options.kernels && *options.kernels != kernels->name) continue;
      found.push_back(
          {"lattice", std::string(kernels->name), std::make_unique<LatticeScheme>(LatticeScheme::Options{kernels})});
    }
  }
  if (!options.kernels && (!options.scheme || *options.scheme == "plain")) {
    found.push_back({"plain", "none", std::make_unique<blindfl::testing::PlainScheme>()});
  }
  blindfl::require<blindfl::InvalidArgument>(!found.empty(),
                                             "there is no such scheme, or this processor cannot run it");
  return found;
}

Shape shape(std::string_view text) {
  const std::size_t first = text.find('x');
  const std::size_t last = text.rfind('x');
  blindfl::require<blindfl::InvalidArgument>(first != last, "'", text, "' is not a shape like 128x62x1");
  return {positive(text.substr(0, first)), positive(text.substr(first + 1, last - first - 1)),
          positive(text.substr(last + 1))};
}

Options read_options(int argc, char** argv) {
  const blindfl::bench::Arguments arguments(argc, argv, kUsage,
                                            {"--scheme", "--kernels", "--threads", "--repeat", "--bits", "--shape"});
  Options options;
  options.json = arguments.json();
  options.scheme = arguments.value("--scheme");
  options.kernels = arguments.value("--kernels");
  const std::size_t cores = std::thread::hardware_concurrency();
  if (cores > 1) options.threads.push_back(cores);
  if (const auto threads = arguments.value("--threads")) options.threads = {positive(*threads)};
  if (const auto repeat = arguments.value("--repeat")) options.repeat = positive(*repeat);
  if (const auto bits = arguments.value("--bits")) options.bits = static_cast<int>(positive(*bits));
  if (const auto text = arguments.value("--shape")) options.shapes = {shape(*text)};
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  for (const NamedScheme& scheme : schemes(options)) {
    for (const std::size_t threads : options.threads) {
      if (!options.json) {
        std::cout << "\nscheme " << scheme.name << ", kernels " << scheme.kernels << ", " << threads
                  << (threads == 1 ? " thread" : " threads") << ", median of " << options.repeat
                  << "; milliseconds and kB\n"
                  << "         product           ahead  encrypt     open     owner |     load  prepare multiply "
                     "multiplier |  "
                     "operand    reply\n";
      }
      for (const Shape& s : options.shapes) {
        print(scheme, threads, s, true, measure(*scheme.scheme, s, true, threads, options), options.json);
        print(scheme, threads, s, false, measure(*scheme.scheme, s, false, threads, options), options.json);
      }
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_product: " << error.what() << "\n";
  return 1;
}
