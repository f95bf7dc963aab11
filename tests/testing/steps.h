#pragma once

#include "blindfl/lab/secureml/steps.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/net/steps.h"
#include "blindfl/protocol/align/steps.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/steps.h"
#include "blindfl/run/steps.h"

namespace blindfl::testing {

/// Every kind of message that there is.
inline const net::StepTable& all_steps() {
  static const net::StepTable steps = {net::steps::kAll,           protocol::steps::kOfSession,
                                       protocol::steps::kOfLayers, protocol::steps::kOfAlignment,
                                       mpc::steps::kAll,           run::steps::kAll,
                                       lab::secureml::steps::kAll};
  return steps;
}

/// Those of the program's runs.
inline const net::StepTable& program_steps() {
  static const net::StepTable steps = {net::steps::kAll,           protocol::steps::kOfSession,
                                       protocol::steps::kOfLayers, protocol::steps::kOfAlignment,
                                       mpc::steps::kAll,           run::steps::kAll};
  return steps;
}

}  // namespace blindfl::testing
