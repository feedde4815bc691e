# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over the elements of arrays, one for what NumPy does in several: what stands between exponentials and the like.

A pass computes what `activation.py`, `gaussian.py`, `pointwise.py` and `softmax.py` have NumPy do one operation after
the other, each rounded to the dtype. Its arguments are up to three arrays `a`, `b`, `c`, alike, float32 or float64 in
one piece, and two numbers `p`, `q`; the result is a new array, or `out`.
"""

import numpy as np

cimport numpy as cnp
from libc.string cimport strcmp

from autograph_cli.torch._kernels import threads
from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_in_rows, kind_of

cnp.import_array()

ctypedef void (*Narrow)(const float *, const float *, const float *, float *, float, float, Count) noexcept nogil
ctypedef void (*Wide)(const double *, const double *, const double *, double *, double, double, Count) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    cnp.ndarray PyArray_NewLikeArray(cnp.ndarray prototype, cnp.NPY_ORDER order, void *descr, int subok)

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    #include <stddef.h>
    #define FOR(real, name, ...) CLONED static void name(const real *a, const real *b, const real *c, real *out, \\
        real p, real q, ptrdiff_t n) { ptrdiff_t i; const real one = 1, half = (real)0.5; (void)one; (void)half; \\
        ELEMENTS for (i = 0; i < n; i++) { __VA_ARGS__ } }
    #define PASS(name, ...) FOR(float, name##_f, typedef float real; __VA_ARGS__) \\
        FOR(double, name##_d, typedef double real; __VA_ARGS__)

    PASS(threshold_backward, out[i] = b[i] <= p ? 0 : a[i];)
    PASS(tanh_backward, out[i] = a[i] * (one - b[i] * b[i]);)
    PASS(sigmoid_backward, out[i] = a[i] * ((one - b[i]) * b[i]);)
    PASS(leaky_relu, real low = a[i] * p; out[i] = low > a[i] ? low : a[i];)
    PASS(prelu, out[i] = a[i] > 0 ? a[i] : a[i] * p;)
    PASS(elu_low, out[i] = (a[i] > 0 ? 0 : a[i]) * p;)
    PASS(softplus, out[i] = a[i] * p > q ? a[i] : b[i] / p;)
    /* b: x, c: exp(-|x|), exp(x) below 0 or everywhere */
    PASS(elu_backward, out[i] = a[i] * (b[i] <= 0 ? c[i] * p : q);)
    PASS(log_sigmoid_backward, real s = c[i] / (one + c[i]); out[i] = a[i] * (b[i] < 0 ? one - s : s);)
    PASS(hardswish_backward, real low = (b[i] / 3 + half) * a[i]; low = b[i] < 3 ? low : a[i]; out[i] = b[i] <= -3 ? 0 : low;)
    PASS(softplus_backward, out[i] = b[i] * p > q ? a[i] : a[i] * c[i] / (c[i] + one);)
    PASS(negative, out[i] = -a[i];)
    /* b, and c on the way back: exp(-x) */
    PASS(sigmoid, out[i] = one / (b[i] + one);)
    PASS(silu, out[i] = a[i] * (one / (b[i] + one));)
    PASS(silu_backward, real s = one / (c[i] + one); out[i] = a[i] * (((one - s) * b[i] + one) * s);)
    /* p, q: factors of x^3 and x in what tanh is taken of, which is b then, and c on the way back */
    PASS(gelu_inner, out[i] = (a[i] * a[i] * p + q) * a[i];)
    PASS(gelu_tanh, out[i] = (b[i] + one) * half * a[i];)
    PASS(gelu_tanh_backward, real t = c[i];
        out[i] = (((b[i] * b[i] * p + q) * b[i] * (one - t * t) + t + one) * half) * a[i];)
    PASS(sign, out[i] = (real)((a[i] > 0) - (a[i] < 0));)
    PASS(clamp, real x = a[i] < p ? p : a[i]; out[i] = x > q ? q : x;)
    PASS(hardsigmoid, real x = a[i] + 3; x = x < 0 ? 0 : x; x = x > 6 ? 6 : x; out[i] = x / 6;)
    PASS(hardswish, real x = a[i] + 3; x = x < 0 ? 0 : x; x = x > 6 ? 6 : x; out[i] = x / 6 * a[i];)
    PASS(lerp, out[i] = a[i] + p * (b[i] - a[i]);)
    PASS(lerp_back, out[i] = b[i] - (b[i] - a[i]) * p;)
    /* -|x|, and what follows the logarithm b of 1 + exp(-|x|) */
    PASS(minus_size, out[i] = a[i] < 0 ? a[i] : -a[i];)
    /* c: the target */
    PASS(logits_loss, out[i] = (one - c[i]) * a[i] - ((a[i] < 0 ? a[i] : 0) - b[i]);)
    PASS(smooth_l1, real size = a[i] - b[i]; size = size > 0 ? size : 0 - size;
        out[i] = size < p ? half * size * size / p : size - half * p;)
    PASS(huber, real size = a[i] - b[i]; size = size > 0 ? size : 0 - size;
        out[i] = size < p ? half * size * size : p * (size - half * p);)
    PASS(square_scaled, out[i] = a[i] * a[i] * p;)
    /* b: x, c: erf(x / sqrt(2)), out: exp(-x^2 / 2) */
    PASS(gelu_backward, out[i] = (out[i] * p * b[i] + (c[i] + one) * half) * a[i];)

    /* The squares of float32 are exact in double precision, and never too large. */
    FOR(float, hypot_f, double x = a[i], y = b[i], size = sqrt(x * x + y * y);
        out[i] = (float)(fabs(x) > FLT_MAX || fabs(y) > FLT_MAX ? INFINITY : size);)

    /* x p(x^2) with the coefficients b, x cut off at -4 and 4 after it was multiplied with p: erf is its tanh */
    #define ARTANH_ERF(real, name) CLONED static void name(const real *a, const real *b, const real *c, real *out, \
        real p, real q, ptrdiff_t n) { ptrdiff_t i; \
        const real b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7]; \
        ELEMENTS for (i = 0; i < n; i++) { \
            real x = a[i] * p, s; \
            x = x < -4 ? -4 : x; \
            x = x > 4 ? 4 : x; \
            s = x * x; \
            out[i] = (((((((s * b7 + b6) * s + b5) * s + b4) * s + b3) * s + b2) * s + b1) * s + b0) * x; } }
    ARTANH_ERF(float, artanh_erf_f)
    ARTANH_ERF(double, artanh_erf_d)

    #define CAST(name, from, real) CLONED static void name(const from *a, real *out, ptrdiff_t n) { ptrdiff_t i; \
        ELEMENTS for (i = 0; i < n; i++) out[i] = (real)a[i]; }
    CAST(widen, float, double)
    CAST(narrow, double, float)

    /* `step`: 1, or 0 for one number in the place of `a` */
    #define CHOOSE(name, real) CLONED static void name(const unsigned char *mask, const real *a, ptrdiff_t step, \
        const real *b, real *out, ptrdiff_t n) { ptrdiff_t i; \
        if (step) { ELEMENTS for (i = 0; i < n; i++) out[i] = mask[i] ? a[i] : b[i]; } \
        else { const real x = a[0]; ELEMENTS for (i = 0; i < n; i++) out[i] = mask[i] ? x : b[i]; } }
    CHOOSE(choose_f, float)
    CHOOSE(choose_d, double)

    typedef struct { const char *name; void (*narrow)(const float *, const float *, const float *, float *, float, float,
        ptrdiff_t); void (*wide)(const double *, const double *, const double *, double *, double, double, ptrdiff_t); } Pass;
    #define ROW(name) {#name, name##_f, name##_d}
    static const Pass PASSES[] = {ROW(threshold_backward), ROW(tanh_backward), ROW(sigmoid_backward), ROW(leaky_relu), ROW(prelu),
        ROW(elu_low),
        ROW(elu_backward), ROW(log_sigmoid_backward), ROW(softplus_backward), ROW(hardswish_backward), ROW(softplus), ROW(negative), ROW(sigmoid), ROW(silu), ROW(silu_backward), ROW(gelu_inner),
        ROW(gelu_tanh), ROW(gelu_tanh_backward), ROW(artanh_erf), ROW(square_scaled), ROW(gelu_backward), ROW(sign), ROW(clamp),
        ROW(hardsigmoid), ROW(hardswish), ROW(lerp), ROW(lerp_back), ROW(minus_size),
        ROW(logits_loss), ROW(smooth_l1), ROW(huber), {"hypot", hypot_f, NULL}, {NULL}};
    """
    void widen(const float *, double *, Count) noexcept nogil
    void narrow(const double *, float *, Count) noexcept nogil
    void choose_f(const cnp.npy_bool *, const float *, Count, const float *, float *, Count) noexcept nogil
    void choose_d(const cnp.npy_bool *, const double *, Count, const double *, double *, Count) noexcept nogil
    ctypedef struct Pass:
        const char *name
        Narrow narrow
        Wide wide

    const Pass *PASSES


