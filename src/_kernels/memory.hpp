// Memory of L-BFGS on the sphere: the last steps and changes of the gradient, kept up to date by parallel transport, and
// the products of the compact form (Byrd, Nocedal & Schnabel 1994), which transport does not change.
#pragma once
#include <algorithm>
#include <cstdint>

#include "vectors.hpp"

namespace ravine {

// A view of arrays that the caller owns; `ravine.optimise.Memory` documents them.
class Memory {
   public:
    Memory(double *pairs, double *upper, double *products, size_t size, size_t count, size_t d)
        : steps_(pairs), changes_(pairs + size * d), upper_(upper), products_(products), size_(size), count_(count), d_(d) {}

    size_t count() const { return count_; }
    bool empty() const { return count_ == 0; }
    void clear() { count_ = 0; }

    // Add a pair if its curvature is positive.
    void push(const Vector &step, const Vector &change) {
        if (!(dot(step, change) > 1e-10 * std::sqrt(dot(step, step) * dot(change, change)))) return;
        if (count_ == size_) remove_oldest();
        const size_t k = count_++;
        std::copy(step.begin(), step.end(), steps_ + k * d_);
        std::copy(change.begin(), change.end(), changes_ + k * d_);
        for (size_t i = 0; i <= k; ++i) {
            upper(i, k) = dot(steps_ + i * d_, change.data(), d_);
            product(i, k) = product(k, i) = dot(changes_ + i * d_, change.data(), d_);
        }
    }

    // Minus the approximate inverse Hessian times the gradient.
    Vector descend(const Vector &gradient) const {
        Vector direction(d_);
        if (empty()) {
            for (size_t j = 0; j < d_; ++j) direction[j] = -gradient[j];
            return direction;
        }
        const size_t m = count_;
        const double scale = upper(m - 1, m - 1) / product(m - 1, m - 1);
        Vector a(m), b(m);
        for (size_t i = 0; i < m; ++i) a[i] = dot(steps_ + i * d_, gradient.data(), d_);
        solve_upper(a);
        for (size_t i = 0; i < m; ++i) {
            double sum = -dot(changes_ + i * d_, gradient.data(), d_);
            for (size_t k = 0; k < m; ++k) sum += product(i, k) * a[k];
            b[i] = upper(i, i) * a[i] + scale * sum;
        }
        solve_upper_transposed(b);
        for (size_t j = 0; j < d_; ++j) direction[j] = -scale * gradient[j];
        for (size_t i = 0; i < m; ++i) {
            add_scaled(direction.data(), scale * a[i], changes_ + i * d_, d_);
            add_scaled(direction.data(), -b[i], steps_ + i * d_, d_);
        }
        return direction;
    }

    // Transport all pairs along the great circle cos t v + sin t u.
    void transport_pairs(const Vector &v, const Vector &u, double t) {
        for (size_t i = 0; i < count_; ++i) {
            transport(steps_ + i * d_, v, u, t);
            transport(changes_ + i * d_, v, u, t);
        }
    }

   private:
    double &upper(size_t i, size_t k) const { return upper_[k * size_ + i]; }
    double &product(size_t i, size_t k) const { return products_[i * size_ + k]; }

    void remove_oldest() {
        std::copy(steps_ + d_, steps_ + count_ * d_, steps_);
        std::copy(changes_ + d_, changes_ + count_ * d_, changes_);
        for (size_t i = 1; i < count_; ++i)
            for (size_t k = 1; k < count_; ++k) {
                upper(i - 1, k - 1) = upper(i, k);
                product(i - 1, k - 1) = product(i, k);
            }
        --count_;
    }

    bool is_singular() const {
        for (size_t i = 0; i < count_; ++i)
            if (upper(i, i) == 0.0) return true;
        return false;
    }

    // Both solutions replace their right-hand sides, with zeros if the matrix is singular.
    void solve_upper(Vector &x) const {
        if (is_singular()) return std::fill(x.begin(), x.end(), 0.0);
        for (size_t i = count_; i-- > 0;) {
            for (size_t k = i + 1; k < count_; ++k) x[i] -= upper(i, k) * x[k];
            x[i] /= upper(i, i);
        }
    }
    void solve_upper_transposed(Vector &x) const {
        if (is_singular()) return std::fill(x.begin(), x.end(), 0.0);
        for (size_t i = 0; i < count_; ++i) {
            for (size_t k = 0; k < i; ++k) x[i] -= upper(k, i) * x[k];
            x[i] /= upper(i, i);
        }
    }

    double *steps_, *changes_, *upper_, *products_;
    size_t size_, count_, d_;
};

}  // namespace ravine
