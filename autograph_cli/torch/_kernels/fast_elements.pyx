# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Series, remainders and running extremes, in the order of what NumPy's functions would compute pass by pass."""

import numpy as np

cimport numpy as cnp
from libc.math cimport copysignf, fmod

from autograph_cli.torch._kernels.fast_arrays cimport Count, doubles, kind_of, real

cnp.import_array()

cdef extern from *:
    """
    #include <math.h>
    /* Clenshaw's recurrence, and Horner's rule for two polynomials, some numbers at a time. */
    CLONED static void clenshaw(const double *a, double *out, ptrdiff_t n, const double *c, ptrdiff_t many) {
        double twice[64], b[64], before[64]; ptrdiff_t i, j, k;
        for (i = 0; i < n; i += 64) {
            const ptrdiff_t part = n - i < 64 ? n - i : 64;
            for (j = 0; j < part; j++) { twice[j] = a[i + j] + a[i + j]; b[j] = before[j] = 0; }
            for (k = many - 1; k > 0; k--) ELEMENTS for (j = 0; j < part; j++) {
                const double next = c[k] + twice[j] * b[j] - before[j]; before[j] = b[j]; b[j] = next; }
            for (j = 0; j < part; j++) out[i + j] = c[0] + a[i + j] * b[j] - before[j]; } }
    CLONED static void ratios(const double *a, double *out, ptrdiff_t n, const double *p, const double *q, ptrdiff_t many) {
        double above[64], below[64]; ptrdiff_t i, j, k;
        for (i = 0; i < n; i += 64) {
            const ptrdiff_t part = n - i < 64 ? n - i : 64;
            for (j = 0; j < part; j++) { above[j] = p[0]; below[j] = q[0]; }
            for (k = 1; k < many; k++) ELEMENTS for (j = 0; j < part; j++) {
                above[j] = above[j] * a[i + j] + p[k]; below[j] = below[j] * a[i + j] + q[k]; }
            for (j = 0; j < part; j++) out[i + j] = above[j] / below[j]; } }
    /* What is left of x when y is taken away as often as it goes: in double precision exact while the quotient has less than
       29 bits. Tells whether one had more, or was none. */
    CLONED static int left_over(const float *a, const float *b, ptrdiff_t step, float *out, ptrdiff_t n) {
        ptrdiff_t i; int beyond = 0;
        ELEMENTS for (i = 0; i < n; i++) {
            const double x = a[i], y = b[i * step], q = trunc(x / y); double r = x - q * y;
            beyond |= !(fabs(q) < 536870912.0 && fabs(y) < INFINITY);
            r = r * x < 0 ? r + copysign(y, x) : r;
            r = r != 0 && (r < 0) != (y < 0) ? (float)((float)r + (float)y) : r == 0 ? copysign(0, x) : r;
            out[i] = (float)r; }
        return beyond; }
    /* Products of rows: of 16 columns side by side, then of these in halves, then with what is left. */
    #define PRODUCTS(name, real) CLONED static void name(const real *a, real *out, ptrdiff_t rows, ptrdiff_t n) { \
        ptrdiff_t i, j; real r[16]; \
        for (; rows > 0; rows--, a += n, out++) { \
            for (j = 0; j < 16; j++) r[j] = a[j]; \
            for (i = 16; i + 16 <= n; i += 16) UNROLLED for (j = 0; j < 16; j++) r[j] *= a[i + j]; \
            for (j = 0; j < 8; j++) r[j] *= r[j + 8]; \
            for (j = 0; j < 4; j++) r[j] *= r[j + 4]; \
            *out = (r[0] * r[2]) * (r[1] * r[3]); \
            for (; i < n; i++) *out *= a[i]; } }
    PRODUCTS(products_f, float)
    PRODUCTS(products_d, double)
    """
    void clenshaw(const double *a, double *out, Count n, const double *c, Count many) noexcept nogil
    void ratios(const double *a, double *out, Count n, const double *p, const double *q, Count many) noexcept nogil
    void products_f(const float *a, float *out, Count rows, Count n) noexcept nogil
    void products_d(const double *a, double *out, Count rows, Count n) noexcept nogil
    bint left_over(const float *a, const float *b, Count step, float *out, Count n) noexcept nogil


cdef dict ARRAYS = {}


cdef double *in_array(tuple coefficients) except NULL:
    found = ARRAYS.get(coefficients)
    if found is None:
        found = ARRAYS[coefficients] = np.array(coefficients, np.float64)
    return doubles(found)


def chebyshev(x, tuple coefficients):
    """A Chebyshev series; None for what is no array of float64 in one piece."""
    if kind_of(x) != cnp.NPY_DOUBLE or not cnp.PyArray_NDIM(<cnp.ndarray>x):
        return None
    cdef double *c = in_array(coefficients)
    cdef Count many = len(coefficients)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>x), cnp.PyArray_DIMS(<cnp.ndarray>x), cnp.NPY_DOUBLE)
    cdef double *source = <double *>cnp.PyArray_DATA(<cnp.ndarray>x)
    cdef double *to = <double *>cnp.PyArray_DATA(out)
    with nogil:
        clenshaw(source, to, cnp.PyArray_SIZE(out), c, many)
    return out