cdef object exponential = np.exp
cdef Count LARGE = threads.LARGE, BLOCK = threads.BLOCK


cdef bint in_rows(object a) noexcept:
    """Return whether an array of float32 or float64 is in one piece, or a matrix whose rows are."""
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or not cnp.PyArray_ISALIGNED(<cnp.ndarray>a) or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>a):
        return False
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    if kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return False
    if cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a):
        return True
    return (
        cnp.PyArray_NDIM(<cnp.ndarray>a) == 2
        and cnp.PyArray_STRIDE(<cnp.ndarray>a, 1) == cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
        and cnp.PyArray_STRIDE(<cnp.ndarray>a, 0) > 0
    )


cdef void run_rows(const Pass *row, cnp.ndarray a, cnp.ndarray out) noexcept nogil:
    """A pass of one array that `in_rows` knows."""
    cdef Count i, rows = 1, columns = cnp.PyArray_SIZE(a), step = 0
    cdef char *source = <char *>cnp.PyArray_DATA(a)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    if not cnp.PyArray_IS_C_CONTIGUOUS(a):
        rows, columns, step = cnp.PyArray_DIM(a, 0), cnp.PyArray_DIM(a, 1), cnp.PyArray_STRIDE(a, 0)
    for i in range(rows):
        if cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT:
            row.narrow(<float *>source, <float *>source, <float *>source, <float *>to + i * columns, 0, 0, columns)
        else:
            row.wide(<double *>source, <double *>source, <double *>source, <double *>to + i * columns, 0, 0, columns)
        source += step


