// Release of the GIL, so that threads that compute while the interpreter ends do not abort the process.
#pragma once

#include <nanobind/nanobind.h>

namespace ravine::binding {

// Releases the GIL while it exists. Python ends a daemon thread that asks for the GIL of an interpreter that is ending by
// unwinding its stack, which functions without exceptions turn into an abort. Such a thread sleeps instead, as it does in
// Python 3.14: `end_other_threads`, which is called at exit, waits until no other thread is about to ask for the GIL.
class WithoutGil {
   public:
    WithoutGil();
    ~WithoutGil();
    WithoutGil(const WithoutGil &) = delete;
    WithoutGil &operator=(const WithoutGil &) = delete;

   private:
    PyThreadState *state_;
};

// Whether the interpreter is ending, and the calling thread is not the one that ends it.
bool is_ending();

void end_other_threads();

void bind_gil(nanobind::module_ &m);

}  // namespace ravine::binding
