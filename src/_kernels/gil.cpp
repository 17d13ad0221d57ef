// Counts the threads that have released the GIL, so that none asks for it once the interpreter has ended.
#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace ravine::binding {
namespace {

std::atomic<bool> ending{false};
std::atomic<int> n_without_gil{0};
std::thread::id ending_thread;

[[noreturn]] void sleep_for_ever() {
    n_without_gil.fetch_sub(1);
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

bool is_ending() { return ending.load() && std::this_thread::get_id() != ending_thread; }

WithoutGil::WithoutGil() {
    n_without_gil.fetch_add(1);
    state_ = PyEval_SaveThread();
    if (is_ending()) sleep_for_ever();
}

WithoutGil::~WithoutGil() {
    if (is_ending()) sleep_for_ever();
    PyEval_RestoreThread(state_);
    n_without_gil.fetch_sub(1);
}

void end_other_threads() {
    ending_thread = std::this_thread::get_id();
    ending = true;
    PyThreadState *state = PyEval_SaveThread();
    while (n_without_gil.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
}

void bind_gil(nanobind::module_ &m) {
    m.def("end_other_threads", &end_other_threads, "Let all other threads sleep instead of computing; called at exit.");
    nanobind::module_::import_("atexit").attr("register")(m.attr("end_other_threads"));
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { n_without_gil = 0; });  // the other threads do not exist in the child
#endif
}

}  // namespace ravine::binding
