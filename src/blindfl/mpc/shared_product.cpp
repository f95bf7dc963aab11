#include "blindfl/mpc/shared_product.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"
#include "blindfl/share/integer_pieces.h"
#include "blindfl/share/products.h"

namespace blindfl::mpc {

namespace {

/// Cross products of one product of shared matrices.
constexpr double kCrossProducts = 2;

// Of what a run may give away, pieces take half: products have the rest.
static_assert(he::kHidingOfRun == 40);
constexpr double kBudgetOfPieces = 0x1p-41;

std::uint64_t count_of(double values) {
  return static_cast<std::uint64_t>(std::min(values, 0x1p62));
}

net::Message correction_message(std::uint32_t layer, const ShareMatrix& share) {
  return {steps::kPieces, layer, share.values().size() * sizeof(std::uint64_t), share.rows(), share.cols()};
}

/// At A: draws its pieces, and sends what B's lack.
ShareMatrix send_corrections(Session& session, const net::Message& message, const ShareMatrix& share) {
  Random random = session.random();
  ShareMatrix pieces = draw_pieces(share.rows(), share.cols(), share.scale(), random);
  const SecretVector<std::uint64_t> words = piece_corrections(share, pieces);
  session.channel().send(message, std::as_bytes(std::span(words)));
  return pieces;
}

ShareMatrix receive_corrections(Session& session, const net::Message& message, const ShareMatrix& share) {
  SecretVector<std::uint64_t> words(share.values().size());
  session.channel().receive(message, [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(words))); });
  return closing(session, [&] { return corrected_pieces(share, words, "a shared matrix"); });
}

void check_piece_ring(const ShareMatrix& share) {
  require<InvalidArgument>(share.ring_bits() >= kPieceRing,
                           "integers that add up to a shared matrix are made of "
                           "shares modulo 2^",
                           kPieceRing, " or more, not 2^", share.ring_bits());
}

}  // namespace

ShareMatrix make_pieces(Session& session, std::uint32_t layer, const ShareMatrix& share) {
  check_piece_ring(share);
  session.settle();
  const net::Message message = correction_message(layer, share);
  return session.party() == Party::kA ? send_corrections(session, message, share)
                                      : receive_corrections(session, message, share);
}

void check_pieces(std::string_view what, double largest, int scale, double run_values) {
  require<InvalidArgument>(run_values * divergence_of_piece(std::ldexp(largest, scale)) <= kBudgetOfPieces, what,
                           ": integers that add up to values of up to ", largest, " at scale ", scale,
                           " would hide them too little in a run with ", run_values,
                           " of them. Shorten the run, make layers narrower, lower the scale or the largest value; "
                           "or take an open top");
}

SharedProductParams::SharedProductParams(const SharedProductSpec& spec) : spec_(spec) {
  require<InvalidArgument>(spec.batch > 0 && spec.left_cols > 0 && spec.other > 0,
                           "product of shared matrices: an empty matrix has no product");
  for (const double largest : {spec.largest, spec.largest_left}) {
    require<InvalidArgument>(std::isfinite(largest) && largest > 0 && largest <= 0x1p40,
                             "product of shared matrices: the largest value must be above 0 and at most 2^40");
  }
  require<InvalidArgument>(spec.precision >= 0 && spec.precision < product_scale() &&
                               spec.result_scale <= product_scale() && spec.precision <= spec.result_scale,
                           "product of shared matrices: results with ", spec.precision, " bits of precision at scale ",
                           spec.result_scale, " of factors at scale ", product_scale());
  check_pieces("product of shared matrices", spec.largest_left, spec.left_scale, pieces_of_run());
  // The noise of the two cross products together is below a unit of the precision.
  noise_bits_ = product_scale() - spec.precision - 1;
  result_bits_ = std::max(static_cast<int>(std::ceil(std::log2(spec.largest))) + product_scale(), noise_bits_ + 1);
  ring_bits_ =
      lifts() ? he::ring_for_lifts(result_bits_, run_values()) : spec.result_ring + product_scale() - spec.result_scale;
  require<InvalidArgument>(ring_bits_ <= ShareMatrix::kMostRingBits, "product of shared matrices: results of ",
                           result_bits_, " bits at scale ", product_scale(), " take a ring of ", ring_bits_,
                           " bits, and there are ", ShareMatrix::kMostRingBits,
                           ". Lower the scales, the largest result or the length of the run");
  require<InvalidArgument>(result_bits_ < ring_bits_, "product of shared matrices: results of ", result_bits_,
                           " bits do not fit in a ring of ", ring_bits_);
  require<InvalidArgument>(!lifts() || result_bits_ <= kMaxRescaleBits, "product of shared matrices: results of ",
                           result_bits_, " bits cannot be rescaled safely; at most ", kMaxRescaleBits, " can");
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
          .left_bound = std::uint64_t{1} << kPieceBits,
          .left_scale = spec_.left_scale,
          .right_scale = spec_.right_scale,
          .run_values = run_values(),
          .ring_bits = ring_bits_,
          .noise_bits = noise_bits_,
          .lifted_bits = lifts() ? result_bits_ : 0};
}

