// What the planners expect beside what is measured: private products per scheme, training steps with updates under
// encryption, and training steps of an Embed-MatMul layer with one field. Processor time of one thread, so that others
// on the machine disturb little.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "arguments.h"
#include "blindfl/base/error.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/protocol/layers/embed_matmul.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/plan/embed_cost.h"
#include "blindfl/protocol/plan/layer_cost.h"
#include "blindfl/protocol/session/in_process.h"
#include "timing.h"

namespace {

using namespace blindfl;
using protocol::Party;

constexpr const char* kUsage =
    "usage: bench_plan [--json] [--scheme NAME] [--repeat N] [--shape BATCHxIN/NONZEROSxOUT] [--bits N]\n"
    "                  [--categories N,N,...]\n"
    "  --scheme    only this one: lattice, paillier, paillier-3072; ot, tables by oblivious transfer\n"
    "  --repeat    of which the median is taken, 7 without it\n"
    "  --bits      of the features with --shape, 20 without it; 1: all are 1\n"
    "  --categories    only Embed-MatMul layers, with a field of so many each\n";

struct Shape {
  std::size_t batch;
  std::size_t in;
  std::size_t nonzeros;  ///< in a row
  std::size_t out;
  int bits;
};
/// Dense ones of 20 bits as in bench_product, then sparse ones.
const std::vector<Shape> kShapes{{128, 14, 14, 1, 20},    {128, 62, 62, 1, 20},    {128, 63, 63, 64, 20},
                                 {128, 80, 80, 64, 20},   {128, 392, 392, 64, 20}, {1024, 392, 392, 256, 20},
                                 {128, 62, 14, 1, 1},     {128, 5000, 30, 1, 20},  {128, 50000, 40, 1, 1},
                                 {128, 50000, 40, 64, 1}, {128, 500000, 7, 1, 1}};

/// Of the field in an Embed-MatMul layer.
const std::vector<std::size_t> kCategories{100, 1000, 10000, 100000, 1000000};

/// Seconds: what is expected to take longer is left out.
constexpr double kLongest = 4.0;

struct Options {
  bool json = false;
  std::vector<std::string> schemes{"lattice", "paillier", std::string(protocol::kByOt)};
  std::size_t repeat = 7;
  std::vector<Shape> shapes = kShapes;
  std::vector<std::size_t> categories = kCategories;
};

std::string describe(const Shape& s) {
  std::ostringstream text;
  text << s.batch << "x" << s.in << "/" << s.nonzeros << "x" << s.out << ", " << s.bits << " bits";
  return text.str();
}

FixedPointSpec encoding(const Shape& s) {
  return {.scale = s.bits == 1 ? 0 : 16, .largest = s.bits == 1 ? 1.0 : std::ldexp(1.0, s.bits - 16), .clip = false};
}

IntMatrix random_features(const Shape& s, Random& random) {
  const FixedPoint point(encoding(s));
  std::vector<std::size_t> starts{0};
  std::vector<IntMatrix::Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < s.batch; ++r) {
    std::set<std::size_t> chosen;
    for (std::size_t c = 0; s.nonzeros == s.in && c < s.in; ++c) chosen.insert(c);
    while (chosen.size() < s.nonzeros) chosen.insert(random.next_u64() % s.in);
    for (const std::size_t c : chosen) {
      columns.push_back(static_cast<IntMatrix::Column>(c));
      const auto bound = static_cast<std::int64_t>(point.bound());
      const auto drawn = static_cast<std::int64_t>(random.next_u64() % (2 * point.bound()));
      values.push_back(s.bits == 1 ? 1 : drawn - bound);
    }
    starts.push_back(columns.size());
  }
  if (s.nonzeros == s.in) return IntMatrix::dense(s.batch, s.in, std::move(values), point.scale(), point.bound());
  return IntMatrix::csr(s.batch, s.in, starts, columns, values, point.scale(), point.bound());
}

protocol::MatMulSpec layer_of(const Shape& s, std::size_t steps) {
  protocol::MatMulSpec spec;
  spec.in_a = s.in;
  spec.out = s.out;
  spec.batch = s.batch;
  spec.nonzeros_a = s.nonzeros;
  spec.features_a = encoding(s);
  spec.sgd = {.learning_rate = 0.1, .steps = steps};
  return spec;
}

