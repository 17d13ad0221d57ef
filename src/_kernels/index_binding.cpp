// Python binding of the compiled stage: an index that keeps its arrays alive, and one call per stage without the GIL.
#include "index_binding.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "arrays.hpp"
#include "gil.hpp"
#include "index.hpp"
#include "labels.hpp"
#include "sphere.hpp"

namespace ravine::binding {
namespace {

using namespace nb::literals;
using Clock = std::chrono::steady_clock;

// Set by one thread to stop the searches of those that watch it. These hold the flag itself, not the Python object: threads
// release it as they end, when the interpreter may have ended already.
struct StopFlag {
    std::shared_ptr<std::atomic<bool>> is_set = std::make_shared<std::atomic<bool>>(false);
};
thread_local std::shared_ptr<std::atomic<bool>> watched;

bool is_stopped() { return watched && watched->load(std::memory_order_relaxed); }

struct Interrupted {};

// Ends a search when the flag that the thread watches is set or a signal handler raises an exception. Signals arrive in
// the main thread only, and are looked for a few times a second.
class InterruptCheck {
   public:
    void operator()() {
        if (is_stopped() || is_ending()) throw Interrupted{};
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw Interrupted{};
    }

   private:
    Clock::time_point last_ = Clock::now();
};

// Hold references to arrays, so that their memory stays alive.
template <class... Arrays>
std::shared_ptr<void> keep(const Arrays &...arrays) {
    return std::make_shared<std::tuple<Arrays...>>(arrays...);
}

class BoundIndex {
   public:
    template <class T>
    BoundIndex(const AnyMatrix<T> &x, const Array &origin, double unit, const OptionalArray &weights, const Matrix &covariance,
               const MutableArray &p, const MutableArray &q, double total, double lightest, double h, const Penalty &penalty)
        : arrays_(keep(x, origin, weights, covariance, p, q)) {
        const auto rows = make_rows<T>(x);
        const auto d = x.shape(1);
        require(origin.size() == d && covariance.shape(0) == d && covariance.shape(1) == d, "origin and covariance must have as many columns as X");
        require(p.size() == x.shape(0) && q.size() == x.shape(0), "p and q must have as many elements as X has rows");
        require(!weights || weights->size() == p.size(), "weights must have the length of p");
        require(unit > 0.0 && h > 0.0 && std::isfinite(h) && total > 0.0 && lightest > 0.0, "unit, h, total and lightest must be positive");
        rows_ = std::make_unique<DenseRowsOf<T>>(rows, origin.data(), unit);
        data_ = std::make_unique<IndexData>(IndexData{*rows_, weights ? weights->data() : nullptr, covariance.data(), p.data(), q.data(),
                                                      rows.n, d, total, lightest, h, penalty});
        index_ = std::make_unique<ClusteringIndex>(*data_, InterruptCheck());
    }

    void set_labels(const Matrix &rows, const Array &signs, const Array &costs, double margin) {
        require(rows.shape(1) == data_->d && signs.size() == rows.shape(0) && costs.size() == rows.shape(0),
                "one sign and one cost for each labelled row, with the columns of X");
        size_t n_negative = 0;
        while (n_negative < signs.size() && signs.data()[n_negative] < 0.0) ++n_negative;
        labels_ = keep(rows, signs, costs);
        const LabelData labels{rows.data(), signs.data(), costs.data(), signs.size(), n_negative, margin};
        index_ = std::make_unique<SemiSupervisedIndex>(*data_, labels, InterruptCheck());
    }

    ClusteringIndex &index() { return *index_; }
    size_t d() const { return data_->d; }

