"""Slow reference implementations of the numerical layers, directly from the equations of the paper.

Equations are cited by their number in "Minimum Density Hyperplanes" (Pavlidis, Hofmeyr, Tasoulis; JMLR
17, 2016). One deviation: η is in units of h, which makes the penalty scale-equivariant. Weights count as repetitions: n
is their sum. Everything is computed in the log domain, so that no valley is too deep.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

ETA = 0.01
EPSILON = 1.0 - 1e-6


def weights_of(p, w):
    return np.ones(len(p)) if w is None else np.asarray(w, dtype=float)


# ------------------------------------------------------------------------------------------------- density


def log_peak(h):
    """Log of the height of one kernel, 1 / sqrt(2 pi h^2)."""
    return -np.log(h) - 0.5 * np.log(2.0 * np.pi)


def log_density(p, h, b, w=None):
    """Log of eq. (3) at the points b."""
    w = weights_of(p, w)
    u = (np.atleast_1d(b)[:, None] - p) / h
    return logsumexp(-0.5 * u**2, b=w, axis=1) - np.log(w.sum()) + log_peak(h)


def density(p, h, b, w=None):
    """Density at the points b, eq. (3)."""
    return np.exp(log_density(p, h, b, w))


def derivatives(p, h, b, w=None):
    """First and second derivative of eq. (3) by b."""
    w = weights_of(p, w)
    u = (np.atleast_1d(b)[:, None] - p) / h
    kernels = w * np.exp(-0.5 * u**2 + log_peak(h)) / w.sum()
    return -(kernels * u).sum(axis=1) / h, (kernels * (u**2 - 1.0)).sum(axis=1) / h**2


def log_derivatives(p, h, b, w=None):
    """First and second derivative of the log of eq. (3) by b, in units of h."""
    w = weights_of(p, w)
    u = (np.asarray(p) - np.atleast_1d(b)[:, None]) / h
    exponent = -0.5 * u**2
    share = w * np.exp(exponent - exponent[:, w > 0].max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    mean = (share * u).sum(axis=1)
    return mean, (share * (u - mean[:, None]) ** 2).sum(axis=1) - 1.0


def kernel_density(X, h, x):
    """Density estimate of the rows of X at the point x, eq. (2)."""
    n, d = X.shape
    return np.exp(-0.5 * ((X - x) ** 2).sum(axis=1) / h**2).sum() / (n * (2.0 * np.pi * h**2) ** (d / 2))


def margin(p, b):
    """Distance from the hyperplane to the nearest row, eq. (18)."""
    return np.abs(np.asarray(p) - b).min()


# ------------------------------------------------------------------------------------------------- extrema


def zoom(function, left, right, rounds):
    """Minimise function in each bracket [left, right] by repeated scans around its lowest point."""
    for _ in range(rounds):
        x = np.linspace(left, right, 17, axis=1)
        lowest = function(x.ravel()).reshape(x.shape).argmin(axis=1)
        rows = np.arange(len(x))
        left, right = x[rows, np.maximum(lowest - 1, 0)], x[rows, np.minimum(lowest + 1, 16)]
    return 0.5 * (left + right)


def local_minima(function, grid, rounds=8):
    """Local minima of function that are visible on the grid (ends included), refined."""
    values = function(grid)
    padded = np.concatenate([[np.inf], values, [np.inf]])
    at = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))
    x = zoom(function, grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, len(grid) - 1)], rounds)
    return x[np.diff(x, prepend=-np.inf) > 1e-3 * np.diff(grid).min()]  # equal neighbours belong to the same minimum


def modes(p, h, w=None, per_bandwidth=40):
    """All modes of the density, by a scan."""
    lo, hi = np.min(p) - h, np.max(p) + h
    grid = np.linspace(lo, hi, int(np.ceil((hi - lo) / h * per_bandwidth)) + 1)
    return local_minima(lambda b: -log_density(p, h, b, w), grid)


def log_depth(p, h, b, w=None):
    """Log of 1 + eq. (30); not positive or -inf if b does not separate two modes."""
    found = modes(p, h, w)
    left, right = found[found < b], found[found > b]
    if not len(left) or not len(right):
        return -np.inf
    return float(log_density(p, h, [left[-1], right[0]], w).min() - log_density(p, h, b, w)[0])


def relative_depth(p, h, b, w=None):
    """Eq. (30); 0 if b does not separate two modes."""
    return float(np.expm1(max(log_depth(p, h, b, w), 0.0)))


# ------------------------------------------------------------------------------------------------- index


def excess(b, lo, hi):
    """Distance of b outside F(v) = [lo, hi]: the maximum in eq. (10)."""
    return np.maximum(0.0, np.maximum(lo - b, b - hi))


def log_penalty(h, e, eta=ETA, epsilon=EPSILON):
    """Log of the second term of eq. (10) at the distance e outside F(v)."""
    log_L = -0.5 - 2.0 * np.log(h) - 0.5 * np.log(2.0 * np.pi)
    with np.errstate(divide="ignore"):
        return log_L - epsilon * np.log(eta * h) + (1.0 + epsilon) * np.log(e)


def log_penalised(p, h, b, lo, hi, w=None, eta=ETA, epsilon=EPSILON):
    """Log of f_CL, eq. (10)."""
    return np.logaddexp(log_density(p, h, b, w), log_penalty(h, excess(b, lo, hi), eta, epsilon))


def minimisers(p, h, lo, hi, w=None, eta=ETA, epsilon=EPSILON, *, per_bandwidth=16, rounds=8):
    """Local minimisers of f_CL over b, lowest first, and log f_CL there (B_C of Proposition 2, eq. (13))."""

    def function(b):
        return log_penalised(p, h, b, lo, hi, w, eta, epsilon)

    strip = np.linspace(0.0, 1.01 * eta * h, 18)[1:]
    inside = np.linspace(lo, hi, int(np.ceil((hi - lo) / h * per_bandwidth)) + 1)
    b = local_minima(function, np.concatenate([lo - strip[::-1], inside, hi + strip]), rounds)
    b = np.unique(np.concatenate([b, [lo, hi]]))
    values = function(b)
    order = np.argsort(values, kind="stable")
    return b[order], values[order]


def feasible(p, alpha, w=None):
    """F(v) of eq. (7), and the standard deviation of the projections."""
    w = weights_of(p, w)
    mean = w @ p / w.sum()
    sigma = np.sqrt(w @ (p - mean) ** 2 / w.sum())
    return mean - alpha * sigma, mean + alpha * sigma, sigma


def log_index(X, v, h, alpha, w=None, **options):
    """Log of phi_CL, eq. (13), in units of the kernel's peak, and its minimiser b."""
    p = X @ v
    b, values = minimisers(p, h, *feasible(p, alpha, w)[:2], w, **options)
    return values[0] - log_peak(h), b[0]


