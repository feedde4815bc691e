# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The draws of random_variates.py: the same steps in the same order, in loops over arrays of float64.

Each loop is given the twister and the spare normal number of a stream (None: there is none).
"""

import numpy as np

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN, ceil, cos, exp, fabs, floor, isnan, lgamma, log, log1p, pow, sin, sqrt

from autograph_cli.torch._kernels.fast_arrays cimport Count, doubles

from autograph_cli.torch._core.streams.stream import Stream

cnp.import_array()

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        cnp.uint64_t (*next_raw)(void *state) noexcept nogil

cdef double THIRD = <float>1.0 / <float>3.0, SQUEEZE = <float>0.0331, FEW = 10, TURN = 6.283185307179586
cdef double[10] TAILS = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
]

cdef struct Source:
    bitgen_t *twister
    double spare
    bint has_spare


cdef inline double unit(Source *s) noexcept nogil:
    cdef cnp.uint64_t high = s.twister.next_raw(s.twister.state) << 32
    return <double>((high | s.twister.next_raw(s.twister.state)) & 0x1FFFFFFFFFFFFFULL) * 1.1102230246251565e-16


cdef inline double normal(Source *s) noexcept nogil:
    cdef double angle, radius
    if s.has_spare:
        s.has_spare = False
        return s.spare
    angle = TURN * unit(s)
    radius = sqrt(-2.0 * log1p(-unit(s)))
    s.spare, s.has_spare = radius * sin(angle), True
    return radius * cos(angle)


cdef double gamma_variate(Source *s, double shape, bint narrow) noexcept nogil:
    cdef double scale = 1, c, d, u, v, x, y, square
    if shape < 1:
        if shape == 0:
            return 0
        scale = pow(1 - unit(s), <float>(1 / shape) if narrow else 1 / shape)
        shape = <float>(shape + 1) if narrow else shape + 1
    d = <float>(shape - THIRD) if narrow else shape - THIRD
    c = 1 / sqrt(9 * d)
    while True:
        y = 0
        while y <= 0:
            x = normal(s)
            y = 1 + c * x
        v = y * y * y
        u = 1 - unit(s)
        square = x * x
        if u < 1 - SQUEEZE * square * square or log(u) < 0.5 * square + d * (1 - v + log(v)):
            return scale * d * v


cdef double poisson_variate(Source *s, double rate) noexcept nogil:
    cdef double a, b, inverse_alpha, sure, u, v, us, k, product = 1, end
    if rate == 0:
        return 0
    if rate < FEW:
        k, end = 0, exp(-rate)
        while True:
            product *= unit(s)
            if product <= end:
                return k
            k += 1
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = unit(s) - 0.5
        v = unit(s)
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= sure:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log(rate) - lgamma(k + 1):
            return k


cdef inline double tail(double k) noexcept nogil:
    cdef double square = (k + 1) * (k + 1)
    if k <= 9:
        return TAILS[<int>k]
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


cdef double many_successes(Source *s, double count, double prob) noexcept nogil:
    cdef double deviation = sqrt(count * prob * (1 - prob)), b = 1.15 + 2.53 * deviation
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * prob, c = count * prob + 0.5, sure = 0.92 - 4.2 / b
    cdef double odds = prob / (1 - prob), alpha = (2.83 + 5.1 / b) * deviation, m = floor((count + 1) * prob)
    cdef double u, v, us, k, bound
    while True:
        u = unit(s) - 0.5
        v = unit(s)
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= sure:
            return k
        if k < 0 or k > count:
            continue
        bound = (m + 0.5) * log((m + 1) / (odds * (count - m + 1)))
        bound = bound + (count + 1) * log((count - m + 1) / (count - k + 1))
        bound = bound + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
        bound = bound + tail(m) + tail(count - m) - tail(k) - tail(count - k)
        if log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


cdef double successes(Source *s, double count, double prob, bint narrow) noexcept nogil:
    cdef double rest, u, trials = 0, found = 0
    if (<double><float>(count * prob) if narrow else count * prob) >= FEW:
        return many_successes(s, count, prob)
    rest = log1p(-prob)
    while True:
        u = unit(s)
        trials += ceil(log(u) / rest) if u else INFINITY
        if trials > count:
            return found
        found += 1


cdef double binomial_variate(Source *s, double count, double prob, bint narrow) noexcept nogil:
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if isnan(prob):
        return NAN
    return count - successes(s, count, 1 - prob, narrow) if prob > 0.5 else successes(s, count, prob, narrow)


cdef Source source(object twister, object spare):
    cdef Source s
    s.twister = <bitgen_t *>PyCapsule_GetPointer(twister.capsule, "BitGenerator")
    s.has_spare = spare is not None
    s.spare = spare if s.has_spare else 0
    return s


def gamma(twister, spare, shapes, out, bint narrow):
    """Gamma variates of these shapes; the spare number that is left."""
    cdef Source s = source(twister, spare)
    cdef double *shape = doubles(shapes)
    cdef double *to = doubles(out)
    cdef Count i
    for i in range(cnp.PyArray_SIZE(out)):
        to[i] = gamma_variate(&s, shape[i], narrow)
    return s.spare if s.has_spare else None


def poisson(twister, spare, rates, out):
    """Numbers of events at these rates."""
    cdef Source s = source(twister, spare)
    cdef double *rate = doubles(rates)
    cdef double *to = doubles(out)
    cdef Count i
    for i in range(cnp.PyArray_SIZE(out)):
        to[i] = poisson_variate(&s, rate[i])
    return spare


def binomial(twister, spare, counts, probs, out, bint narrow):
    """Numbers of successes in so many trials with these probabilities."""
    cdef Source s = source(twister, spare)
    cdef double *count = doubles(counts)
    cdef double *prob = doubles(probs)
    cdef double *to = doubles(out)
    cdef Count i
    for i in range(cnp.PyArray_SIZE(out)):
        to[i] = binomial_variate(&s, count[i], prob[i], narrow)
    return spare


cdef dict LOOPS = {"gamma": gamma, "poisson": poisson, "binomial": binomial}


def each(name, stream, list given, dict settings):
    """Variates, one after the other; None for other streams than the CPU's, and of shapes below 0, whose roots Python refuses."""
    if type(stream) is not Stream or not (given[0] >= 0).all():
        return None
    out = np.empty(given[0].shape)
    stream.spare_normal = LOOPS[name](stream.twister, stream.spare_normal, *given, out, **settings)
    return out