/// Writes into the same memory each time, as a link's buffers are.
class FixedSink final : public ByteSink {
 public:
  explicit FixedSink(std::size_t size) : bytes_(size) {}
  void write(ByteView bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += bytes.size();
  }
  void restart() { used_ = 0; }
  [[nodiscard]] ByteView bytes() const { return ByteView(bytes_).first(used_); }

 private:
  Bytes bytes_;
  std::size_t used_ = 0;
};

/// Processor time of pieces of work: the median of each.
class Times {
 public:
  template <class Body>
  void measure(double he::ProductTimes::*which, const Body& body) {
    const double start = bench::cpu_seconds();
    body();
    of(which).push_back(bench::cpu_seconds() - start);
  }
  [[nodiscard]] double median(double he::ProductTimes::*which) { return bench::median(of(which)); }

 private:
  std::vector<double>& of(double he::ProductTimes::*which) {
    if (which == &he::ProductTimes::encrypt) return all_[0];
    if (which == &he::ProductTimes::load) return all_[1];
    return which == &he::ProductTimes::multiply ? all_[2] : all_[3];
  }
  std::vector<double> all_[4];
};

void print(const Options& options, const std::string& what, const std::string& shape,
           const std::vector<std::string>& names, const std::vector<double>& expected,
           const std::vector<double>& measured) {
  if (options.json) {
    std::cout << R"({"what":")" << what << R"(","shape":")" << shape << R"(")";
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::cout << ",\"" << names[i] << R"(_expected_ms":)" << expected[i] * 1e3 << ",\"" << names[i]
                << R"(_measured_ms":)" << measured[i] * 1e3;
    }
    std::cout << "}" << std::endl;
    return;
  }
  std::cout << std::left << std::setw(26) << what << std::setw(28) << shape << std::right << std::fixed
            << std::setprecision(2);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::cout << "  " << names[i] << " " << expected[i] * 1e3 << " / " << measured[i] * 1e3;
  }
  std::cout << std::endl;
}

double total(const he::ProductTimes& t) {
  return t.encrypt + t.load + t.multiply + t.open;
}

void measure_product(const he::Scheme& scheme, const he::ProductSpec& spec, const IntMatrix& x, const Shape& s,
                     bool forward, const Options& options) {
  Random random;
  ThreadPool pool;
  const auto plan = scheme.plan(spec);
  const he::ProductTimes expected = plan->times(static_cast<double>(s.batch * s.nonzeros));
  if (total(expected) > kLongest) return;
  const he::KeySetup setup{.set = plan->key_set()};
  const auto owner = scheme.generate_keys(setup, random);
  const auto multiplier = scheme.multiplier(setup, owner->public_key());
  const ShareMatrix m = [&] {
    if (spec.right_bits == 128) return random_share(spec.inner, spec.cols, spec.right_scale, random, spec.ring_bits);
    ShareMatrix small(spec.inner, spec.cols, spec.right_scale, spec.ring_bits);
    for (UInt128& v : small.values()) v = random.next_u64() % (std::uint64_t{1} << std::min(60, spec.right_bits - 1));
    return small;
  }();
  FixedSink operand_bytes(plan->operand_bytes());
  FixedSink reply(plan->reply_bytes());
  Times times;
  for (std::size_t i = 0; i <= options.repeat; ++i) {
    operand_bytes.restart();
    reply.restart();
    std::unique_ptr<const he::Operand> operand;
    Times first;  // makes tables, and warms up: not counted
    Times& now = i == 0 ? first : times;
    now.measure(&he::ProductTimes::encrypt, [&] { owner->encrypt(*plan, m, random, pool, operand_bytes); });
    now.measure(&he::ProductTimes::load, [&] {
      BufferSource in(operand_bytes.bytes());
      operand = multiplier->load(*plan, in, pool);
    });
    now.measure(&he::ProductTimes::multiply,
                [&] { (void)multiplier->multiply(*plan, x, *operand, random, pool, reply); });
    now.measure(&he::ProductTimes::open, [&] {
      BufferSource in(reply.bytes());
      (void)owner->open(*plan, in, random, pool);
    });
  }
  using P = he::ProductTimes;
  print(options, std::string(scheme.name()) + (forward ? " forward" : " backward"), describe(s),
        {"encrypt", "load", "multiply", "open"}, {expected.encrypt, expected.load, expected.multiply, expected.open},
        {times.median(&P::encrypt), times.median(&P::load), times.median(&P::multiply), times.median(&P::open)});
}

