// Python binding of the compiled stage.
#pragma once
#include <nanobind/nanobind.h>

namespace ravine::binding {

void bind_index(nanobind::module_ &m);

}  // namespace ravine::binding
