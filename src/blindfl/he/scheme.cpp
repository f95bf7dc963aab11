#include "blindfl/he/scheme.h"

#include "blindfl/base/error.h"
#include "blindfl/he/keys.h"

namespace blindfl::he {

std::unique_ptr<KeyOwner> Scheme::load_keys(ByteSource& /*in*/) const {
  fail<DataError>("keys of the scheme '", name(), "' are never saved, so these bytes are none");
}

std::shared_ptr<const Plan> Scheme::plan(const ProductSpec& spec) const {
  check_spec(spec);
  return do_plan(spec);
}

}  // namespace blindfl::he