void measure_products(const he::Scheme& scheme, const Shape& s, const Options& options) {
  Random random;
  const protocol::MatMulParams params(layer_of(s, 0));
  const IntMatrix x = random_features(s, random);
  measure_product(scheme, params.forward(Party::kA, s.batch), x, s, true, options);
  measure_product(scheme, params.backward(s.batch), x.transpose(), s, false, options);
}

/// Both parties' median step, after two that are not counted: rows are touched from the second on.
void measure_updates(const he::Scheme& scheme, const Shape& s, const Options& options) {
  protocol::MatMulSpec spec = layer_of(s, options.repeat + 2);
  spec.update = protocol::Update::kEncrypted;
  const protocol::LayerCost cost = protocol::cost_of(protocol::MatMulParams(spec), Party::kA, scheme);
  if (cost.step.seconds_a + cost.step.seconds_b > kLongest) return;
  const auto [a, b] = protocol::run_in_process(scheme, [&](protocol::Session& session) {
    protocol::MatMul layer(session, spec);
    Random random;
    const bool is_a = session.party() == Party::kA;
    const IntMatrix x = is_a ? random_features(s, random) : IntMatrix::dense(s.batch, 0, {}, 0, 1);
    const std::vector<double> dz(s.batch * s.out, 0.5);
    const protocol::Derivative derivative =
        is_a ? protocol::absent_derivative(s.batch, s.batch)
             : protocol::encode_derivative(FixedPoint(spec.derivative), s.batch, s.out, dz);
    std::vector<double> steps;
    for (std::size_t i = 0; i < options.repeat + 2; ++i) {
      const double start = bench::cpu_seconds();
      (void)layer.forward(x);
      (void)layer.backward(x, derivative);
      layer.weight(Party::kA).update->step();
      if (i >= 2) steps.push_back(bench::cpu_seconds() - start);
    }
    return bench::median(steps);
  });
  print(options, std::string(scheme.name()) + " encrypted", describe(s), {"A", "B"},
        {cost.step.seconds_a, cost.step.seconds_b}, {a, b});
}

/// One field of A, and the products with the weights over the lattice.
protocol::EmbedMatMulSpec embed_layer(std::string_view tables, std::size_t categories, protocol::Update update,
                                      const Options& options) {
  protocol::EmbedMatMulSpec spec;
  protocol::EmbedField& field = spec.fields_a.emplace_back();
  field.field.categories = categories;
  field.update = update;
  field.scheme = tables;
  spec.out = 16;
  spec.batch = 128;
  spec.scheme = "lattice";
  spec.sgd = {.learning_rate = 0.1, .steps = options.repeat + 2};
  return spec;
}

/// This party's median step, after two that are not counted.
double embed_step(protocol::Session& session, const protocol::EmbedMatMulSpec& spec, const Options& options) {
  protocol::EmbedMatMul layer(session, spec);
  Random random;
  const bool is_a = session.party() == Party::kA;
  const std::vector<double> dz(spec.batch * spec.out, 0.5);
  const protocol::Derivative derivative =
      is_a ? protocol::absent_derivative(spec.batch, spec.batch)
           : protocol::encode_derivative(FixedPoint(spec.derivative), spec.batch, spec.out, dz);
  protocol::Weight& table = *layer.tables().front()->weight();
  std::vector<double> steps;
  for (std::size_t i = 0; i < options.repeat + 2; ++i) {
    const CategoryField& field = spec.fields_a.front().field;
    std::vector<IntMatrix::Column> drawn(spec.batch);
    for (auto& c : drawn) c = static_cast<IntMatrix::Column>(random.next_u64() % field.categories);
    std::vector<IntMatrix> categories;
    if (is_a) categories.push_back(encode_categories(field, drawn));
    const double start = bench::cpu_seconds();
    const auto pass = layer.forward(categories, spec.batch).pass;
    (void)layer.backward(pass, derivative);
    if (table.update) table.update->step();
    // What an optimizer does to shares is not counted with, but that they then travel again.
    ++table.version;
    ++layer.weight()->version;
    if (i >= 2) steps.push_back(bench::cpu_seconds() - start);
  }
  return bench::median(steps);
}

