#include "blindfl/nn/tensor_bytes.h"

#include <algorithm>
#include <sstream>

#include "blindfl/base/error.h"

namespace blindfl::nn {

namespace {

std::span<std::byte> bytes_of(const torch::Tensor& contiguous) {
  return {static_cast<std::byte*>(contiguous.data_ptr()), contiguous.nbytes()};
}

}  // namespace

std::string shape_in_words(const torch::Tensor& tensor) {
  require<InvalidArgument>(tensor.defined() && tensor.layout() == torch::kStrided && !tensor.is_quantized(),
                           "only dense tensors can be saved");
  std::ostringstream words;
  words << tensor.scalar_type() << " " << tensor.sizes();
  return words.str();
}

void write_values(ByteSink& out, const torch::Tensor& tensor) {
  out.write(bytes_of(tensor.detach().to(torch::kCPU).contiguous()));
}

torch::Tensor read_values(ByteSource& in, const torch::Tensor& like) {
  torch::Tensor values = torch::empty(like.sizes(), torch::TensorOptions().dtype(like.scalar_type()));
  in.read(bytes_of(values));
  if (values.scalar_type() == torch::kBool) {
    require<DataError>(std::ranges::all_of(bytes_of(values), [](std::byte b) { return b <= std::byte{1}; }),
                       "the saved state is damaged: what is neither true nor false");
  }
  return values;
}

}  // namespace blindfl::nn
