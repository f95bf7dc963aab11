// What a user's own program may look like; it knows nothing of BlindFL but the installed package.
#include <iostream>

#include "blindfl/blindfl.h"
#include "blindfl/prepare/preparation.h"

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
  // Both parties in one process, one step of training under encryption.
  const auto table = blindfl::data::Table::dense(32, 3, std::vector<double>(96, 0.5));
  const blindfl::FeatureShape shape{.in_a = 3, .in_b = 3, .batch = 32};
  const auto scheme = blindfl::make_scheme("lattice");
  const auto scores = blindfl::protocol::run_in_process(*scheme, [&](blindfl::Session& session) {
    ConsumerModel model(session, shape);
    const auto forward = [&](const blindfl::Batch& x) { return model->forward(x); };
    return blindfl::train::score(forward, blindfl::data::make_dataset(table, blindfl::FixedPoint(shape.features_a)),
                                 32);
  });

  blindfl::Random random;
  const auto secret = blindfl::encode_ring(1, 2, std::vector<double>{1.5, -2.0}, /*scale=*/32, /*largest=*/10);
  const auto [mine, theirs] = blindfl::split(secret, random);
  const bool opened = blindfl::open(mine, theirs) == secret;
  const bool trained = blindfl::run::auc(std::vector<double>{0.1, 0.9}, std::vector<double>{0, 1}) == 1.0;
  const bool prepared = blindfl::prepare::words_of({}).empty();
  if (!opened || !trained || !prepared || scores.second.size(0) != 32) {
    std::cerr << "consumer: the installed library gives wrong results\n";
    return 1;
  }
  std::cout << "consumer: BlindFL works from outside\n";
  return 0;
}
