#pragma once

// What a user's program includes: the names of its everyday dialect, all in `blindfl::`.

#include "blindfl/data/batches.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "blindfl/he/registry/registry.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/memory_channel.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/nn/embed_matmul.h"
#include "blindfl/nn/federated_module.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/matmul.h"
#include "blindfl/nn/models.h"
#include "blindfl/protocol/align/psi.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/protocol/session/repeatable_scoring.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/run/metrics.h"
#include "blindfl/train/evaluation.h"
#include "blindfl/train/progress.h"
#include "blindfl/train/trainer.h"
#include "blindfl/train/training_loop.h"

namespace blindfl {

using data::Batch;
using data::Dataset;
using he::LatticeScheme;
using he::make_scheme;
using he::PaillierScheme;
using net::Channel;
using net::GrpcOptions;
using net::GrpcTransport;
using nn::CategoryShape;
using nn::Dlrm;
using nn::DlrmShape;
using nn::EmbedMatMul;
using nn::EmbedMatMulOptions;
using nn::Family;
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
using nn::TwoSourceOptions;
using nn::WideDeep;
using protocol::align;
using protocol::Alignment;
using protocol::AlignmentKind;
using protocol::AlignmentOptions;
using protocol::AlignmentProgress;
using protocol::Link;
using protocol::MaskKey;
using protocol::Party;
using protocol::RepeatableScoring;
using protocol::RunLength;
using protocol::Session;
using protocol::SessionOptions;
using protocol::Update;

}  // namespace blindfl
