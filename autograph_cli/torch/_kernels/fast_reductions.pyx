# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums, means, variances and norms of a few thousand numbers, in the order in which NumPy's `add.reduce` adds them up.

Arrays of float32 or float64 in one piece, over all dimensions, one, or the last ones; None for anything else.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport sqrt, sqrtf
from libc.string cimport memcpy

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()

cdef extern from *:
    """
    #include <stddef.h>
    /* The sum of a row: of eight sums side by side, and of long rows that of their halves. */
    #define ROW(name, real, TERM) CLONED static real name##_short(const real *a, ptrdiff_t n, real m) { \\
            ptrdiff_t i, k; real r[8], total = 0; (void)m; \\
            if (n < 8) { for (i = 0; i < n; i++) total += TERM(a[i]); return total; } \\
            for (k = 0; k < 8; k++) r[k] = TERM(a[k]); \\
            for (i = 8; i < n - n % 8; i += 8) for (k = 0; k < 8; k++) r[k] += TERM(a[i + k]); \\
            total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \\
            for (; i < n; i++) total += TERM(a[i]); \\
            return total; } \\
        static real name(const real *a, ptrdiff_t n, real m) { \\
            ptrdiff_t half = n / 2; \\
            if (n <= 128) return name##_short(a, n, m); \\
            half -= half % 8; \\
            return name(a, half, m) + name(a + half, n - half, m); }
    /* The sums of columns, one row after the other. */
    #define COLUMNS(name, real, TERM) CLONED static void name(const real *a, const real *means, real *out, ptrdiff_t n, \\
            ptrdiff_t behind) { ptrdiff_t j, k; \\
            for (k = 0; k < behind; k++) out[k] = 0; \\
            for (j = 0; j < n; j++, a += behind) ELEMENTS for (k = 0; k < behind; k++) { \\
                const real m = means[k]; (void)m; out[k] += TERM(a[k]); } }
    #define ITSELF(x) (x)
    #define APART(x) (((x) - m) * ((x) - m))
    ROW(row_f, float, ITSELF)
    ROW(row_d, double, ITSELF)
    ROW(row_apart_f, float, APART)
    ROW(row_apart_d, double, APART)
    COLUMNS(columns_f, float, ITSELF)
    COLUMNS(columns_d, double, ITSELF)
    COLUMNS(columns_apart_f, float, APART)
    COLUMNS(columns_apart_d, double, APART)
    """
    float row_f(const float *, Count, float) noexcept nogil
    double row_d(const double *, Count, double) noexcept nogil
    float row_apart_f(const float *, Count, float) noexcept nogil
    double row_apart_d(const double *, Count, double) noexcept nogil
    void columns_f(const float *, const float *, float *, Count, Count) noexcept nogil
    void columns_d(const double *, const double *, double *, Count, Count) noexcept nogil
    void columns_apart_f(const float *, const float *, float *, Count, Count) noexcept nogil
    void columns_apart_d(const double *, const double *, double *, Count, Count) noexcept nogil

cdef enum:
    MOST = 8192  # elements: of more NumPy adds up one buffer after the other
    SUM
    MEAN
    SPREAD
    SIZE


cdef inline real row(const real *a, Count n, real m, bint apart) noexcept nogil:
    if real is float:
        return (row_apart_f(a, n, m) if apart else row_f(a, n, m)) + 0
    else:
        return (row_apart_d(a, n, m) if apart else row_d(a, n, m)) + 0


cdef inline void columns(const real *a, const real *m, real *out, Count n, Count behind, bint apart) noexcept nogil:
    if real is float:
        (columns_apart_f if apart else columns_f)(a, m, out, n, behind)
    else:
        (columns_apart_d if apart else columns_d)(a, m, out, n, behind)


cdef void fold(
    const real *a, real *means, real *out, Count before, Count n, Count behind, int what, real freedom
) noexcept nogil:
    """`means` has place for a mean of each column; it holds zeros where none are taken."""
    cdef Count i, k
    cdef real mean, many = <real>n
    for i in range(before):
        if behind == 1:
            mean = row(a, n, <real>0, False) / many if what == SPREAD else 0
            out[i] = row(a, n, mean, what == SPREAD or what == SIZE)
        else:
            if what == SPREAD:
                columns(a, means, means, n, behind, False)
                for k in range(behind):
                    means[k] = means[k] / many
            columns(a, means, out + i * behind, n, behind, what == SPREAD or what == SIZE)
        a += n * behind
    if what == MEAN or what == SPREAD:
        for i in range(before * behind):
            out[i] = out[i] / (many if what == MEAN else freedom)


