// Python bindings of the loops and of the minimisation over b: check sizes, release the GIL, call.
#include "arrays.hpp"
#include "density.hpp"
#include "depth.hpp"
#include "gil.hpp"
#include "graph.hpp"
#include "hinges.hpp"
#include "index_binding.hpp"
#include "labels.hpp"
#include "line_search.hpp"
#include "loops.hpp"
#include "minimise.hpp"
#include "mixture.hpp"
#include "sphere.hpp"

using namespace nanobind::literals;
namespace nb = nanobind;
using ravine::Hinges;
using ravine::kMoments;
using ravine::loops;
using ravine::Projections;
using namespace ravine::binding;

template <class T, class Loop>
static void project(const AnyMatrix<T> &x, const Array &center, const Matrix &directions, const std::vector<MutableArray> &out,
                    Loop loop) {
    const auto rows = make_rows<T>(x);
    require(center.size() == x.shape(1) && directions.shape(1) == x.shape(1), "center and directions must have as many columns as X");
    require(out.size() == directions.shape(0), "one output array for each direction");
    std::vector<double *> targets;
    for (const auto &o : out) {
        require(o.size() == x.shape(0), "output arrays must have as many elements as X has rows");
        targets.push_back(o.data());
    }
    WithoutGil release;
    loop(rows, center.data(), directions.data(), static_cast<int64_t>(targets.size()), targets.data());
}

template <class T, class Loop>
static void pull_back(const AnyMatrix<T> &x, const Array &center, const Array &p, const OptionalArray &w, double h, double b,
                      double log_sum, double reach, const MutableArray &out, Loop loop) {
    const auto rows = make_rows<T>(x);
    require(p.size() == x.shape(0), "p must have as many elements as X has rows");
    require(center.size() == x.shape(1) && out.size() == x.shape(1), "center and out must have as many elements as X has columns");
    const auto all = make_projections(p, std::nullopt, 1.0, 0.0, w);
    WithoutGil release;
    loop(rows, center.data(), all, h, b, log_sum, reach, out.data());
}

static void check_bins(const Matrix &coefficients) {
    require(coefficients.shape(0) == kMoments, "coefficients must have 8 rows");
    require(coefficients.shape(1) % 4 == 0, "the number of bins must be a multiple of 4");
}

static void check_interval(double h, double a, double c) {
    require(h > 0.0 && std::isfinite(h), "h must be positive and finite");
    require(a <= c && std::isfinite((c - a) / h), "a and c must be finite, a at most c, and not too many h apart");
}

template <class Work>
static auto run_without_gil(const Work &work) {
    WithoutGil release;
    return work();
}

static ravine::BinnedEvaluator make_binned(const Matrix &coefficients, double lo, double h, double a, double c) {
    check_bins(coefficients);
    check_interval(h, a, c);
    return {coefficients.data(), static_cast<int64_t>(coefficients.shape(1)), lo, h};
}

static ravine::SortedEvaluator make_sorted(const Array &p, const OptionalArray &w, double total, double h, double a, double c) {
    check_interval(h, a, c);
    const auto x = make_projections(p, std::nullopt, 1.0, 0.0, w);
    return {x.p, x.w, x.n, total, h};
}