def gradient(X, v, h, alpha, b, w=None, eta=ETA, epsilon=EPSILON):
    """Gradient of log phi_CL by v at its minimiser b: eq. (26), D_P f D_v P, divided by phi."""
    p, w = X @ v, weights_of(X, w)
    share = w / w.sum()
    lo, hi, sigma = feasible(p, alpha, w)
    log_phi = log_penalised(p, h, b, lo, hi, w, eta, epsilon)
    u = (b - p) / h
    by_p = share * np.exp(-0.5 * u**2 + log_peak(h) - log_phi) * u / h
    e = excess(b, lo, hi)
    if e > 0.0:
        slope = (1.0 + epsilon) * np.exp(log_penalty(h, e, eta, epsilon) - np.log(e) - log_phi)
        mean_by_p, sigma_by_p = share, share * (p - w @ p / w.sum()) / sigma
        by_p = by_p + slope * ((mean_by_p if b < lo else -mean_by_p) - alpha * sigma_by_p)
    return by_p @ X


# ------------------------------------------------------------------------------------------------- hinges


def hinges(at, weights, b, power, h, side):
    """Value, slope and curvature at b of the sum of w ((b - at) / h)_+^power (side +1) or w ((at - b) / h)_+^power."""
    e = side * (np.longdouble(b) - np.asarray(at, dtype=np.longdouble)) / np.longdouble(h)
    e, w = e[e > 0.0], np.asarray(weights, dtype=np.longdouble)[e > 0.0]
    value, slope = (w * e**power).sum(), (w * power * e ** (power - 1.0)).sum()
    return np.array([value, side * slope, (w * power * (power - 1.0) * e ** (power - 2.0)).sum()], dtype=float)