cdef void root(real *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        if real is float:
            out[i] = sqrtf(out[i])
        else:
            out[i] = sqrt(out[i])


cdef bint around(cnp.ndarray a, object dims, Count *before, Count *n, Count *behind) except -1:
    """The numbers of (before, n, behind) of an array around dimensions side by side; whether they are."""
    cdef int d, first = 0, ndim = cnp.PyArray_NDIM(a), last = ndim
    if ndim == 0:
        return False
    if dims is not None:
        if not isinstance(dims, tuple) or not dims:
            return False
        first = dims[0]
        first = first + ndim if first < 0 else first
        last = first + <int>len(dims)
        if not 0 <= first < last <= ndim or (last - first > 1 and (last != ndim or tuple(dims) != tuple(range(first, ndim)))):
            return False
    before[0] = n[0] = behind[0] = 1
    for d in range(ndim):
        if d < first:
            before[0] *= cnp.PyArray_DIM(a, d)
        elif d < last:
            n[0] *= cnp.PyArray_DIM(a, d)
        else:
            behind[0] *= cnp.PyArray_DIM(a, d)
    return True


cdef cnp.ndarray room_for(cnp.ndarray a, object dims, bint keepdim):
    """An array for what is left of dimensions side by side."""
    cdef cnp.npy_intp shape[64]
    cdef int d, left = 0, ndim = cnp.PyArray_NDIM(a), first = 0, last = ndim
    if dims is not None:
        first = dims[0]
        first = first + ndim if first < 0 else first
        last = first + <int>len(dims)
    for d in range(ndim):
        if keepdim or not first <= d < last:
            shape[left] = 1 if first <= d < last else cnp.PyArray_DIM(a, d)
            left += 1
    return cnp.PyArray_EMPTY(left, shape, cnp.PyArray_TYPE(a), 0)


cdef inline bint in_planes(cnp.ndarray a, object dims, Count n) except -1:
    """Return whether these are short rows of several dimensions: NumPy adds them up so, however many they are."""
    return dims is not None and 1 < len(dims) < cnp.PyArray_NDIM(a) and n <= MOST


cdef object folded(object a, object dims, bint keepdim, int what, double correction, bint rooted):
    cdef int kind = kind_of(a)
    cdef Count before, n, behind
    cdef double freedom
    if kind < 0 or not around(a, dims, &before, &n, &behind) or not before * n * behind:
        return None
    if before * n * behind > MOST and not in_planes(a, dims, n):
        return None
    freedom = <double>n - correction
    if what == SPREAD and not freedom > 0:
        return None
    cdef cnp.ndarray out = room_for(a, dims, keepdim)
    cdef cnp.npy_intp room = behind
    cdef cnp.ndarray means = cnp.PyArray_ZEROS(1, &room, kind, 0) if behind > 1 else out
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    cdef void *middle = cnp.PyArray_DATA(means)
    if kind == cnp.NPY_FLOAT:
        fold(<float *>source, <float *>middle, <float *>to, before, n, behind, what, <float>freedom)
        if rooted:
            root(<float *>to, before * behind)
    else:
        fold(<double *>source, <double *>middle, <double *>to, before, n, behind, what, freedom)
        if rooted:
            root(<double *>to, before * behind)
    return out if cnp.PyArray_NDIM(out) else out[()]


def total(a, dims, bint keepdim):
    """`add.reduce`."""
    return folded(a, dims, keepdim, SUM, 0, False)


def mean(a, dims, bint keepdim):
    """Their sum, divided by how many there are."""
    return folded(a, dims, keepdim, MEAN, 0, False)


def var(a, dims, double correction, bint keepdim):
    """The sum of the squares of their distances from their mean, divided by how many more than `correction` they are."""
    return folded(a, dims, keepdim, SPREAD, correction, False)


def std(a, dims, double correction, bint keepdim):
    """The square root of `var`."""
    return folded(a, dims, keepdim, SPREAD, correction, True)


def norm(a, dims, bint keepdim):
    """The square root of the sum of their squares."""
    return folded(a, dims, keepdim, SIZE, 0, True)

# ---------------------------------------------------------------- extremes

ctypedef void (*Pairs)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil

cdef extern from *:
    """
    #include "numpy/ufuncobject.h"
    /* The loop of one of NumPy's functions of two numbers of a kind. */
    static PyUFuncGenericFunction pairs_of(PyObject *function, char kind) {
        PyUFuncObject *u = (PyUFuncObject *)function;
        int i;
        for (i = 0; i < u->ntypes && u->nargs == 3; i++)
            if (u->types[3 * i] == kind && u->types[3 * i + 1] == kind && u->types[3 * i + 2] == kind)
                return u->functions[i];
        return NULL;
    }
    """
    Pairs pairs_of(object function, char kind)

cdef Pairs LARGER32 = pairs_of(np.maximum, cnp.NPY_FLOAT), LARGER64 = pairs_of(np.maximum, cnp.NPY_DOUBLE)
cdef Pairs LESS32 = pairs_of(np.minimum, cnp.NPY_FLOAT), LESS64 = pairs_of(np.minimum, cnp.NPY_DOUBLE)


def extreme(a, dims, bint keepdim, bint largest):
    """`maximum.reduce`, or `minimum.reduce`: NumPy's own loop, along each row or of columns row by row."""
    cdef int kind = kind_of(a)
    cdef Count before, n, behind, i, j, row
    if kind < 0 or not around(a, dims, &before, &n, &behind) or not 0 < before * n * behind <= MOST:
        return None
    cdef Pairs pairs
    if kind == cnp.NPY_FLOAT:
        pairs = LARGER32 if largest else LESS32
    else:
        pairs = LARGER64 if largest else LESS64
    if pairs == NULL:
        return None
    cdef cnp.ndarray out = room_for(a, dims, keepdim)
    cdef cnp.npy_intp size = cnp.PyArray_ITEMSIZE(out), many = behind
    cdef cnp.npy_intp[3] steps = [size, size, size]
    cdef char *args[3]
    cdef char *source = <char *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    row = behind * size
    if behind == 1:
        many, steps[0], steps[2] = n - 1, 0, 0
    with nogil:
        for i in range(before):
            memcpy(to, source, row)
            for j in range(1, n if behind > 1 or n == 1 else 2):
                args[0], args[1], args[2] = to, source + j * row, to
                pairs(args, &many, steps, NULL)
            source += n * row
            to += row
    return out if cnp.PyArray_NDIM(out) else out[()]