def logistic(a):
    """1 / (1 + exp(-a)); None of what is not in rows."""
    if not in_rows(a):
        return None
    cdef cnp.ndarray out = PyArray_NewLikeArray(<cnp.ndarray>a, cnp.NPY_CORDER, NULL, 0)
    if cnp.PyArray_SIZE(out) >= LARGE and threads.count > 1 and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a):
        return threads.shared(_logistic, (a,), out)
    return _logistic(a, out)


def _logistic(cnp.ndarray a, cnp.ndarray out):
    cdef Count start, n = cnp.PyArray_SIZE(a)
    if n > BLOCK and cnp.PyArray_IS_C_CONTIGUOUS(a):
        source, to = a.reshape(-1), out.reshape(-1)
        for start in range(0, n, BLOCK):  # what stands between the passes stays in the cache
            _logistic(source[start : start + BLOCK], to[start : start + BLOCK])
        return out
    with nogil:
        run_rows(NEGATIVE, a, out)
    exponential(out, out)
    with nogil:
        run_rows(SIGMOID, out, out)
    return out


def swish(a):
    """a / (1 + exp(-a)); None of what is not in one piece."""
    if kind_of(a) < 0 or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    cdef cnp.ndarray out = PyArray_NewLikeArray(<cnp.ndarray>a, cnp.NPY_CORDER, NULL, 0)
    cdef Count n = cnp.PyArray_SIZE(out)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    cdef const Pass *row = SILU
    with nogil:
        run_rows(NEGATIVE, <cnp.ndarray>a, out)
    exponential(out, out)
    with nogil:
        if cnp.PyArray_TYPE(out) == cnp.NPY_FLOAT:
            row.narrow(<float *>source, <float *>to, <float *>to, <float *>to, 0, 0, n)
        else:
            row.wide(<double *>source, <double *>to, <double *>to, <double *>to, 0, 0, n)
    return out


cdef const Pass *pass_of(const char *name) noexcept nogil:
    cdef int i = 0
    while strcmp(PASSES[i].name, name):
        i += 1
    return &PASSES[i]


cdef const Pass *NEGATIVE = pass_of("negative")
cdef const Pass *SIGMOID = pass_of("sigmoid")
cdef const Pass *SILU = pass_of("silu")