# ------------------------------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labels:
    """Labelled rows x with their classes y (-1, 1) and weights, and the cost of a violation.

    "sum" is eq. (16), with a margin; "mean" is the mean violation in units of h0, times the kernel's peak.
    """

    x: np.ndarray
    y: np.ndarray
    gamma: float
    w: np.ndarray | None = None
    form: str = "mean"
    margin: float = 1.0
    h0: float = 1.0

    def log_costs(self, h, epsilon):
        """Log of the cost of a violation of 1, for each label."""
        w = weights_of(self.y, self.w)
        if self.form == "sum":
            return np.log(self.gamma * w)
        return np.log(self.gamma * w / w.sum()) + log_peak(h) - (1.0 + epsilon) * np.log(self.h0)

    def violation(self, p, b):
        """Violations of the labels with projections p, for each b."""
        return np.maximum(0.0, self.margin * self.h0 - self.y * (p - np.reshape(b, (-1, 1))))

    def hinges(self, p):
        """Offsets b beyond which each label is violated."""
        return p - self.y * self.margin * self.h0


def log_label_penalty(p, labels, h, b, epsilon=EPSILON):
    """Log of the second term of eq. (16), for the projections p of the labelled rows."""
    with np.errstate(divide="ignore"):
        return logsumexp(labels.log_costs(h, epsilon) + (1.0 + epsilon) * np.log(labels.violation(p, b)), axis=1)


def log_penalties(labelled, labels, h, b, lo, hi, eta=ETA, epsilon=EPSILON):
    """Log of the penalties of f_SSC."""
    balance = log_penalty(h, excess(b, lo, hi), eta, epsilon)
    return np.logaddexp(balance, log_label_penalty(labelled, labels, h, b, epsilon))


def log_penalised_ssc(p, labelled, labels, h, b, lo, hi, w=None, eta=ETA, epsilon=EPSILON):
    """Log of f_SSC, eq. (16)."""
    balanced = log_penalised(p, h, b, lo, hi, w, eta, epsilon)
    return np.logaddexp(balanced, log_label_penalty(labelled, labels, h, b, epsilon))


def worth_a_look(log_q, lo, hi, h, rounds=6, points=401):
    """Interval in [lo, hi] that contains all b where the convex q is within one kernel's peak of its minimum."""
    for _ in range(rounds):
        b = np.linspace(lo, hi, points)
        values = log_q(b)
        near = np.flatnonzero(values <= np.logaddexp(values.min(), log_peak(h)))
        lo, hi = b[max(near[0] - 1, 0)], b[min(near[-1] + 1, points - 1)]
    return lo, hi