   private:
    std::shared_ptr<void> arrays_, labels_;
    std::unique_ptr<DenseRows> rows_;
    std::unique_ptr<IndexData> data_;
    std::unique_ptr<ClusteringIndex> index_;
};

[[noreturn]] void raise_interrupted() {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, "the search was stopped");
    throw nb::python_error();
}

// Run a search without the GIL. An exception of a signal handler that ended it goes on, and the index forgets its state.
template <class Work>
auto run_search(BoundIndex &self, const Work &work) {
    try {
        WithoutGil release;
        return work();
    } catch (const Interrupted &) {
        self.index().forget();
        raise_interrupted();
    }
}

nb::object new_vector(Vector values) {
    auto *owner = new Vector(std::move(values));
    nb::capsule capsule(owner, [](void *p) noexcept { delete static_cast<Vector *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(owner->data(), {owner->size()}, capsule));
}

nb::tuple begin(BoundIndex &self, const Array &v) {
    require(v.size() == self.d(), "v must have as many elements as X has columns");
    Vector gradient;
    const double value = run_search(self, [&] { return self.index().begin(Vector(v.data(), v.data() + v.size()), gradient); });
    return nb::make_tuple(value, new_vector(std::move(gradient)), new_vector(self.index().covariance_times_normal()));
}

nb::tuple minimise_stage(BoundIndex &self, const Array &v, int64_t max_iter, double tolerance, double largest_angle,
                         const MutableArray &pairs, const MutableArray &upper, const MutableArray &products, size_t size, size_t count) {
    const size_t d = self.d();
    require(v.size() == d, "v must have as many elements as X has columns");
    require(pairs.size() == 2 * size * d && upper.size() == size * size && products.size() == size * size && count <= size,
            "the arrays of the memory must have its size");
    Memory memory(pairs.data(), upper.data(), products.data(), size, count, d);
    SphereResult result = run_search(self, [&] {
        return minimise_on_sphere(self.index(), Vector(v.data(), v.data() + d), max_iter, tolerance, largest_angle, memory);
    });
    return nb::make_tuple(new_vector(std::move(result.v)), result.value, new_vector(std::move(result.gradient)), result.iterations,
                          result.trials, result.converged, result.stalled, memory.count(),
                          new_vector(self.index().covariance_times_normal()));
}

template <class T>
void bind_constructor(nb::class_<BoundIndex> &type) {
    type.def("__init__", [](BoundIndex *self, const AnyMatrix<T> &x, const Array &origin, double unit, const OptionalArray &weights,
                            const Matrix &covariance, const MutableArray &p, const MutableArray &q, double total, double lightest,
                            double h, double k, double epsilon, double eta) {
        new (self) BoundIndex(x, origin, unit, weights, covariance, p, q, total, lightest, h, Penalty{k, epsilon, eta});
    }, "X"_a.noconvert(), "origin"_a.noconvert(), "unit"_a, "weights"_a.noconvert().none(), "covariance"_a.noconvert(),
       "p"_a.noconvert(), "q"_a.noconvert(), "total"_a, "lightest"_a, "h"_a, "k"_a, "epsilon"_a, "eta"_a);
}

}  // namespace

void bind_index(nb::module_ &m) {
    nb::class_<StopFlag>(m, "StopFlag", "Flag by which one thread stops the searches of others.")
        .def(nb::init<>())
        .def("watch", [](const StopFlag &self) { watched = self.is_set; }, "Let this thread's searches end when the flag is set.")
        .def("set", [](StopFlag &self) { *self.is_set = true; }, "Stop the searches of all threads that watch this flag.");
    m.def("check_stop_flag", [] { if (is_stopped()) raise_interrupted(); }, "Raise KeyboardInterrupt if the flag that this thread watches is set.");

    nb::class_<BoundIndex> type(m, "Index", "Clustering or semi-supervised index of rows in memory, for one start.");
    bind_constructor<double>(type);
    bind_constructor<float>(type);
    type.def("set_labels", &BoundIndex::set_labels, "rows"_a.noconvert(), "signs"_a.noconvert(), "costs"_a.noconvert(), "margin"_a,
             "Add labelled rows, those of class -1 first.")
        .def_prop_rw("alpha", [](BoundIndex &self) { return self.index().alpha; }, [](BoundIndex &self, double x) { self.index().alpha = x; })
        .def_prop_rw("gamma", [](BoundIndex &self) { return self.index().gamma; }, [](BoundIndex &self, double x) { self.index().gamma = x; })
        .def_prop_rw("exact", [](BoundIndex &self) { return self.index().exact; }, [](BoundIndex &self, bool x) { self.index().exact = x; })
        .def_prop_rw("offsets",
                     [](BoundIndex &self) { return std::make_tuple(self.index().lowest_offset, self.index().highest_offset); },
                     [](BoundIndex &self, std::tuple<double, double> x) {
                         std::tie(self.index().lowest_offset, self.index().highest_offset) = x;
                     })
        .def_prop_ro("n_evaluations", [](BoundIndex &self) { return self.index().evaluations; })
        .def_prop_ro("n_tied", [](BoundIndex &self) { return self.index().tied; })
        .def_prop_ro("certified", [](BoundIndex &self) { return self.index().certified; })
        .def_prop_ro("has_normal", [](BoundIndex &self) { return self.index().has_normal(); }, "Whether the projections are those on a known normal.")
        .def("forget", [](BoundIndex &self) { self.index().forget(); }, "Forget the normal, because the projections have changed.")
        .def_prop_ro("minima", [](BoundIndex &self) { return pack_minima(self.index().minima); }, "Minimisers over b at the current normal, as minimise returns them.")
        .def("adjust", [](BoundIndex &self) { return run_search(self, [&] { return self.index().adjust(); }); },
             "Minimise over b at the current normal for another alpha or gamma; return whether b stays, so that nothing else changes.")
        .def("describe", [](BoundIndex &self, bool depth) {
            const Description found = run_search(self, [&] { return self.index().describe(depth); });
            return std::make_tuple(found.log_density, found.log_depth);
        }, "depth"_a, "Return the exact log-density at the current hyperplane and its log-depth (NaN if not wanted).")
        .def("begin", &begin, "v"_a.noconvert(), "Go to v; return value, gradient and covariance times v.")
        .def("minimise", &minimise_stage, "v"_a.noconvert(), "max_iter"_a, "tolerance"_a, "largest_angle"_a,
             "pairs"_a.noconvert(), "upper"_a.noconvert(), "products"_a.noconvert(), "size"_a, "count"_a,
             "Run L-BFGS on the sphere from v; return normal, value, gradient, numbers of iterations and trials, whether it "
             "converged, whether it stalled, the number of pairs in the memory, and the covariance times the normal.");
}

}  // namespace ravine::binding
