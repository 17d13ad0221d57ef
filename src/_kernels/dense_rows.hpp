// Rows of an array in memory, in working units: z = (x - origin) / unit.
#pragma once
#include "loops.hpp"
#include "vectors.hpp"

namespace ravine {

class DenseRows {
   public:
    virtual ~DenseRows() = default;
    // out_i = z_i . direction
    virtual void project(const Vector &direction, double *out) const = 0;
    // sum_i w_i K_i exp(-log_sum) (b - p_i)/h^2 z_i over the rows within `reach` of b: d log f / dv, eq. (26).
    virtual Vector pull_back(const Projections &x, double h, double b, double log_sum, double reach) const = 0;
};

template <class T>
class DenseRowsOf final : public DenseRows {
   public:
    DenseRowsOf(Rows<T> rows, const double *origin, double unit) : rows_(rows), origin_(origin), unit_(unit) {}

    void project(const Vector &direction, double *out) const override {
        Vector scaled = direction;
        for (double &value : scaled) value /= unit_;
        if constexpr (sizeof(T) == 8)
            loops().project_f64(rows_, origin_, scaled.data(), 1, &out);
        else
            loops().project_f32(rows_, origin_, scaled.data(), 1, &out);
    }

    Vector pull_back(const Projections &x, double h, double b, double log_sum, double reach) const override {
        Vector out(static_cast<size_t>(rows_.d), 0.0);
        if constexpr (sizeof(T) == 8)
            loops().pull_back_f64(rows_, origin_, x, h, b, log_sum, reach, out.data());
        else
            loops().pull_back_f32(rows_, origin_, x, h, b, log_sum, reach, out.data());
        for (double &value : out) value /= unit_;
        return out;
    }

   private:
    Rows<T> rows_;
    const double *origin_;
    double unit_;
};

}  // namespace ravine
