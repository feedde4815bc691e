# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over the rows of a matrix, with a number for each row: what softmax and the normalizations are made of.

Each element is computed by the operations that `softmax.py` and `normalization.py` have NumPy do one after the other,
rounded one by one. Exponentials and long sums are NumPy's and BLAS's there as well as here. Arrays of float32 or
float64, each in one piece.
"""

import functools

import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, sqrt, sqrtf
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_in_rows, kind_of, number, numbers, once, real

from .matrices import lapack

cnp.import_array()

cdef extern from *:
    """
    #include <stddef.h>
    /* The largest number of a row: 16 side by side, without branches. */
    #define LARGEST(name, real) static real name(const real *a, ptrdiff_t n) { \
        real top[16], most = a[0]; \
        ptrdiff_t i = 1, k; \
        if (n >= 16) { \
            for (k = 0; k < 16; k++) top[k] = a[k]; \
            for (i = 16; i + 16 <= n; i += 16) for (k = 0; k < 16; k++) top[k] = a[i + k] > top[k] ? a[i + k] : top[k]; \
            for (k = 0; k < 8; k++) top[k] = top[k + 8] > top[k] ? top[k + 8] : top[k]; \
            for (k = 0; k < 4; k++) top[k] = top[k + 4] > top[k] ? top[k + 4] : top[k]; \
            for (k = 0; k < 4; k++) most = top[k] > most ? top[k] : most; } \
        for (; i < n; i++) most = a[i] > most ? a[i] : most; \
        return most; }
    LARGEST(largest_f, float)
    LARGEST(largest_d, double)
    /* Each row less its largest number, or a number of its own; divided by that; less as many times another row. */
    #define EACH_ROW(name, real, ...) CLONED static void name(const real *a, const real *b, const real *by, real *out, \
        ptrdiff_t many, ptrdiff_t n) { ptrdiff_t i, j; \
        for (i = 0; i < many; i++, a += n, b += n, out += n) { __VA_ARGS__ } }
    #define ROWS(name, each, ...) EACH_ROW(name##_f, float, const float x = each(f); ELEMENTS for (j = 0; j < n; j++) { __VA_ARGS__ }) \
        EACH_ROW(name##_d, double, const double x = each(d); ELEMENTS for (j = 0; j < n; j++) { __VA_ARGS__ })
    #define TOP(tag) largest_##tag(a, n)
    #define OWN(tag) by[i]
    ROWS(center, TOP, out[j] = a[j] - x;)
    ROWS(divide, OWN, out[j] = a[j] / x;)
    ROWS(subtract, OWN, out[j] = a[j] - x;)
    ROWS(less_scaled, OWN, out[j] = a[j] - b[j] * x;)
    """
    float largest_f(const float *a, Count n) noexcept nogil
    double largest_d(const double *a, Count n) noexcept nogil
    void center_f(const float *, const float *, const float *, float *, Count, Count) noexcept nogil
    void center_d(const double *, const double *, const double *, double *, Count, Count) noexcept nogil
    void divide_f(const float *, const float *, const float *, float *, Count, Count) noexcept nogil
    void divide_d(const double *, const double *, const double *, double *, Count, Count) noexcept nogil
    void subtract_f(const float *, const float *, const float *, float *, Count, Count) noexcept nogil
    void subtract_d(const double *, const double *, const double *, double *, Count, Count) noexcept nogil
    void less_scaled_f(const float *, const float *, const float *, float *, Count, Count) noexcept nogil
    void less_scaled_d(const double *, const double *, const double *, double *, Count, Count) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    cnp.ndarray PyArray_NewLikeArray(cnp.ndarray prototype, cnp.NPY_ORDER order, void *descr, int subok)


cdef inline cnp.ndarray like(cnp.ndarray a):
    return PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0)


cdef inline cnp.ndarray a_number_each(cnp.ndarray a):
    """An array for one number of each row, which is of length 1."""
    cdef cnp.npy_intp shape[64]
    cdef int i, last = cnp.PyArray_NDIM(a) - 1
    for i in range(last):
        shape[i] = cnp.PyArray_DIM(a, i)
    shape[last] = 1
    return cnp.PyArray_SimpleNew(last + 1, shape, cnp.PyArray_TYPE(a))


cdef inline Count length(cnp.ndarray a) noexcept:
    return cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)


cdef inline void *data(cnp.ndarray a) noexcept:
    return cnp.PyArray_DATA(a)

# ---------------------------------------------------------------- sums and maxima


cdef real pairwise(const real *a, Count n) noexcept nogil:
    """The sum in the order of NumPy's `add.reduce` along a row."""
    cdef Count i, half
    cdef real r[8]
    cdef real total
    if n < 8:
        total = 0
        for i in range(n):
            total += a[i]
        return total
    if n <= 128:
        for i in range(8):
            r[i] = a[i]
        for half in range(8, n - n % 8, 8):
            for i in range(8):
                r[i] += a[half + i]
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        for i in range(n - n % 8, n):
            total += a[i]
        return total
    half = n // 2
    half -= half % 8
    return pairwise(a, half) + pairwise(a + half, n - half)


cdef void sum_rows(const real *a, real *out, Count many, Count n) noexcept nogil:
    cdef Count i
    for i in range(many):
        out[i] = pairwise(a + i * n, n) + 0


def row_sums(cnp.ndarray a):
    """`add.reduce(a, axis=-1, keepdims=True)`; None without elements."""
    if not cnp.PyArray_SIZE(a):
        return None
    cdef cnp.ndarray out = a_number_each(a)
    cdef Count n = length(a), many = cnp.PyArray_SIZE(out)
    if kind_of(a) == cnp.NPY_FLOAT:
        sum_rows(<float *>data(a), <float *>data(out), many, n)
    else:
        sum_rows(<double *>data(a), <double *>data(out), many, n)
    return out

# ---------------------------------------------------------------- softmax


cdef inline void center(const real *a, real *out, Count many, Count n) noexcept nogil:
    """Each element less the largest number of its row. What is no number is so still: the sum of the row has it."""
    if real is float:
        center_f(a, a, NULL, out, many, n)
    else:
        center_d(a, a, NULL, out, many, n)


cdef inline void divide(real *a, const real *by, Count many, Count n) noexcept nogil:
    if real is float:
        divide_f(a, a, by, a, many, n)
    else:
        divide_d(a, a, by, a, many, n)


cdef inline void subtract(const real *a, const real *by, real *out, Count many, Count n) noexcept nogil:
    if real is float:
        subtract_f(a, a, by, out, many, n)
    else:
        subtract_d(a, a, by, out, many, n)


cdef inline void less_scaled(const real *a, const real *b, const real *by, real *out, Count many, Count n) noexcept nogil:
    """`a - b * by`."""
    if real is float:
        less_scaled_f(a, b, by, out, many, n)
    else:
        less_scaled_d(a, b, by, out, many, n)

# ---------------------------------------------------------------- normalizations


cdef void deviate(real *squares, real count, real eps, Count many) noexcept nogil:
    """1 / sqrt(squares / count + eps), in place."""
    cdef Count i
    cdef real x
    for i in range(many):
        x = squares[i] / count + eps
        squares[i] = 1 / (sqrtf(x) if real is float else sqrt(x))


cdef void scale(
    real *a, const real *by, const real *weight, const real *bias, Count many, Count n
) noexcept nogil:
    """`a * by * weight + bias`, in place; the last two have a number for each column, or are NULL."""
    cdef Count i, j
    cdef real each
    for i in range(many):
        each = by[i]
        if weight != NULL and bias != NULL:
            for j in range(n):
                a[j] = a[j] * each * weight[j] + bias[j]
        elif weight != NULL:
            for j in range(n):
                a[j] = a[j] * each * weight[j]
        else:
            for j in range(n):
                a[j] = a[j] * each
            if bias != NULL:
                for j in range(n):
                    a[j] = a[j] + bias[j]
        a += n


cdef void back(
    const real *scaled, const real *normal, const real *products, const real *sums, const real *rstd, real *out,
    real count, Count many, Count n
) noexcept nogil:
    """`(scaled - (normal * (products / count) + sums / count)) * rstd`."""
    cdef Count i, j
    cdef real along, across, each
    for i in range(many):
        along, across, each = products[i] / count, sums[i] / count, rstd[i]
        for j in range(n):
            out[j] = (scaled[j] - (normal[j] * along + across)) * each
        scaled += n
        normal += n
        out += n


include "fast_layers.pxi"
include "fast_softmax.pxi"
include "fast_normalizations.pxi"
include "fast_normal_gradients.pxi"
include "fast_gates.pxi"
