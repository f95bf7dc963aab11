#pragma once

// The names of a user's everyday dialect, all in `blindfl::`. What a program needs now and then has headers of its own:
// files to rows (prepare/preparation.h), training that survives its process (train/training_loop.h), scoring that
// repeats (protocol/session/repeatable_scoring.h), saved models (nn/state.h), several A's
// (protocol/session/mask_agreement.h).

#include "blindfl/data/batches.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/factorization.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/nn/models.h"
#include "blindfl/nn/shared_evaluation.h"
#include "blindfl/nn/shared_factorization.h"
#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/run/metrics.h"
#include "blindfl/train/trainer.h"

namespace blindfl {

using data::Batch;
using data::Dataset;
using he::make_scheme;
using net::Channel;
using net::GrpcOptions;
using net::GrpcTransport;
using nn::CategoryShape;
using nn::DeepFm;
using nn::Dlrm;
using nn::DlrmShape;
using nn::EmbedMatMul;
using nn::EmbedMatMulOptions;
using nn::FactorizationMachine;
using nn::FeatureShape;
using nn::FederatedModule;
using nn::FederatedOptimizer;
using nn::FederatedParameter;
using nn::GeneralizedLinear;
using nn::LearningRateChange;
using nn::MatMul;
using nn::MatMulOptions;
using nn::Mlp;
using nn::SgdOptions;
using nn::SharedActivation;
using nn::SharedBias;
using nn::SharedDeepFm;
using nn::SharedFactorization;
using nn::SharedFactorizationMachine;
using nn::SharedGeneralizedLinear;
using nn::SharedLinear;
using nn::SharedLoss;
using nn::SharedMlp;
using nn::SharedModel;
using nn::SharedReLU;
using nn::SharedSequential;
using nn::SharedTensor;
using nn::SharedTopOptions;
using nn::SharedWideDeep;
using nn::TwoSourceOptions;
using nn::WideDeep;
using protocol::align;
using protocol::Alignment;
using protocol::AlignmentKind;
using protocol::AlignmentOptions;
using protocol::Link;
using protocol::Party;
using protocol::Peer;
using protocol::run_in_process;
using protocol::RunLength;
using protocol::Session;
using protocol::SessionOptions;
using protocol::Update;

}  // namespace blindfl
