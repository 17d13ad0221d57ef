// Riemannian L-BFGS on the unit sphere; `ravine.optimise.sphere` is its twin.
#pragma once
#include "line_search.hpp"
#include "memory.hpp"
#include "vectors.hpp"

namespace ravine {

struct SphereResult {
    Vector v;
    double value;
    Vector gradient;  // tangent to the sphere
    int64_t iterations, trials;
    bool converged;  // the expected further decrease is at most the tolerance
    bool stalled;    // the line search found no decrease
};

// First step without curvature information: small, so that a start stays in its own basin.
constexpr double kFirstAngle = 0.1;
// Largest angle of one step.
constexpr double kLargestAngle = 1.5707963267948966;
// Smallest significant difference of values.
constexpr double kResolution = 1e-14;

// The objective has begin(v, gradient), set_tangent(u), evaluate(t), differentiate(t) and accept(t, v, gradient), as
// `ravine.optimise.SphereObjective` documents them. No step is larger than `largest_angle`, and none is made farther than
// this from the start.
template <class Objective>
SphereResult minimise_on_sphere(Objective &objective, Vector v, int64_t max_iterations, double tolerance, double largest_angle,
                                Memory &memory) {
    const Vector start = v;
    const double largest = std::min(largest_angle, kLargestAngle), smallest_cosine = std::cos(largest_angle) - 1e-9;
    SphereResult result{std::move(v), 0.0, Vector(), 0, 0, false, false};
    Vector &at = result.v, &gradient = result.gradient;
    result.value = objective.begin(at, gradient);
    project_to_tangent(gradient, at);
    for (;; ++result.iterations) {
        Vector u;
        Step step{0.0, 0.0, 0};
        while (true) {
            Vector direction = memory.descend(gradient);
            const double length = std::sqrt(dot(direction, direction));
            const double slope = length > 0.0 ? dot(gradient, direction) / length : 0.0;
            const double first = memory.empty() ? kFirstAngle : length;
            result.converged = -0.5 * slope * first <= tolerance && slope <= 0.0;
            if (result.converged || result.iterations == max_iterations || dot(at, start) < smallest_cosine) return result;
            if (slope < -1e-6 * std::sqrt(dot(gradient, gradient))) {
                u = make_unit_tangent(std::move(direction), at);
                objective.set_tangent(u);
                step = search_weak_wolfe(objective, result.value, slope, first, kResolution, largest);
                result.trials += step.trials;
                if (step.angle > 0.0) break;
            }
            // No descent or no decrease: try once more along the gradient before giving up.
            result.stalled = memory.empty();
            if (result.stalled) return result;
            memory.clear();
        }
        const double t = step.angle;
        Vector new_v = move_on_circle(at, u, t), new_gradient;
        objective.accept(t, new_v, new_gradient);
        project_to_tangent(new_gradient, new_v);
        memory.transport_pairs(at, u, t);
        transport(gradient.data(), at, u, t);
        memory.push(combine(t * std::cos(t), u, -t * std::sin(t), at), combine(1.0, new_gradient, -1.0, gradient));
        at = std::move(new_v);
        gradient = std::move(new_gradient);
        result.value = step.value;
    }
}

}  // namespace ravine