NB_MODULE(_kernels, m) {
    loops();  // an unknown RAVINE_KERNELS is an error of the import
    m.attr("MOMENTS") = kMoments;
    m.attr("BINS_PER_BANDWIDTH") = ravine::kBinsPerBandwidth;
    m.attr("REACH") = ravine::kReach;
    // Constants of the compiled stage that its twin in Python uses, too.
    m.attr("MAX_BINS") = ravine::kMaxBins;
    m.attr("MAX_BINS_PER_ROW") = ravine::kMaxBinsPerRow;
    m.attr("MARGIN") = ravine::kMargin;
    m.attr("DEEP") = ravine::kDeep;
    m.attr("BINNED_TOLERANCE") = ravine::kBinnedTolerance;
    m.attr("BINNED_BUDGET") = ravine::kBinnedBudget;
    m.attr("SORTED_TOLERANCE") = ravine::kSortedTolerance;
    m.attr("SORTED_BUDGET") = ravine::kSortedBudget;
    m.attr("MAX_NODES") = ravine::kMaxNodes;
    m.attr("TOUCHING") = ravine::kTouching;
    m.attr("SUFFICIENT_DECREASE") = ravine::kSufficientDecrease;
    m.attr("CURVATURE") = ravine::kCurvature;
    m.attr("MAX_TRIALS") = ravine::kMaxTrials;
    m.attr("FIRST_ANGLE") = ravine::kFirstAngle;
    m.attr("LARGEST_ANGLE") = ravine::kLargestAngle;
    m.def("instruction_set", [] { return loops().name; }, "Return the instruction set in use: 'v3' (AVX2, FMA) or 'baseline'.");

    m.def("project", [](const AnyMatrix<double> &x, const Array &center, const Matrix &directions, const std::vector<MutableArray> &out) {
        project<double>(x, center, directions, out, loops().project_f64);
    }, "X"_a.noconvert(), "center"_a.noconvert(), "directions"_a.noconvert(), "out"_a.noconvert());
    m.def("project", [](const AnyMatrix<float> &x, const Array &center, const Matrix &directions, const std::vector<MutableArray> &out) {
        project<float>(x, center, directions, out, loops().project_f32);
    }, "X"_a.noconvert(), "center"_a.noconvert(), "directions"_a.noconvert(), "out"_a.noconvert(),
       "Compute out[k][i] = (X[i] - center) . directions[k] in double precision.");

    m.def("pull_back", [](const AnyMatrix<double> &x, const Array &center, const Array &p, const OptionalArray &w, double h, double b,
                          double log_sum, double reach, const MutableArray &out) {
        pull_back<double>(x, center, p, w, h, b, log_sum, reach, out, loops().pull_back_f64);
    }, "X"_a.noconvert(), "center"_a.noconvert(), "p"_a.noconvert(), "w"_a.noconvert().none(), "h"_a, "b"_a, "log_sum"_a, "reach"_a, "out"_a.noconvert());
    m.def("pull_back", [](const AnyMatrix<float> &x, const Array &center, const Array &p, const OptionalArray &w, double h, double b,
                          double log_sum, double reach, const MutableArray &out) {
        pull_back<float>(x, center, p, w, h, b, log_sum, reach, out, loops().pull_back_f32);
    }, "X"_a.noconvert(), "center"_a.noconvert(), "p"_a.noconvert(), "w"_a.noconvert().none(), "h"_a, "b"_a, "log_sum"_a, "reach"_a, "out"_a.noconvert(),
       "Add sum_i w_i K_i exp(-log_sum) (b - p_i)/h^2 (X[i] - center) over the rows within reach of b to out.");

    m.def("rotate", [](const MutableArray &p, const Array &q, double c, double s) {
        require(p.size() == q.size(), "p and q must have the same length");
        WithoutGil release;
        loops().rotate(p.data(), q.data(), c, s, static_cast<int64_t>(p.size()));
    }, "p"_a.noconvert(), "q"_a.noconvert(), "c"_a, "s"_a, "Replace p by c p + s q, in place.");

    m.def("bin", [](const Array &p, const OptionalArray &q, double c, double s, const OptionalArray &w, double lo, double width,
                    const MutableMatrix &moments) {
        const auto x = make_projections(p, q, c, s, w);
        require(moments.shape(0) >= 3 && moments.shape(1) == kMoments, "moments must have n_bins + 2 rows of 8");
        require(moments.shape(0) < (size_t{1} << 24), "too many bins");
        require(width > 0.0, "width must be positive");
        WithoutGil release;
        loops().bin(x, lo, width, static_cast<int64_t>(moments.shape(0)) - 2, moments.data());
    }, "p"_a.noconvert(), "q"_a.noconvert().none(), "c"_a, "s"_a, "w"_a.noconvert().none(), "lo"_a, "width"_a, "moments"_a.noconvert(),
       "Add the binned moments of c p + s q to moments; its first and last rows collect projections outside the bins.");

    m.def("evaluate", [](const Matrix &coefficients, double lo, double h, const Array &points) {
        check_bins(coefficients);
        const size_t k = points.size();
        std::vector<double> out(3 * k);
        {
            WithoutGil release;
            double at[3];
            for (size_t i = 0; i < k; ++i) {
                loops().evaluate(coefficients.data(), static_cast<int64_t>(coefficients.shape(1)), lo, h, points.data()[i], at);
                for (size_t r = 0; r < 3; ++r) out[r * k + i] = at[r];
            }
        }
        return new_array(std::move(out), 3, k);
    }, "coefficients"_a.noconvert(), "lo"_a, "h"_a, "points"_a.noconvert(),
       "Return value, slope and curvature of the density at the points as rows (in units of h and of the kernel's peak).");

    m.def("evaluate_sorted", [](const Array &p, const OptionalArray &w, double total, double h, const Array &points) {
        const auto x = make_projections(p, std::nullopt, 1.0, 0.0, w);
        const size_t k = points.size();
        std::vector<double> out(3 * k);
        {
            WithoutGil release;
            for (size_t i = 0; i < k; ++i) {
                const auto f = loops().evaluate_sorted(x.p, x.w, x.n, total, h, points.data()[i]);
                out[i] = f.log_value;
                out[k + i] = f.slope;
                out[2 * k + i] = f.curvature;
            }
        }
        return new_array(std::move(out), 3, k);
    }, "p"_a.noconvert(), "w"_a.noconvert().none(), "total"_a, "h"_a, "points"_a.noconvert(),
       "Return the exact log-density of sorted p at the points and its first two derivatives (in units of h) as rows.");

    m.def("log_sum", [](const Array &p, const OptionalArray &q, double c, double s, const OptionalArray &w, double h, double b) {
        const auto x = make_projections(p, q, c, s, w);
        WithoutGil release;
        return loops().log_sum(x, h, b);
    }, "p"_a.noconvert(), "q"_a.noconvert().none(), "c"_a, "s"_a, "w"_a.noconvert().none(), "h"_a, "b"_a,
       "Return the exact log of sum_i w_i exp(-(x_i - b)^2 / 2h^2).");

    m.def("along", [](const Array &p, const Array &q, double c, double s, const OptionalArray &w, double h, double b, double log_sum,
                      double reach) {
        const auto x = make_projections(p, q, c, s, w);
        WithoutGil release;
        return loops().along(x, h, b, log_sum, reach);
    }, "p"_a.noconvert(), "q"_a.noconvert(), "c"_a, "s"_a, "w"_a.noconvert().none(), "h"_a, "b"_a, "log_sum"_a, "reach"_a,
       "Return d log f(b) / dt along cos t p + sin t q, for cos t = c and sin t = s.");

    nb::class_<Hinges>(m, "Hinges", "Convex function of b: weighted powers of hinges on both sides, in units of h.")
        .def("__init__", [](Hinges *self, const Array &right, const Array &right_weights, const Array &left, const Array &left_weights,
                            double power, double h) {
            require(right.size() == right_weights.size() && left.size() == left_weights.size(), "one weight for each hinge");
            require(right.size() > 0 && left.size() > 0, "at least one hinge on each side");
            require(power > 1.0 && power <= 2.0, "the power must lie in (1, 2]");
            require(h > 0.0 && std::isfinite(h), "h must be positive and finite");
            auto make_side = [&](const Array &at, const Array &weights, double sign) {
                std::vector<double> places(at.data(), at.data() + at.size());
                for (size_t i = 0; i < places.size(); ++i) {
                    require(std::isfinite(places[i]), "hinges must be finite");
                    require(weights.data()[i] >= 0.0 && std::isfinite(weights.data()[i]), "weights must be finite and not negative");
                    places[i] *= sign;
                }
                return ravine::OneSidedHinges(std::move(places), {weights.data(), weights.data() + weights.size()}, power, h);
            };
            new (self) Hinges(make_side(right, right_weights, 1.0), make_side(left, left_weights, -1.0), h);
        }, "right"_a.noconvert(), "right_weights"_a.noconvert(), "left"_a.noconvert(), "left_weights"_a.noconvert(), "power"_a, "h"_a)
        .def("evaluate", [](const Hinges &self, double b) {
            const auto q = self(b);
            return std::make_tuple(q.value, q.slope, q.curvature);
        }, "b"_a, "Return the value and the first two derivatives at b.")
        .def("sublevel", [](const Hinges &self, double level) {
            double lo = 0.0, hi = 0.0;
            self.find_sublevel(level, lo, hi);
            return std::make_tuple(lo, hi);
        }, "level"_a, "Return an interval that contains all b whose value is within level of the minimum.");

    m.def("minimise", [](const Matrix &coefficients, double lo, double h, double a, double c, double k, double epsilon, double eta,
                         double tolerance, int64_t budget) {
        const auto evaluate = make_binned(coefficients, lo, h, a, c);
        const auto minimum = run_without_gil([&] { return ravine::minimise(evaluate, h, a, c, ravine::kBinSpacing, {k, epsilon, eta}, tolerance, ravine::kBinnedRounding, budget); });
        return pack_minima(minimum);
    }, "coefficients"_a.noconvert(), "lo"_a, "h"_a, "a"_a, "c"_a, "k"_a, "epsilon"_a, "eta"_a, "tolerance"_a, "budget"_a,
       "Return the global minimisers of the penalised binned density over [a, c] as rows (b, log index, log density, slope, "
       "curvature, side), whether they are certified to the tolerance (as a fraction of the kernel's peak), and the number of "
       "evaluations.");

    m.def("minimise_sorted", [](const Array &p, const OptionalArray &w, double total, double h, double a, double c, double spacing,
                                double k, double epsilon, double eta, double tolerance, int64_t budget) {
        const auto evaluate = make_sorted(p, w, total, h, a, c);
        const auto minimum = run_without_gil([&] { return ravine::minimise(evaluate, h, a, c, spacing, {k, epsilon, eta}, 0.0, tolerance, budget); });
        return pack_minima(minimum);
    }, "p"_a.noconvert(), "w"_a.noconvert().none(), "total"_a, "h"_a, "a"_a, "c"_a, "spacing"_a, "k"_a, "epsilon"_a, "eta"_a,
       "tolerance"_a, "budget"_a,
       "Do the same as minimise with exact sums over sorted projections; the tolerance is relative to the minimum.");

    m.def("minimise_with", [](const Matrix &coefficients, double lo, double h, double a, double c, const Hinges &hinges,
                              double tolerance, int64_t budget) {
        const auto evaluate = make_binned(coefficients, lo, h, a, c);
        const auto minimum = run_without_gil([&] { return ravine::minimise_with(evaluate, hinges, h, a, c, ravine::kBinSpacing, tolerance, ravine::kBinnedRounding, budget); });
        return pack_minima(minimum);
    }, "coefficients"_a.noconvert(), "lo"_a, "h"_a, "a"_a, "c"_a, "hinges"_a, "tolerance"_a, "budget"_a,
       "Return the global minimisers of the binned density plus hinges over [a, c], as minimise does, with side 0.");

    m.def("minimise_sorted_with", [](const Array &p, const OptionalArray &w, double total, double h, double a, double c, double spacing,
                                     const Hinges &hinges, double tolerance, int64_t budget) {
        const auto evaluate = make_sorted(p, w, total, h, a, c);
        const auto minimum = run_without_gil([&] { return ravine::minimise_with(evaluate, hinges, h, a, c, spacing, 0.0, tolerance, budget); });
        return pack_minima(minimum);
    }, "p"_a.noconvert(), "w"_a.noconvert().none(), "total"_a, "h"_a, "a"_a, "c"_a, "spacing"_a, "hinges"_a, "tolerance"_a, "budget"_a,
       "Do the same as minimise_with with exact sums over sorted projections; the tolerance is relative to the minimum.");

    m.def("sweep_cuts", [](const Matrix &projections, const Edges &edges, int64_t fewest) {
        require(edges.shape(1) == 2, "edges must have two columns");
        const auto n = static_cast<int64_t>(projections.shape(1));
        for (size_t e = 0; e < edges.size(); ++e) require(edges.data()[e] >= 0 && edges.data()[e] < n, "edges must join columns of projections");
        const auto cut = run_without_gil([&] {
            return ravine::sweep_cuts(projections.data(), static_cast<int64_t>(projections.shape(0)), n, edges.data(),
                                      static_cast<int64_t>(edges.shape(0)), std::max<int64_t>(fewest, 1));
        });
        return std::make_tuple(cut.value, cut.direction, cut.threshold);
    }, "projections"_a.noconvert(), "edges"_a.noconvert(), "fewest"_a,
       "Return the least normalised cut of a graph, the row of the projections and the threshold that make it; infinity and -1 if none.");

    m.def("measure_contact", [](const Matrix &x, int64_t first, int64_t few, int64_t many) {
        const auto n = static_cast<int64_t>(x.shape(0)), d = static_cast<int64_t>(x.shape(1));
        require(first >= 1 && first < n && few >= 1 && many >= 1, "both groups need a row, and every row needs a neighbour");
        std::vector<double> out(4 * static_cast<size_t>(n));
        run_without_gil([&] { ravine::measure_contact(x.data(), n, d, first, few, many, out.data()); return 0; });
        return new_array(std::move(out), 4, static_cast<size_t>(n));
    }, "X"_a.noconvert(), "first"_a, "few"_a, "many"_a,
       "Return mean distances of rows to the few nearest of their own group (the first rows, or the others) and of the other group, to "
       "every second of the many nearest of all, and sums of log ratios of the last distance to the others, as rows.");

    m.def("fit_means", [](const Matrix &x, const Matrix &random, int64_t n_trials, int64_t max_steps, const MutableLabels &labels) {
        const auto n = static_cast<int64_t>(x.shape(0)), d = static_cast<int64_t>(x.shape(1)), k = static_cast<int64_t>(random.shape(1));
        const auto n_seeds = static_cast<int64_t>(random.shape(0)) / std::max<int64_t>(n_trials, 1);
        require(k >= 1 && n >= 1 && n_trials >= 1 && n_seeds >= 1 && max_steps >= 1, "there must be a row of X, a center, a seed and a step");
        require(labels.size() == x.shape(0), "labels must have as many elements as X has rows");
        return run_without_gil([&] {
            return ravine::fit_means(x.data(), n, d, k, random.data(), n_seeds, n_trials, max_steps, labels.data());
        });
    }, "X"_a.noconvert(), "random"_a.noconvert(), "n_trials"_a, "max_steps"_a, "labels"_a.noconvert(),
       "Write the clusters of k-means from the best of several seeds, each with n_trials rows of uniform random numbers; return their sum of squares.");

    m.def("fit_mixture", [](const Matrix &x, int64_t k, bool tied, double ridge, int64_t max_steps, double tolerance,
                            const MutableLabels &labels) {
        const auto n = static_cast<int64_t>(x.shape(0)), d = static_cast<int64_t>(x.shape(1));
        require(labels.size() == x.shape(0), "labels must have as many elements as X has rows");
        for (size_t i = 0; i < labels.size(); ++i) require(labels.data()[i] >= 0 && labels.data()[i] < k, "labels must be below k");
        return run_without_gil([&] {
            return ravine::fit_mixture(x.data(), n, d, k, tied, ridge, max_steps, tolerance, labels.data());
        });
    }, "X"_a.noconvert(), "k"_a, "tied"_a, "ridge"_a, "max_steps"_a, "tolerance"_a, "labels"_a.noconvert(),
       "Replace a partition by the most probable components of a Gaussian mixture that starts from it; return False if one collapses.");

    ravine::binding::bind_index(m);
    ravine::binding::bind_gil(m);
}
