#include "blindfl/protocol/layers/operand_versions.h"

namespace blindfl::protocol {

bool SentOperand::stale(const he::Plan& plan, std::uint64_t version) const {
  const auto found = versions_.find(plan.operand_layout());
  return found == versions_.end() || found->second != version;
}

void SentOperand::send(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                       std::uint64_t version, const ShareMatrix& m) {
  send_operand(session, keys, plan, steps, m);
  versions_[plan.operand_layout()] = version;
}

bool ReceivedOperand::stale(const he::Plan& plan, std::uint64_t version) const {
  const auto found = versions_.find(plan.operand_layout());
  return found == versions_.end() || found->second.version != version;
}

void ReceivedOperand::receive(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                              std::uint64_t version) {
  Version& kept = versions_[plan.operand_layout()];
  kept.version = 0;  // what arrives now may be cut short
  kept.operand = receive_operand(session, keys, plan, steps);
  kept.version = version;
}

const he::Operand& ReceivedOperand::get(const he::Plan& plan) const {
  return *versions_.at(plan.operand_layout()).operand;
}

}  // namespace blindfl::protocol
