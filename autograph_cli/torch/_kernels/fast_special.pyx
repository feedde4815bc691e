# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Functions of statistics, element by element in double precision: what `gaussian.py` and `special.py` compute.

Arrays of float32 or float64 in one piece; the result is rounded to their dtype.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport M_PI, NAN, cos, fabs, floor, fmod, isfinite, isinf, log, round, sin

from autograph_cli.torch._kernels import threads
from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()

cdef Count LARGE = threads.LARGE
cdef object LOG = np.log, EXP = np.exp, TANH = np.tanh, LOG1P = np.log1p, EXPM1 = np.expm1

cdef extern from "numpy/arrayobject.h":
    cnp.ndarray PyArray_NewLikeArray(cnp.ndarray prototype, cnp.NPY_ORDER order, void *descr, int subok)


# ---------------------------------------------------------------- the error function

cdef extern from *:
    """
    #include <stddef.h>
    #include <string.h>
    #include <math.h>
    /* The Taylor polynomial around the nearest of 1537 points from 0 to 6: see `Gaussian._erf_by_table`. What 1.5 * 2**52 is
       added to is rounded to a whole number. */
    CLONED static void erf_some(const double *a, double *out, double scale, const double *table, ptrdiff_t n) {
        const double rounder = 6755399441055744.0; ptrdiff_t i;
        double apart[256], center[256], known[512]; int at[256];
        ELEMENTS for (i = 0; i < n; i++) {
            double h = fabs(a[i] * scale), place;
            h = h > 6 ? 6 : h;
            place = (h * 256 + rounder) - rounder;
            center[i] = place * (1.0 / 256); apart[i] = h - center[i];
            at[i] = (int)(place > 0 ? place : 0); }
        for (i = 0; i < n; i++) memcpy(known + 2 * i, table + 2 * at[i], 2 * sizeof(double));
        ELEMENTS for (i = 0; i < n; i++) {
            const double c = center[i], h = apart[i], square = c * c, along = h * known[2 * i + 1];
            double rest = (square * (2.0 / 15) - 2.0 / 5) * square + 1.0 / 10;
            rest = rest * h + (0.5 - square * (1.0 / 3)) * c;
            rest = rest * h + (square * (2.0 / 3) - 1.0 / 3);
            rest = (rest * h - c) * h;
            out[i] = copysign((along * rest + along) + known[2 * i], a[i]); } }
    static void erf_d(const double *a, double *out, double scale, const double *table, ptrdiff_t n) {
        for (; n > 0; a += 256, out += 256, n -= 256) erf_some(a, out, scale, table, n < 256 ? n : 256); }
    /* Loops over float32 as those over float64, which compilers make wider ones of, some numbers at a time. */
    #define WIDENED(run) { double wide[256]; ptrdiff_t i, k, many; \
        for (i = 0; i < n; i += many) { many = n - i < 256 ? n - i : 256; \
            for (k = 0; k < many; k++) wide[k] = a[i + k]; \
            run; \
            for (k = 0; k < many; k++) out[i + k] = (float)wide[k]; } }
    /* x P(x^2 / 7.72245 - 1) up to 3.93, beyond which float32 has nothing but 1: nine digits more than float32, and no table.
       P is the interpolation at the zeros of a Chebyshev polynomial. */
    static const double P[26] = {0.35982021139531434, -0.1796602969501704, 0.13378065493155097, -0.1090009369561632,
        0.09058222068182875, -0.07412033264739123, 0.05841456481192326, -0.04372955414040854, 0.03084863558949,
        -0.02042748297369923, 0.012681903732888435, -0.007384794901433183, 0.00403919879353116, -0.002079195369803414,
        0.0010094160380384107, -0.00046333810481874287, 0.0002016737754291641, -8.32757688728274e-05, 3.251906541949058e-05,
        -1.2211369177807374e-05, 4.572520048988741e-06, -1.5534038047847748e-06, 3.912607239272555e-07,
        -1.2861244084117656e-07, 8.058129704881292e-08, -2.2719844135925052e-08};
    FUSED CLONED static void erf_f(const float *a, float *out, float scale, ptrdiff_t n) {
        ptrdiff_t i;
        ELEMENTS for (i = 0; i < n; i++) {
            float near = a[i] * scale; double x, s, square, even = P[24], odd = P[25]; int k;
            near = near < -3.93f ? -3.93f : near;
            x = near > 3.93f ? 3.93f : near;
            s = x * x * (1 / 7.72245) - 1; square = s * s;
            UNROLLED for (k = 22; k >= 0; k -= 2) { even = even * square + P[k]; odd = odd * square + P[k + 1]; }
            out[i] = (float)(x * (odd * s + even)); } }
    """
    void erf_f(const float *, float *, float, Count) noexcept nogil
    void erf_d(const double *, double *, double, const double *, Count) noexcept nogil