def minimisers_ssc(
    p, labelled, labels, h, lo, hi, w=None, eta=ETA, epsilon=EPSILON, *, per_bandwidth=16, rounds=8, most=40_000
):
    """Local minimisers of f_SSC over b, lowest first, and log f_SSC there (eq. (17)).

    Outside all hinges the balance penalty alone keeps b within η; no more than a kernel's peak can be won on q.
    """

    def function(b):
        return log_penalised_ssc(p, labelled, labels, h, b, lo, hi, w, eta, epsilon)

    kinks = np.unique(np.concatenate([labels.hinges(labelled), [lo, hi]]))
    a, c = worth_a_look(
        lambda b: log_penalties(labelled, labels, h, b, lo, hi, eta, epsilon),
        kinks[0] - 1.01 * eta * h, kinks[-1] + 1.01 * eta * h, h,
    )  # fmt: skip
    kinks = kinks[(kinks >= a) & (kinks <= c)]
    grid = np.linspace(a, c, min(most, int(np.ceil((c - a) / h * per_bandwidth)) + 17))
    near = kinks[:, None] + h * np.outer([-1.0, 1.0], eta * np.linspace(0.0, 1.0, 5)).ravel()
    grid = np.unique(np.clip(np.concatenate([grid, near.ravel()]), a, c))
    b = np.unique(np.concatenate([local_minima(function, grid, rounds), kinks]))
    values = function(b)
    order = np.argsort(values, kind="stable")
    return b[order], values[order]


def log_index_ssc(X, v, h, alpha, labels, w=None, **options):
    """Log of phi_SSC, eq. (17), in units of the kernel's peak, and its minimiser b."""
    p = X @ v
    b, values = minimisers_ssc(p, labels.x @ v, labels, h, *feasible(p, alpha, w)[:2], w, **options)
    return values[0] - log_peak(h), b[0]


def gradient_ssc(X, v, h, alpha, labels, b, w=None, eta=ETA, epsilon=EPSILON):
    """Gradient of log phi_SSC by v at its minimiser b: the partial derivatives of f_SSC, divided by phi."""
    p, labelled, w = X @ v, labels.x @ v, weights_of(X, w)
    share = w / w.sum()
    lo, hi, sigma = feasible(p, alpha, w)
    log_phi = log_penalised_ssc(p, labelled, labels, h, b, lo, hi, w, eta, epsilon)
    u = (b - p) / h
    by_p = share * np.exp(-0.5 * u**2 + log_peak(h) - log_phi) * u / h
    e = excess(b, lo, hi)
    if e > 0.0:
        slope = (1.0 + epsilon) * np.exp(log_penalty(h, e, eta, epsilon) - np.log(e) - log_phi)
        sigma_by_p = share * (p - w @ p / w.sum()) / sigma
        by_p = by_p + slope * ((share if b < lo else -share) - alpha * sigma_by_p)
    cost = np.exp(labels.log_costs(h, epsilon) - log_phi)
    by_label = -labels.y * (1.0 + epsilon) * cost * labels.violation(labelled, b)[0] ** epsilon
    return by_p @ X + by_label @ labels.x


# ------------------------------------------------------------------------------------------------- calculus on circles


def circle(v, u, t):
    """Point cos t v + sin t u of a great circle."""
    return np.cos(t) * v + np.sin(t) * u


def unit(x):
    return np.asarray(x, dtype=float) / np.linalg.norm(x)


def tangent(rng, v):
    """Random unit tangent at v."""
    u = rng.standard_normal(len(v))
    return unit(u - (u @ v) * v)


def central_difference(function, t=1e-4):
    """Derivative of function at 0 by Richardson's extrapolation of central differences."""
    wide, narrow = ((function(s) - function(-s)) / (2.0 * s) for s in (t, 0.5 * t))
    return (4.0 * narrow - wide) / 3.0


# ------------------------------------------------------------------------------------------------- sample


def moments(X, w=None):
    """Mean and covariance (divided by n) in extended precision, relative to the first row because of large offsets."""
    share = weights_of(X, w).astype(np.longdouble)
    share /= share.sum()
    shifted = X.astype(np.longdouble) - X[0].astype(np.longdouble)
    mean = share @ shifted
    centred = shifted - mean
    return X[0].astype(np.longdouble) + mean, centred.T @ (centred * share[:, None])