def rational(x, tuple above, tuple below):
    """The ratio of two polynomials, the highest powers first; None for what is no array of float64 in one piece."""
    if kind_of(x) != cnp.NPY_DOUBLE or not cnp.PyArray_NDIM(<cnp.ndarray>x):
        return None
    cdef double *top = in_array(above)
    cdef double *bottom = in_array(below)
    cdef Count many = len(above)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>x), cnp.PyArray_DIMS(<cnp.ndarray>x), cnp.NPY_DOUBLE)
    cdef double *source = <double *>cnp.PyArray_DATA(<cnp.ndarray>x)
    cdef double *to = <double *>cnp.PyArray_DATA(out)
    with nogil:
        ratios(source, to, cnp.PyArray_SIZE(out), top, bottom, many)
    return out


cdef float one_left_over(float x, float y) noexcept nogil:
    cdef float r = <float>fmod(x, y)
    if r == 0:
        return copysignf(0, x)
    return r + y if (r < 0) != (y < 0) else r


def remainder(a, b):
    """The remainder with the sign of `b`, an array like `a` or a number of NumPy's; None for anything but float32."""
    cdef float number = 0
    cdef Count i, step = 0
    cdef const float *by = &number
    if kind_of(a) != cnp.NPY_FLOAT or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    if type(b) is np.float32:
        number = b
    elif kind_of(b) == cnp.NPY_FLOAT and cnp.PyArray_SAMESHAPE(<cnp.ndarray>a, <cnp.ndarray>b):
        by, step = <float *>cnp.PyArray_DATA(<cnp.ndarray>b), 1
    else:
        return None
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>a), cnp.PyArray_DIMS(<cnp.ndarray>a), cnp.NPY_FLOAT)
    cdef float *source = <float *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef float *to = <float *>cnp.PyArray_DATA(out)
    with nogil:
        if left_over(source, by, step, to, cnp.PyArray_SIZE(out)):
            for i in range(cnp.PyArray_SIZE(out)):
                to[i] = one_left_over(source[i], by[i * step])
    return out


cdef void extremes(const real *a, real *out, cnp.int64_t *at, Count before, Count n, Count behind, bint largest) noexcept nogil:
    """The latest of the largest, or smallest, so far; nan is both."""
    cdef Count i, j, k, here
    cdef real best
    cdef cnp.int64_t place
    for i in range(before):
        for k in range(behind):
            here = i * n * behind + k
            best, place = a[here], 0
            for j in range(n):
                if a[here] != a[here] or (a[here] >= best if largest else a[here] <= best):
                    best, place = a[here], j
                out[here], at[here] = best, place
                here += behind


def running(a, int dim, bint largest):
    """Running extremes along a dimension, and where each is; None for what is no array of floats in one piece."""
    cdef int kind = kind_of(a), d, ndim = cnp.PyArray_NDIM(<cnp.ndarray>a) if kind >= 0 else 0
    cdef Count before = 1, behind = 1
    dim = dim + ndim if dim < 0 else dim
    if not 0 <= dim < ndim or not cnp.PyArray_SIZE(<cnp.ndarray>a):
        return None
    for d in range(ndim):
        if d < dim:
            before *= cnp.PyArray_DIM(<cnp.ndarray>a, d)
        elif d > dim:
            behind *= cnp.PyArray_DIM(<cnp.ndarray>a, d)
    cdef Count n = cnp.PyArray_DIM(<cnp.ndarray>a, dim)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(<cnp.ndarray>a), kind)
    cdef cnp.ndarray at = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(<cnp.ndarray>a), cnp.NPY_INT64)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    cdef cnp.int64_t *places = <cnp.int64_t *>cnp.PyArray_DATA(at)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            extremes(<float *>source, <float *>to, places, before, n, behind, largest)
        else:
            extremes(<double *>source, <double *>to, places, before, n, behind, largest)
    return out, at


def row_products(a):
    """The product of each row of a matrix of at least 16 columns; None for what is none of floats in one piece."""
    cdef int kind = kind_of(a)
    if kind < 0 or cnp.PyArray_NDIM(<cnp.ndarray>a) != 2 or cnp.PyArray_DIM(<cnp.ndarray>a, 1) < 16:
        return None
    cdef cnp.npy_intp rows = cnp.PyArray_DIM(<cnp.ndarray>a, 0), n = cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(1, &rows, kind)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            products_f(<float *>source, <float *>to, rows, n)
        else:
            products_d(<double *>source, <double *>to, rows, n)
    return out