cdef class Each:
    """A pass of both dtypes."""

    cdef Pass run

    def __call__(self, cnp.ndarray a, cnp.ndarray b=None, cnp.ndarray c=None, double p=0, double q=0, cnp.ndarray out=None):
        cdef void *first = cnp.PyArray_DATA(a)
        cdef void *second = first if b is None else cnp.PyArray_DATA(b)
        cdef void *third = first if c is None else cnp.PyArray_DATA(c)
        out = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0) if out is None else out
        cdef void *to = cnp.PyArray_DATA(out)
        cdef Count n = cnp.PyArray_SIZE(a)
        if n >= LARGE and threads.count > 1 and (b is None or cnp.PyArray_SIZE(b) == n):
            return threads.shared(lambda x, y, z, to: self(x, y, z, p, q, to), (a, b, c), out)
        if cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT:
            with nogil:
                self.run.narrow(<float *>first, <float *>second, <float *>third, <float *>to, <float>p, <float>q, n)
        else:
            with nogil:
                self.run.wide(<double *>first, <double *>second, <double *>third, <double *>to, p, q, n)
        return out


def lerp_scalar(a, end, weight):
    """From `a` towards `end`, from the nearer one; None of what has to be looked at."""
    if type(weight) is not float or not -65504 <= weight <= 65504:
        return None
    if -0.5 < weight < 0.5:
        return LERP(a, end, None, weight)
    return LERP_BACK(a, end, None, <float>1 - <float>weight if cnp.PyArray_TYPE(<cnp.ndarray>a) == cnp.NPY_FLOAT else 1 - weight)


def cast_in_format(a, dtype, memory_format):
    """An array of float32 in float64, or the other way round; None of what has to be looked at."""
    cdef int kind = kind_in_rows(a), wanted = (<cnp.dtype>dtype).num if isinstance(dtype, cnp.dtype) else -1
    if kind < 0 or memory_format is not None or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    if kind == wanted or wanted != cnp.NPY_FLOAT and wanted != cnp.NPY_DOUBLE:
        return None
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>a), cnp.PyArray_DIMS(<cnp.ndarray>a), wanted)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            widen(<float *>source, <double *>to, cnp.PyArray_SIZE(out))
        else:
            narrow(<double *>source, <float *>to, cnp.PyArray_SIZE(out))
    return out


def chosen(mask, a, b):
    """`a` where `mask` holds, `b` elsewhere, one of which may be a number of NumPy's; None where they are not simple."""
    cdef int kind = kind_of(b)
    cdef cnp.ndarray shape = mask if cnp.PyArray_CheckExact(mask) else None
    if shape is None or cnp.PyArray_TYPE(shape) != cnp.NPY_BOOL or not cnp.PyArray_ISCARRAY_RO(shape):
        return None
    if not cnp.PyArray_NDIM(shape) or kind < 0 or not cnp.PyArray_SAMESHAPE(shape, <cnp.ndarray>b):
        return None
    cdef cnp.ndarray out = PyArray_NewLikeArray(b, cnp.NPY_CORDER, NULL, 0)
    cdef cnp.npy_bool *where = <cnp.npy_bool *>cnp.PyArray_DATA(shape)
    cdef Count n = cnp.PyArray_SIZE(shape)
    cdef void *second = cnp.PyArray_DATA(<cnp.ndarray>b)
    cdef void *to = cnp.PyArray_DATA(out)
    cdef void *first
    cdef float narrow = 0
    cdef double wide = 0
    cdef Count step = 1
    if kind_of(a) == kind and cnp.PyArray_SAMESHAPE(shape, <cnp.ndarray>a):
        first = cnp.PyArray_DATA(<cnp.ndarray>a)
    elif type(a) is (np.float32 if kind == cnp.NPY_FLOAT else np.float64):
        wide = a
        narrow = <float>wide
        first, step = (<void *>&narrow if kind == cnp.NPY_FLOAT else <void *>&wide), 0
    else:
        return None
    with nogil:
        if kind == cnp.NPY_FLOAT:
            choose_f(where, <float *>first, step, <float *>second, <float *>to, n)
        else:
            choose_d(where, <double *>first, step, <double *>second, <double *>to, n)
    return out


def _made():
    """Each pass by its name."""
    cdef Each each
    cdef int i = 0
    made = {}
    while PASSES[i].name != NULL:
        each = Each()
        each.run = PASSES[i]
        made[PASSES[i].name.decode()] = each
        i += 1
    return made


globals().update(_made())
cdef object LERP = globals()["lerp"], LERP_BACK = globals()["lerp_back"]
del globals()["Each"]  # the recorder renames classes that a module shows, which a compiled one does not allow
