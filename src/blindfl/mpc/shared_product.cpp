#include "blindfl/mpc/shared_product.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/share/products.h"

namespace blindfl::mpc {

namespace {

/// Cross products of one product of shared matrices.
constexpr double kCrossProducts = 2;

/// Left values of a product are integers of its ring, and schemes take them up to 2^62.
constexpr int kMostRing = 63;

std::uint64_t count_of(double values) {
  return static_cast<std::uint64_t>(std::min(values, 0x1p62));
}

/// Integers of the signed low bits of shares: what stands on the left of a product in a ring of so many.
IntMatrix signed_integers(const ShareMatrix& share, int bits) {
  std::vector<std::int64_t> values;
  values.reserve(share.values().size());
  for (const UInt128 v : share.values()) values.push_back(static_cast<std::int64_t>(signed_low_bits(v, bits)));
  return IntMatrix::dense(share.rows(), share.cols(), std::move(values), share.scale(), std::uint64_t{1} << (bits - 1));
}

}  // namespace

SharedProductParams::SharedProductParams(const SharedProductSpec& spec) : spec_(spec) {
  require<InvalidArgument>(spec.batch > 0 && spec.left_cols > 0 && spec.other > 0,
                           "product of shared matrices: an empty matrix has no product");
  require<InvalidArgument>(std::isfinite(spec.largest) && spec.largest > 0 && spec.largest <= 0x1p40,
                           "product of shared matrices: the largest value must be above 0 and at most 2^40");
  require<InvalidArgument>(spec.precision >= 0 && spec.precision < product_scale() &&
                               spec.result_scale <= product_scale() && spec.precision <= spec.result_scale,
                           "product of shared matrices: results with ", spec.precision, " bits of precision at scale ",
                           spec.result_scale, " of factors at scale ", product_scale());
  // The noise of the two cross products together is below a unit of the precision.
  noise_bits_ = product_scale() - spec.precision - 1;
  result_bits_ = std::max(static_cast<int>(std::ceil(std::log2(spec.largest))) + product_scale(), noise_bits_ + 1);
  ring_bits_ = spec.result_ring + product_scale() - spec.result_scale;
  require<InvalidArgument>(result_bits_ < ring_bits_, "product of shared matrices: results of ", result_bits_,
                           " bits do not fit in a ring of ", ring_bits_);
  require<InvalidArgument>(spec.left_ring >= 2 && spec.left_ring < ring_bits_ && ring_bits_ <= kMostRing,
                           "product of shared matrices: left values modulo 2^", spec.left_ring,
                           " in a product modulo 2^", ring_bits_, ", where the latter is larger, and at most 2^",
                           kMostRing, ". Lower the scales or the largest result");
}

std::size_t SharedProductParams::result_rows(std::size_t rows) const {
  return spec_.form == ProductForm::kLeftTransposed ? spec_.left_cols : rows;
}

std::uint64_t SharedProductParams::run_values() const {
  const double results = static_cast<double>(result_rows(spec_.batch)) * static_cast<double>(spec_.other);
  return count_of(kCrossProducts * results * static_cast<double>(spec_.run_products) *
                  static_cast<double>(spec_.sharing));
}

he::ProductSpec SharedProductParams::product(std::size_t rows) const {
  require<InvalidArgument>(rows > 0 && rows <= spec_.batch, "product of shared matrices: a batch of ", rows,
                           " rows, where there are at most ", spec_.batch);
  return {.rows = result_rows(rows),
          .inner = spec_.form == ProductForm::kLeftTransposed ? rows : spec_.left_cols,
          .cols = spec_.other,
          .left_bound = std::uint64_t{1} << (ring_bits_ - 1),
          .left_scale = spec_.left_scale,
          .right_scale = spec_.right_scale,
          .run_values = run_values(),
          .ring_bits = ring_bits_,
          .noise_bits = noise_bits_};
}

protocol::Settings SharedProductParams::settings() const {
  protocol::Settings settings;
  settings.add("form", static_cast<int>(spec_.form)).add("batch", spec_.batch).add("left_cols", spec_.left_cols);
  settings.add("other", spec_.other).add("left_scale", spec_.left_scale).add("right_scale", spec_.right_scale);
  settings.add("left_ring", spec_.left_ring).add("largest", spec_.largest).add("precision", spec_.precision);
  settings.add("result_scale", spec_.result_scale).add("result_ring", spec_.result_ring);
  settings.add("run_products", spec_.run_products).add("sharing", spec_.sharing);
  return settings.add("scheme", spec_.scheme);
}

ShareMatrix SharedProductParams::right(const ShareMatrix& r) const {
  require<InvalidArgument>(r.ring_bits() >= ring_bits_, "product of shared matrices: results modulo 2^", ring_bits_,
                           " of a right one modulo 2^", r.ring_bits());
  const ShareMatrix narrow = narrowed(r, ring_bits_);
  return spec_.form == ProductForm::kRightTransposed ? transpose(narrow) : narrow;
}

ShareMatrix SharedProductParams::result(const ShareMatrix& sum) const {
  return rescale(sum, spec_.result_scale);
}

SharedLeft SharedLeft::of_lifted(ShareMatrix lifted) {
  SharedLeft left(std::move(lifted));
  left.lifted_ = true;
  return left;
}

PartyCost shared_product_cost(const he::Plan& plan, const protocol::RoomLift& lift, ProductParts parts) {
  const std::uint64_t bytes = (parts.operand ? plan.operand_bytes() : 0) + plan.reply_bytes();
  // An operand travels with the choices of a lift.
  const PartyCost cost{.a_bytes = bytes, .b_bytes = bytes, .flights = parts.operand && !parts.lift ? 2 : 1};
  return parts.lift ? protocol::room_lift_cost(lift) + cost : cost;
}

SharedProduct::SharedProduct(Session& session, const SharedProductSpec& spec)
    : session_(session),
      params_(spec),
      layer_(session.new_layer()),
      product_(session, session.scheme(spec.scheme), {steps::kSharedOperand, steps::kSharedProduct, layer_},
               [params = params_](std::size_t rows) { return params.product(rows); }) {
  // Made now, so that what the scheme cannot do is refused before anything is sent.
  (void)product_.plan(spec.batch);
  session_.agree("a product of shared matrices", params_.settings());
}

PartyCost SharedProduct::cost(std::size_t rows, Parts parts) {
  return shared_product_cost(plan(rows), params_.left_lift(rows), parts);
}

double SharedProduct::largest_error(std::size_t rows) {
  return std::ldexp(kCrossProducts * plan(rows).largest_error(), -params_.product_scale()) +
         std::ldexp(1.0, -params_.spec().result_scale);
}

SharedProduct::Run SharedProduct::checked(const Task& task) {
  const SharedProductSpec& spec = params_.spec();
  const ShareMatrix& l = task.l->share();
  require<InvalidArgument>(l.cols() == spec.left_cols && l.scale() == spec.left_scale,
                           "product of shared matrices: the left one has ", l.cols(), " columns at scale ", l.scale(),
                           ", not ", spec.left_cols, " at ", spec.left_scale);
  const int needed = task.l->is_lifted() ? params_.ring_bits() : spec.left_ring;
  require<InvalidArgument>(l.ring_bits() >= needed, "product of shared matrices: the left one is modulo 2^",
                           l.ring_bits(), ", and 2^", needed, " is needed");
  Run run{l.rows(), params_.right(*task.r), task.version};
  he::check_right(product_.plan(run.rows), run.right);
  return run;
}

void SharedProduct::take_keys(const Run& run) {
  product_.take_keys(run.rows);
  product_.expect_to_multiply(run.rows);
  product_.expect_to_encrypt(run.rows);
}

// All in the same messages; one that several tasks have is lifted once, to the widest ring that one of them needs.
bool SharedProduct::lift_left(std::span<const Task> tasks, const protocol::Beside& beside) {
  std::vector<SharedLeft*> lefts;
  std::vector<ShareMatrix> narrow;
  for (const Task& task : tasks) {
    if (task.l->is_lifted()) continue;
    task.l->ring_bits_ = std::max(task.l->ring_bits_, task.product->params_.ring_bits());
    if (std::ranges::find(lefts, task.l) != lefts.end()) continue;
    lefts.push_back(task.l);
    narrow.push_back(narrowed(task.l->share_, task.product->params_.spec().left_ring));
  }
  if (lefts.empty()) return false;
  std::vector<protocol::LiftedShare> lifts;
  for (std::size_t i = 0; i < lefts.size(); ++i) lifts.push_back({narrow[i], lefts[i]->ring_bits_});
  const SharedProduct& first = *tasks.front().product;
  std::vector<ShareMatrix> lifted = protocol::lift_with_room(first.session_, first.layer_, lifts, beside);
  for (std::size_t i = 0; i < lefts.size(); ++i) *lefts[i] = SharedLeft::of_lifted(std::move(lifted[i]));
  return true;
}

ShareMatrix SharedProduct::finished(const Run& run, ShareMatrix own) const {
  own += run.multiplied;
  own += run.opened;
  return params_.result(own);
}

ShareMatrix SharedProduct::product(SharedLeft& l, const ShareMatrix& r, std::uint64_t version) {
  const Task only{this, &l, &r, version};
  return std::move(products(std::span(&only, 1)).front());
}

std::vector<ShareMatrix> SharedProduct::products(std::span<const Task> tasks) {
  require<InvalidArgument>(!tasks.empty(), "products of shared matrices: there is none");
  Session& session = tasks.front().product->session_;
  std::set<const SharedProduct*> all;
  std::vector<Run> runs;
  for (const Task& task : tasks) {
    require<InvalidArgument>(all.insert(task.product).second && &task.product->session_ == &session,
                             "products of shared matrices: at the same time only different ones, of one session");
    runs.push_back(task.product->checked(task));
  }
  const auto each = [&](auto&& step) {
    for (std::size_t i = 0; i < runs.size(); ++i) step(*tasks[i].product, runs[i]);
  };
  session.settle();
  std::uint64_t before = 0;
  std::uint64_t replies = 0;
  each([&](SharedProduct& product, Run& run) {
    product.take_keys(run);
    before += product.operand_bytes(run);
    replies += product.product_.reply_bytes(run.rows);
  });
  const protocol::Beside operands{
      .bytes = before,
      .send = [&] { each([](SharedProduct& product, Run& run) { product.send_operand(run); }); },
      .receive = [&] { each([](SharedProduct& product, Run& run) { product.receive_operand(run); }); }};
  if (!lift_left(tasks, operands)) session.exchange(operands.bytes, operands.send, operands.receive);
  // What takes no message, while the peer may still be busy.
  std::vector<ShareMatrix> shares;
  shares.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SharedProductParams& params = tasks[i].product->params_;
    const bool transposed = params.spec().form == ProductForm::kLeftTransposed;
    const ShareMatrix& left = tasks[i].l->share();
    runs[i].left = signed_integers(transposed ? transpose(left) : left, params.ring_bits());
    shares.push_back(multiply(runs[i].left, runs[i].right, session.pool()));
  }
  session.exchange(
      replies, [&] { each([](SharedProduct& product, Run& run) { product.send_reply(run); }); },
      [&] { each([](SharedProduct& product, Run& run) { product.receive_reply(run); }); });
  for (std::size_t i = 0; i < runs.size(); ++i) shares[i] = tasks[i].product->finished(runs[i], std::move(shares[i]));
  return shares;
}

}  // namespace blindfl::mpc
