#pragma once

#include <span>

#include "blindfl/app/job/value.h"
#include "blindfl/base/party.h"
#include "blindfl/run/disclosure.h"
#include "blindfl/tensor/activation.h"
#include "blindfl/tensor/category_field.h"

// What job files call the values of other rooms' enumerations. Each is declared in the namespace of its type, where
// Value<E> looks for it.

namespace blindfl {

[[nodiscard]] std::span<const app::job::Name<Party>> names_of(Party /*party*/);
[[nodiscard]] std::span<const app::job::Name<Pooling>> names_of(Pooling /*pooling*/);
[[nodiscard]] std::span<const app::job::Name<Activation>> names_of(Activation /*activation*/);

}  // namespace blindfl

namespace blindfl::run {

[[nodiscard]] std::span<const app::job::Name<Matching>> names_of(Matching /*matching*/);

}  // namespace blindfl::run