def erf(cnp.ndarray a, cnp.ndarray table, double scale=1, cnp.ndarray out=None):
    """erf(a * scale), for float64 with a table of a value and a slope for each point."""
    out = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0) if out is None else out
    cdef Count n = cnp.PyArray_SIZE(a)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef double *points = <double *>cnp.PyArray_DATA(table)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            erf_f(<float *>source, <float *>target, <float>scale, n)
        else:
            erf_d(<double *>source, <double *>target, scale, points, n)
    return out

# ---------------------------------------------------------------- log(1 + x) and exp(x) - 1 of float32

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define LOG_OF_2 0.6931471805599453
    #define SMALLEST 1.4901161193847656e-08  /* below it, log(1 + x) is x */
    /* 1 + x is 2^e m with m between the roots of 1/2 and 2, whose logarithm is 2 artanh((m - 1) / (m + 1)); x is k log(2) + r,
       so that exp(x) - 1 is 2^k (exp(r) - 1) + (2^k - 1). In double precision. */
    static inline double logarithm(double y, int exact) {
        uint64_t bits, moved, high; double m, e, s, z, t;
        memcpy(&bits, &y, 8);
        moved = bits + 0x95F619980C433ULL; high = moved & 0xFFF0000000000000ULL;
        bits = bits - high + 0x3FF0000000000000ULL; memcpy(&m, &bits, 8);
        moved = moved >> 52 | 0x4330000000000000ULL; memcpy(&e, &moved, 8);
        e = e - 4503599627370496.0 - 1023;
        s = (m - 1) / (m + 1); z = s * s;
        t = exact ? (z * (1.0 / 17) + 1.0 / 15) * z + 1.0 / 13 : 1.0 / 13;
        t = t * z + 1.0 / 11; t = t * z + 1.0 / 9; t = t * z + 1.0 / 7; t = t * z + 1.0 / 5; t = t * z + 1.0 / 3;
        t = t * z + 1;
        return e * LOG_OF_2 + 2 * s * t; }
    CLONED static void log1p_wide(double *a, ptrdiff_t n) {
        ptrdiff_t i;
        ELEMENTS for (i = 0; i < n; i++) {
            const double x = a[i], y = 1 + x;
            double found = logarithm(y, 0);
            found = y > 0 ? found : y == 0 ? -INFINITY : NAN;
            found = y < INFINITY ? found : y;
            a[i] = fabs(x) < SMALLEST ? x : found; } }
    CLONED static void expm1_wide(double *a, ptrdiff_t n) {
        const double rounder = 6755399441055744.0; ptrdiff_t i;
        ELEMENTS for (i = 0; i < n; i++) {
            double x = a[i] < -40 ? -40 : a[i], k, r, t, s; uint64_t bits;
            x = x > 100 ? 100 : x;
            k = (x * (1 / LOG_OF_2) + rounder) - rounder;
            r = x - k * LOG_OF_2;
            t = r * (1.0 / 3628800) + 1.0 / 362880; t = t * r + 1.0 / 40320; t = t * r + 1.0 / 5040; t = t * r + 1.0 / 720;
            t = t * r + 1.0 / 120; t = t * r + 1.0 / 24; t = t * r + 1.0 / 6; t = t * r + 0.5; t = t * r + 1;
            t = t * r;
            s = k + rounder; memcpy(&bits, &s, 8);
            bits = (bits + 1023) << 52; memcpy(&s, &bits, 8);
            a[i] = copysign(s * t + (s - 1), x); } }
    CLONED static void log1p_f(const float *a, float *out, ptrdiff_t n) WIDENED(log1p_wide(wide, many))
    CLONED static void expm1_f(const float *a, float *out, ptrdiff_t n) WIDENED(expm1_wide(wide, many))
    """
    void log1p_f(const float *, float *, Count) noexcept nogil
    void expm1_f(const float *, float *, Count) noexcept nogil


cdef object near_zero(object a, object out, bint power):
    """Return expm1, if `power`, or log1p of an array in one piece or a number; None for anything else than float32."""
    cdef float x
    cdef cnp.ndarray to
    if type(a) is np.float32 and out is None:
        x = a
        if power:
            expm1_f(&x, &x, 1)
        else:
            log1p_f(&x, &x, 1)
        return np.float32(x)
    if kind_of(a) != cnp.NPY_FLOAT or not (out is None or (kind_of(out) == cnp.NPY_FLOAT and cnp.PyArray_SAMESHAPE(a, out))):
        return None
    to = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0) if out is None else out
    cdef float *source = <float *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef float *target = <float *>cnp.PyArray_DATA(to)
    cdef Count n = cnp.PyArray_SIZE(to)
    with nogil:
        if power:
            expm1_f(source, target, n)
        else:
            log1p_f(source, target, n)
    return to


def log1p(a, out=None):
    """log(1 + a), into `out` if it is given."""
    return near_zero(a, out, False)


def expm1(a, out=None):
    """exp(a) - 1, into `out` if it is given."""
    return near_zero(a, out, True)

include "fast_activations.pxi"

# ---------------------------------------------------------------- the gamma function

# Lanczos' approximation with the numbers and in the order of Python's math.lgamma.
cdef double[13] ABOVE = [
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
]
cdef double[13] BELOW = [
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
]
cdef double G = 6.024680040776729583740234375, LOG_PI = 1.144729885849400174143427351353058711647


cdef double lanczos_sum(double x) noexcept nogil:
    cdef double above = 0, below = 0
    cdef int i
    if x < 5:
        for i in range(12, -1, -1):
            above = above * x + ABOVE[i]
            below = below * x + BELOW[i]
    else:
        for i in range(13):
            above = above / x + ABOVE[i]
            below = below / x + BELOW[i]
    return above / below


cdef double sine_of_pi(double x) noexcept nogil:
    cdef double y = fmod(x, 2.0)
    cdef int n = <int>round(2.0 * y)
    if n == 0:
        return sin(M_PI * y)
    if n == 1:
        return cos(M_PI * (y - 0.5))
    if n == 2:
        return sin(M_PI * (1.0 - y))
    if n == 3:
        return -cos(M_PI * (y - 1.5))
    return sin(M_PI * (y - 2.0))


cdef double log_gamma(double x) noexcept nogil:
    """NAN at a pole, too."""
    cdef double size = fabs(x), r
    if not isfinite(x):
        return size
    if x == floor(x) and x <= 2:
        return 0 if x > 0 else NAN
    if size < 1e-20:
        return -log(size)
    r = log(lanczos_sum(size)) - G
    r += (size - 0.5) * (log(size + G - 0.5) - 1)
    if x < 0:
        r = LOG_PI - log(fabs(sine_of_pi(size))) - log(size) - r
    return NAN if isinf(r) else r


cdef bint log_gammas(const double *a, double *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = log_gamma(a[i])
        if out[i] != out[i] and a[i] == a[i]:
            return False
    return True

cdef extern from *:
    """
    /* For float32. lgamma of y from 1 to 2 is (y - 1) (y - 2) and a polynomial in y - 1.5; x below 8 is moved there, the
       factors on the way are a logarithm. From 8 on, Stirling's series. Left of 0, by reflection. */
    static const double GAMMA[18] = {0.48312895054098165, -0.14595989591430658, 0.06291140107405828, -0.03130848750068851,
        0.016797098685059228, -0.009425622482759253, 0.005446455645615835, -0.0032120726776190944, 0.0019229609327760984,
        -0.0011644429824503194, 0.0007110125229750965, -0.0004376707178170653, 0.0002746536514517647, -0.00017104300594927385,
        9.281758532114443e-05, -5.8165733688602144e-05, 6.68246585036373e-05, -4.233066087210433e-05};
    static const double SINE[11] = {3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207921,
        0.08214588661112823, -0.0073704309457143504, 0.00046630280576761255, -2.1915353447830217e-05, 7.952054001475513e-07, -2.2948428997269873e-08,
        5.392664662608129e-10};
    CLONED static void lgamma_right(const double *a, double *out, ptrdiff_t n) {
        ptrdiff_t i;
        ELEMENTS for (i = 0; i < n; i++) {
            const double x = fabs(a[i]);
            double y = x < 1 ? x + 1 : x, factors = x < 1 ? x : 1, t, z, part, times, found; int k;
            UNROLLED for (k = 0; k < 6; k++) { const double down = y - 1; factors *= y < 2 ? 1 : down; y = y < 2 ? y : down; }
            z = y - 1.5; part = GAMMA[17];
            UNROLLED for (k = 16; k >= 0; k--) part = part * z + GAMMA[k];
            part = (y - 1) * (y - 2) * part;
            t = 1 / x; z = t * t;
            t = t * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360))))));
            part = x < 8 ? part : t + 0.9189385332046728 - x;
            times = x < 8 ? (x < 1 ? -1 : 1) : x - 0.5;
            found = times * logarithm(x < 8 ? factors : x, 1) + part;
            found = x > 0 ? found : INFINITY;
            out[i] = x < INFINITY ? found : x; } }
    CLONED static void lgamma_left(const double *a, double *out, ptrdiff_t n) {
        const double rounder = 6755399441055744.0; ptrdiff_t i;
        ELEMENTS for (i = 0; i < n; i++) {
            const double x = fabs(a[i]), far = x < 1e9 ? x : 0, r = far - ((far + rounder) - rounder), z = r * r;
            double s = SINE[10], found; int k;
            UNROLLED for (k = 9; k >= 0; k--) s = s * z + SINE[k];
            found = 1.1447298858494002 - logarithm(fabs(r * s * x), 1) - out[i];
            found = r == 0 ? INFINITY : found;
            out[i] = a[i] < 0 ? found : out[i]; } }
    CLONED static void lgamma_wide(double *a, ptrdiff_t n) {
        double found[256]; ptrdiff_t i, left = 0;
        lgamma_right(a, found, n);
        for (i = 0; i < n; i++) left += a[i] < 0;
        if (left) lgamma_left(a, found, n);
        memcpy(a, found, n * sizeof(double)); }
    CLONED static void lgamma_f(const float *a, float *out, ptrdiff_t n) WIDENED(lgamma_wide(wide, many))
    """
    void lgamma_f(const float *, float *, Count) noexcept nogil


def lgamma(cnp.ndarray a):
    """The logarithm of |gamma(a)|; None where Python refuses an element of float64, which is a pole or too large."""
    cdef cnp.ndarray out = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0)
    cdef Count n = cnp.PyArray_SIZE(a)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT, done = True
    with nogil:
        if narrow:
            lgamma_f(<float *>source, <float *>target, n)
        else:
            done = log_gammas(<double *>source, <double *>target, n)
    return out if done else None

# ---------------------------------------------------------------- its logarithmic derivative

cdef double[7] TAIL = [
    1.0 / 6 / 2, -1.0 / 30 / 4, 1.0 / 42 / 6, -1.0 / 30 / 8, 5.0 / 66 / 10, -691.0 / 2730 / 12, 7.0 / 6 / 14,
]


cdef bint move(const real *a, double *moved, double *shifts, Count n) noexcept nogil:
    """To the right, where the series holds; whether all are positive."""
    cdef Count i, k
    cdef double x, shift
    for i in range(n):
        x, shift = a[i], 0
        if not x > 0:
            return False
        for k in range(10):
            if x < 10:
                shift = shift - 1 / x
                x = x + 1
        moved[i], shifts[i] = x, shift
    return True


cdef void add_series(const double *moved, const double *shifts, const double *logs, real *out, Count n) noexcept nogil:
    cdef Count i, k
    cdef double x, square, tail
    for i in range(n):
        x, tail = moved[i], 0
        square = x * x
        for k in range(6, -1, -1):
            tail = (tail + TAIL[k]) / square
        out[i] = <real>(shifts[i] + logs[i] - 0.5 / x - tail)


def digamma(cnp.ndarray a):
    """The derivative of lgamma; None where an element is not positive."""
    cdef cnp.ndarray out = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0)
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(a)
    cdef cnp.ndarray between = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
    cdef cnp.ndarray shifted = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
    cdef double *moved = <double *>cnp.PyArray_DATA(between)
    cdef double *shifts = <double *>cnp.PyArray_DATA(shifted)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    if not (move(<float *>cnp.PyArray_DATA(a), moved, shifts, n) if narrow else
            move(<double *>cnp.PyArray_DATA(a), moved, shifts, n)):
        return None
    cdef cnp.ndarray logs = LOG(between)
    if narrow:
        add_series(moved, shifts, <double *>cnp.PyArray_DATA(logs), <float *>cnp.PyArray_DATA(out), n)
    else:
        add_series(moved, shifts, <double *>cnp.PyArray_DATA(logs), <double *>cnp.PyArray_DATA(out), n)
    return out