double SharedProductParams::failure_of_run() const {
  if (!lifts()) return 0;
  return std::ldexp(static_cast<double>(run_values()) / kCrossProducts, result_bits_ - ring_bits_);
}

double SharedProductParams::pieces_of_run() const {
  return static_cast<double>(spec_.batch) * static_cast<double>(spec_.left_cols) *
         static_cast<double>(spec_.run_products);
}

double SharedProductParams::divergence_of_run() const {
  return pieces_of_run() * divergence_of_piece(std::ldexp(spec_.largest_left, spec_.left_scale));
}

protocol::Settings SharedProductParams::settings() const {
  protocol::Settings settings;
  settings.add("form", static_cast<int>(spec_.form)).add("batch", spec_.batch).add("left_cols", spec_.left_cols);
  settings.add("other", spec_.other).add("left_scale", spec_.left_scale).add("right_scale", spec_.right_scale);
  settings.add("largest_left", spec_.largest_left).add("largest", spec_.largest).add("precision", spec_.precision);
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
  return rescale(lifts() ? lifted(sum) : sum, spec_.result_scale);
}

SharedLeft SharedLeft::of_pieces(ShareMatrix pieces) {
  SharedLeft left(std::move(pieces));
  left.pieces_ = integers_of(left.share_);
  return left;
}

PartyCost shared_product_cost(const he::Plan& plan, std::size_t left_values, ProductParts parts) {
  const std::uint64_t bytes = (parts.operand ? plan.operand_bytes() : 0) + plan.reply_bytes();
  PartyCost cost{.a_bytes = bytes, .b_bytes = bytes, .flights = parts.operand || parts.pieces ? 2 : 1};
  if (parts.pieces) cost.a_bytes += pieces_cost(left_values).a_bytes;
  return cost;
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
  return shared_product_cost(plan(rows), rows * params_.spec().left_cols, parts);
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
  check_piece_ring(l);
  Run run{l.rows(), params_.right(*task.r), task.version};
  he::check_right(product_.plan(run.rows), run.right);
  return run;
}

void SharedProduct::take_keys(const Run& run) {
  product_.take_keys(run.rows);
  product_.expect_to_multiply(run.rows);
  product_.expect_to_encrypt(run.rows);
}

net::Message SharedProduct::corrections(const SharedLeft& left) const {
  return correction_message(layer_, left.share());
}

void SharedProduct::send_pieces(SharedLeft& left) {
  left.pieces_ = integers_of(send_corrections(session_, corrections(left), left.share()));
}

void SharedProduct::receive_pieces(SharedLeft& left) {
  left.pieces_ = integers_of(receive_corrections(session_, corrections(left), left.share()));
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
  // Those of the tasks that make pieces; a left one that several have is made once.
  std::vector<const Task*> to_make;
  for (const Task& task : tasks) {
    const bool known = std::ranges::any_of(to_make, [&](const Task* other) { return other->l == task.l; });
    if (!task.l->has_pieces() && !known) to_make.push_back(&task);
  }
  const bool at_a = session.party() == Party::kA;
  for (const Task* task : to_make) before += at_a ? task->product->corrections(*task->l).size : 0;
  session.exchange(
      before,
      [&] {
        each([](SharedProduct& product, Run& run) { product.send_operand(run); });
        if (!at_a) return;
        for (const Task* task : to_make) task->product->send_pieces(*task->l);
      },
      [&] {
        each([](SharedProduct& product, Run& run) { product.receive_operand(run); });
        if (at_a) return;
        for (const Task* task : to_make) task->product->receive_pieces(*task->l);
      });
  // What takes no message, while the peer may still be busy.
  std::vector<ShareMatrix> shares;
  shares.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const IntMatrix& pieces = tasks[i].l->pieces();
    const bool transposed = tasks[i].product->params_.spec().form == ProductForm::kLeftTransposed;
    runs[i].left = transposed ? pieces.transpose() : pieces;
    shares.push_back(multiply(runs[i].left, runs[i].right, session.pool()));
  }
  session.exchange(
      replies, [&] { each([](SharedProduct& product, Run& run) { product.send_reply(run); }); },
      [&] { each([](SharedProduct& product, Run& run) { product.receive_reply(run); }); });
  for (std::size_t i = 0; i < runs.size(); ++i) shares[i] = tasks[i].product->finished(runs[i], std::move(shares[i]));
  return shares;
}

}  // namespace blindfl::mpc
