// Convex function of b: a sum of powers of hinges, w (b - at)_+^p to the right and w (at - b)_+^p to the left, in units
// of h. The label penalty of eq. (16) and the balance penalty of eq. (10) are such sums.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace ravine {

struct ConvexValue {
    double value, slope, curvature;  // derivatives in units of h
};

// Hinges that are active to the right of their position.
class OneSidedHinges {
   public:
    OneSidedHinges(std::vector<double> at, const std::vector<double> &weights, double power, double h)
        : at_(std::move(at)), power_(power), h_(h) {
        std::vector<size_t> order(at_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(), [&](size_t l, size_t r) { return at_[l] < at_[r]; });
        std::vector<double> sorted;
        for (size_t i : order) {
            sorted.push_back(at_[i]);
            weights_.push_back(weights[i]);
        }
        at_ = std::move(sorted);
        if (power_ != 2.0) return;
        // Value, slope and half the curvature at each hinge, from left to right: sums of positive terms, so that nothing
        // cancels.
        double value = 0.0, slope = 0.0, active = 0.0, previous = at_.empty() ? 0.0 : at_.front();
        for (size_t i = 0; i < at_.size(); ++i) {
            const double e = (at_[i] - previous) / h_;
            value += e * (slope + e * active);
            slope += 2.0 * e * active;
            active += weights_[i];
            previous = at_[i];
            pieces_.push_back({value, slope, active});
        }
    }

    ConvexValue operator()(double b) const {
        const auto active = static_cast<size_t>(std::upper_bound(at_.begin(), at_.end(), b) - at_.begin());
        if (active == 0) return {0.0, 0.0, 0.0};
        if (power_ == 2.0) {
            const double e = (b - at_[active - 1]) / h_;
            const Piece &p = pieces_[active - 1];
            return {p.value + e * (p.slope + e * p.active), p.slope + 2.0 * e * p.active, 2.0 * p.active};
        }
        ConvexValue sum{0.0, 0.0, 0.0};
        for (size_t i = 0; i < active; ++i) {
            const double e = (b - at_[i]) / h_;
            if (e <= 0.0) continue;
            const double slope = weights_[i] * power_ * std::pow(e, power_ - 1.0);
            sum.value += slope * e / power_;
            sum.slope += slope;
            sum.curvature += slope * (power_ - 1.0) / e;
        }
        return sum;
    }

    double find_nearest(double b) const {
        const auto above = std::lower_bound(at_.begin(), at_.end(), b);
        if (above == at_.end()) return at_.back();
        if (above == at_.begin()) return at_.front();
        return *above - b < b - *(above - 1) ? *above : *(above - 1);
    }
    double first() const { return at_.front(); }
    double last() const { return at_.back(); }

   private:
    struct Piece {
        double value, slope, active;
    };
    std::vector<double> at_, weights_;
    std::vector<Piece> pieces_;
    double power_, h_;
};

class Hinges {
   public:
    // Positions of `left` hinges are passed with the opposite sign.
    Hinges(OneSidedHinges right, OneSidedHinges left, double h) : right_(std::move(right)), left_(std::move(left)), h_(h) {}

    ConvexValue operator()(double b) const {
        const ConvexValue r = right_(b), l = left_(-b);
        return {r.value + l.value, r.slope - l.slope, r.curvature + l.curvature};
    }

    // Position of the hinge nearest to b.
    double find_nearest(double b) const {
        const double right = right_.find_nearest(b), left = -left_.find_nearest(-b);
        return std::fabs(right - b) <= std::fabs(left - b) ? right : left;
    }

    // Interval, slightly widened, in which the function exceeds its minimum by at most `level`; requires hinges on both
    // sides.
    void find_sublevel(double level, double &lo, double &hi) const {
        lo = std::min(right_.first(), -left_.last());
        hi = std::max(right_.last(), -left_.first());
        while (hi - lo > 1e-3 * h_) {
            const double middle = 0.5 * (lo + hi);
            if (!(middle > lo && middle < hi)) break;
            ((*this)(middle).slope < 0.0 ? lo : hi) = middle;
        }
        // The minimum is at most the value at any point, so the limit is not too low.
        const double limit = std::min((*this)(lo).value, (*this)(hi).value) + level, from = 0.5 * (lo + hi);
        lo = find_edge(from, -1.0, limit);
        hi = find_edge(from, +1.0, limit);
    }

   private:
    double find_edge(double from, double direction, double limit) const {
        double inside = 0.0, outside = h_;
        while ((*this)(from + direction * outside).value <= limit) {
            inside = outside;
            outside *= 2.0;
        }
        while (outside - inside > 0.01 * h_) {
            const double middle = 0.5 * (inside + outside);
            if (!(middle > inside && middle < outside)) break;
            ((*this)(from + direction * middle).value <= limit ? inside : outside) = middle;
        }
        return from + direction * outside;
    }

    OneSidedHinges right_, left_;
    double h_;
};

// Absence of a convex term.
struct NoHinges {
    ConvexValue operator()(double) const { return {0.0, 0.0, 0.0}; }
    double find_nearest(double) const { return INFINITY; }
};

}  // namespace ravine
