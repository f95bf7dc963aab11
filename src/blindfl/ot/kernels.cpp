#include "blindfl/ot/kernels.h"

#include <utility>

#include "blindfl/base/kernel_choice.h"

namespace blindfl::ot {

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> kernels =
      kernels_that_run({vaes_kernels(), aesni_kernels()}, portable_kernels());
  return kernels;
}

const Kernels& kernels_by_name(std::string_view name) {
  return kernels_named(name, available_kernels());
}

CipherKeys::CipherKeys(const Kernels& kernels, const Block* keys, std::size_t count)
    : kernels_(&kernels), expanded_(count * kernels.key_bytes) {
  kernels.expand(keys, count, expanded_.data());
}

CipherKeys::CipherKeys(CipherKeys&& other) noexcept
    : kernels_(other.kernels_), expanded_(std::exchange(other.expanded_, {})) {}

CipherKeys& CipherKeys::operator=(CipherKeys&& other) noexcept {
  if (this == &other) return *this;
  release();
  kernels_ = other.kernels_;
  expanded_ = std::exchange(other.expanded_, {});
  return *this;
}

CipherKeys::~CipherKeys() {
  release();
}

void CipherKeys::release() {
  if (kernels_->release == nullptr || expanded_.empty()) return;
  kernels_->release(expanded_.data(), expanded_.size() / kernels_->key_bytes);
  expanded_.clear();
}

}  // namespace blindfl::ot
