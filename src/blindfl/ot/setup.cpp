#include "blindfl/ot/setup.h"

#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

Block draw_block(Random& random) {
  Block block;
  random.fill(std::as_writable_bytes(std::span(&block, 1)));
  return block;
}

Bytes with_header(const OtSession& session, OtStep step, ByteView body) {
  BufferSink out(OtSession::kHeaderBytes + body.size());
  session.write_header(out, step, 0, 0);
  out.write(body);
  return out.take();
}

/// What was never there, or is used up, is an error and not a crash.
template <class T>
T taken(std::optional<T>& value) {
  require<InvalidArgument>(value.has_value(), "oblivious transfer: this setup is finished");
  T result = std::move(*value);
  value.reset();
  return result;
}

}  // namespace

SenderSetup::SenderSetup(const OtSpec& spec, Random& random, const Kernels& kernels)
    : session_(spec), kernels_(&kernels), secret_(draw_block(random)) {
  base_.emplace(session_, base_choices(session_, secret_), random);
}

SenderSetup::~SenderSetup() {
  explicit_bzero(&secret_, sizeof secret_);
}

Bytes SenderSetup::hello() const {
  require<InvalidArgument>(base_.has_value(), "oblivious transfer: this setup is finished");
  return with_header(session_, OtStep::kSenderHello, base_->message());
}

RandomOtSender SenderSetup::finish(ByteView receiver_hello, ByteView trees) && {
  const BaseOtReceiver base = taken(base_);
  const ByteView point = session_.checked_body(receiver_hello, OtStep::kReceiverHello, 0, 0, kPointBytes);
  const ByteView sums = session_.checked_body(trees, OtStep::kTrees, 0, 0, kTreesBytes);
  const SecretBlocks leaves = punctured_trees(session_, secret_, base.keys(point), sums, *kernels_);
  return {session_, secret_, leaves, *kernels_};
}

ReceiverSetup::ReceiverSetup(const OtSpec& spec, Random& random, const Kernels& kernels)
    : session_(spec), kernels_(&kernels) {
  base_.emplace(session_, random);
}

Bytes ReceiverSetup::hello() const {
  require<InvalidArgument>(base_.has_value(), "oblivious transfer: this setup is finished");
  return with_header(session_, OtStep::kReceiverHello, base_->message());
}

std::pair<RandomOtReceiver, Bytes> ReceiverSetup::finish(ByteView sender_hello, Random& random) && {
  const BaseOtSender base = taken(base_);
  const ByteView points = session_.checked_body(sender_hello, OtStep::kSenderHello, 0, 0, kBaseReceiverBytes);
  const GrownTrees trees = grow_trees(session_, base.keys(points), *kernels_, random);
  return {RandomOtReceiver(session_, trees.leaves, *kernels_), with_header(session_, OtStep::kTrees, trees.message)};
}

}  // namespace blindfl::ot