/// `scheme` carries the field's table; null: it is looked up in by oblivious transfer.
void measure_embed(const he::Scheme& lattice, const he::Scheme* scheme, std::size_t categories, protocol::Update update,
                   const Options& options) {
  const std::string_view tables = scheme == nullptr ? protocol::kByOt : scheme->name();
  const protocol::EmbedMatMulSpec spec = embed_layer(tables, categories, update, options);
  const protocol::EmbedMatMulParams params(spec);
  const protocol::EmbedField& field = spec.fields_a.front();
  protocol::LayerCost cost = protocol::cost_of_weights(params, lattice);
  cost += scheme == nullptr ? protocol::cost_of_ot_field(params, Party::kA, field)
                            : protocol::cost_of_field(params, Party::kA, field, *scheme);
  if (cost.step.seconds_a + cost.step.seconds_b > kLongest) return;
  std::vector<const he::Scheme*> schemes{&lattice};
  if (scheme != nullptr && scheme->name() != lattice.name()) schemes.push_back(scheme);
  const auto [a, b] =
      protocol::run_in_process(schemes, [&](protocol::Session& session) { return embed_step(session, spec, options); });
  const bool encrypted = update == protocol::Update::kEncrypted;
  print(options, std::string(tables) + (encrypted ? " field encrypted" : " field exchanged"),
        std::to_string(categories) + " categories", {"A", "B"}, {cost.step.seconds_a, cost.step.seconds_b}, {a, b});
}

void measure_scheme(const he::Scheme& lattice, const he::Scheme& scheme, const Options& options) {
  for (const Shape& s : options.shapes) {
    measure_products(scheme, s, options);
    if (scheme.name() == "paillier") measure_updates(scheme, s, options);
  }
  for (const std::size_t categories : options.categories) {
    measure_embed(lattice, &scheme, categories, protocol::Update::kExchanged, options);
    if (scheme.name() != "paillier") continue;
    measure_embed(lattice, &scheme, categories, protocol::Update::kEncrypted, options);
  }
}

Shape shape(std::string_view text, int bits) {
  const std::size_t first = text.find('x');
  const std::size_t slash = text.find('/');
  const std::size_t last = text.rfind('x');
  require<InvalidArgument>(first < slash && slash < last && last != std::string_view::npos, "'", text,
                           "' is not a shape like 128x5000/30x1");
  return {bench::positive(text.substr(0, first)), bench::positive(text.substr(first + 1, slash - first - 1)),
          bench::positive(text.substr(slash + 1, last - slash - 1)), bench::positive(text.substr(last + 1)), bits};
}

Options read_options(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, kUsage, {"--scheme", "--repeat", "--shape", "--bits", "--categories"});
  Options options;
  options.json = arguments.json();
  if (const auto scheme = arguments.value("--scheme")) options.schemes = {*scheme};
  if (const auto repeat = arguments.value("--repeat")) options.repeat = bench::positive(*repeat);
  const int bits = static_cast<int>(bench::positive(arguments.value("--bits").value_or("20")));
  if (const auto text = arguments.value("--shape")) {
    options.shapes = {shape(*text, bits)};
    options.categories.clear();
  }
  if (const auto text = arguments.value("--categories")) {
    options.categories = bench::positive_list(*text);
    options.shapes.clear();
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (!options.json) std::cout << "milliseconds: expected / measured\n";
  const std::unique_ptr<he::Scheme> lattice = he::make_scheme("lattice");
  for (const std::string& name : options.schemes) {
    if (name != protocol::kByOt) {
      measure_scheme(*lattice, *he::make_scheme(name), options);
      continue;
    }
    for (const std::size_t categories : options.categories) {
      measure_embed(*lattice, nullptr, categories, protocol::Update::kExchanged, options);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_plan: " << error.what() << "\n";
  return 1;
}
