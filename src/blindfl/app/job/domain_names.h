#pragma once

#include <span>

#include "blindfl/app/job/value.h"
#include "blindfl/base/party.h"
#include "blindfl/data/frame.h"
#include "blindfl/data/numeric_scaling.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/protocol/session/top.h"
#include "blindfl/run/disclosure.h"
#include "blindfl/tensor/activation.h"
#include "blindfl/tensor/category_field.h"

// What job files call the values of other rooms' enumerations. Each is declared in the namespace of its type, where
// Value<E> looks for it.

namespace blindfl {

[[nodiscard]] std::span<const app::job::Name<Party>> names_of(Party /*party*/);
[[nodiscard]] std::span<const app::job::Name<Activation>> names_of(Activation /*activation*/);
[[nodiscard]] std::span<const app::job::Name<Pooling>> names_of(Pooling /*pooling*/);

}  // namespace blindfl

namespace blindfl::data {

/// Of the kinds that a feature may have, and of that which is none.
[[nodiscard]] std::span<const app::job::Name<ColumnKind>> names_of(ColumnKind /*kind*/);
[[nodiscard]] std::span<const app::job::Name<Missing>> names_of(Missing /*missing*/);

}  // namespace blindfl::data

namespace blindfl::prepare {

[[nodiscard]] std::span<const app::job::Name<FileFormat>> names_of(FileFormat /*format*/);
[[nodiscard]] std::span<const app::job::Name<Transform>> names_of(Transform /*transform*/);

}  // namespace blindfl::prepare

namespace blindfl::protocol {

[[nodiscard]] std::span<const app::job::Name<Top>> names_of(Top /*top*/);

}  // namespace blindfl::protocol

namespace blindfl::run {

[[nodiscard]] std::span<const app::job::Name<Matching>> names_of(Matching /*matching*/);

}  // namespace blindfl::run
