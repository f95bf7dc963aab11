// What a user's own program may look like; it knows nothing of BlindFL but the installed package.
#include <iostream>

#include "blindfl/blindfl.h"

struct ConsumerModelImpl : blindfl::FederatedModule {
  ConsumerModelImpl(blindfl::Session& session, const blindfl::FeatureShape& shape)
      : source(register_module("source", blindfl::MatMul(session, shape, /*out=*/4))),
        head(register_module("head", torch::nn::Linear(4, 1))) {}
  torch::Tensor forward(const blindfl::Batch& x) { return head(torch::tanh(source(x))); }

  blindfl::MatMul source;
  torch::nn::Linear head;
};
TORCH_MODULE(ConsumerModel);

int main() {
  blindfl::Random random;
  const auto secret = blindfl::encode_ring(1, 2, std::vector<double>{1.5, -2.0}, /*scale=*/32, /*largest=*/10);
  const auto [mine, theirs] = blindfl::split(secret, random);
  const bool opened = blindfl::open(mine, theirs) == secret;
  const bool trained = blindfl::train::auc(std::vector<double>{0.1, 0.9}, std::vector<double>{0, 1}) == 1.0;
  if (!opened || !trained) {
    std::cerr << "consumer: the installed library gives wrong results\n";
    return 1;
  }
  std::cout << "consumer: BlindFL works from outside\n";
  return 0;
}
