#include "blindfl/nn/shared_tensor.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/nn/wide_derivative.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::nn {

SharedTensor operator+(const SharedTensor& a, const SharedTensor& b) {
  require<InvalidArgument>(a.session == b.session && a.rows == b.rows && a.share.rows() == b.share.rows() &&
                               a.share.cols() == b.share.cols(),
                           "shared values that are added up must be of the same session, rows and columns");
  const int ring = std::min(a.share.ring_bits(), b.share.ring_bits());
  return {.session = a.session,
          .share = narrowed(a.share, ring) + narrowed(b.share, ring),
          .rows = a.rows,
          .backward = [of_a = a.backward, of_b = b.backward](const SharedDerivative& d) {
            of_a(d);
            of_b(d);
          }};
}

SharedTensor shared_output(const SourceOutput& output) {
  require<InvalidArgument>(output.opening.top == protocol::Top::kShared,
                           "these outputs are opened to B: for a top on shares, make their layers with Top::kShared");
  require<InvalidArgument>(output.shares.size() == 1, "a shared top is shared with one peer, and these are outputs of ",
                           output.shares.size(), " sessions");
  const protocol::SessionShare& of_session = output.shares.front();
  return {.session = of_session.session,
          .share = rescale(of_session.output.share, kSharedScale),
          .rows = output.rows,
          .backward = [session = of_session.session, layer = of_session.layer, rows = output.rows,
                       parts = output.parts](const SharedDerivative& d) {
            const protocol::Derivative derivative =
                protocol::shared_derivative(rows, wide_derivative(*session, layer, d).share);
            for (const SourceOutput::Backward& part : parts) part(derivative);
          }};
}

}  // namespace blindfl::nn
