# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows of tables: weighted sums of those that belong together, and how far apart two are, in the bits of NumPy's sums."""

cimport numpy as cnp
from libc.math cimport sqrt

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real, within

cnp.import_array()

cdef extern from *:
    """
    #define ADD_ROW(name, real) CLONED static void name(const real *row, real factor, int plain, real *out, ptrdiff_t n) { \
        ptrdiff_t i; \
        if (plain) { ELEMENTS for (i = 0; i < n; i++) out[i] += row[i]; } \
        else { ELEMENTS for (i = 0; i < n; i++) out[i] += row[i] * factor; } }
    ADD_ROW(add_row_f, float)
    ADD_ROW(add_row_d, double)
    /* The sum of |a - b|, or of its squares, in pairs as NumPy adds up rows, or the largest. */
    #define SIZE(d) (kind == 1 ? ((d) < 0 ? -(d) : (d)) : (d) * (d))
    #define APART(name, real) \
        static inline real name##_sum(const real *a, const real *b, ptrdiff_t n, const int kind) { \
            ptrdiff_t i, half; int j; real r[8], sum = 0; \
            if (n < 8) { for (i = 0; i < n; i++) { const real d = a[i] - b[i]; sum += SIZE(d); } return sum; } \
            if (n <= 128) { \
                for (j = 0; j < 8; j++) { const real d = a[j] - b[j]; r[j] = SIZE(d); } \
                for (i = 8; i < n - n % 8; i += 8) \
                    ELEMENTS for (j = 0; j < 8; j++) { const real d = a[i + j] - b[i + j]; r[j] += SIZE(d); } \
                sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
                for (; i < n; i++) { const real d = a[i] - b[i]; sum += SIZE(d); } \
                return sum; } \
            half = n / 2; half -= half % 8; \
            return name##_sum(a, b, half, kind) + name##_sum(a + half, b + half, n - half, kind); } \
        static real name(const real *a, const real *b, ptrdiff_t n, int kind) { \
            ptrdiff_t i; real most = 0; \
            if (kind == 1) return name##_sum(a, b, n, 1); \
            if (kind == 2) return (real)sqrt(name##_sum(a, b, n, 2)); \
            for (i = 0; i < n; i++) { \
                const real d = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]; most = d > most || d != d ? d : most; \
                if (d != d) break; } \
            return most; }
    APART(apart_f, float)
    APART(apart_d, double)
    """
    void add_row_f(const float *row, float factor, bint plain, float *out, Count n) noexcept nogil
    void add_row_d(const double *row, double factor, bint plain, double *out, Count n) noexcept nogil
    float apart_f(const float *a, const float *b, Count n, int kind) noexcept nogil
    double apart_d(const double *a, const double *b, Count n, int kind) noexcept nogil


def add_rows(out, owners, table, indices, factors):
    """Add row `indices[i]` of a table, times `factors[i]` where these are given, to row `owners[i]` of `out`; whether this
    could be done. Places of which there is no row, which were looked for before, are the first ones."""
    cdef int kind = kind_of(out)
    cdef cnp.ndarray to, source, first, second, weights = None
    if kind < 0 or kind_of(table) != kind or (factors is not None and kind_of(factors) != kind):
        return False
    for index in (owners, indices):
        if not cnp.PyArray_CheckExact(index) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>index):
            return False
        if cnp.PyArray_TYPE(<cnp.ndarray>index) != cnp.NPY_INT64:
            return False
    to, source, first, second = out, table, owners, indices
    if cnp.PyArray_NDIM(to) < 1 or cnp.PyArray_NDIM(source) < 1 or not cnp.PyArray_SIZE(to) or not cnp.PyArray_SIZE(source):
        return False
    cdef Count i, there, here, rows = cnp.PyArray_DIM(source, 0), parts = cnp.PyArray_DIM(to, 0)
    cdef Count columns = cnp.PyArray_SIZE(source) // rows, many = cnp.PyArray_SIZE(first)
    if cnp.PyArray_SIZE(to) // parts != columns or cnp.PyArray_SIZE(second) != many:
        return False
    cdef cnp.int64_t *mine = <cnp.int64_t *>cnp.PyArray_DATA(first)
    cdef cnp.int64_t *theirs = <cnp.int64_t *>cnp.PyArray_DATA(second)
    cdef bint plain = factors is None
    cdef void *by = NULL
    if not plain:
        weights = factors
        if cnp.PyArray_SIZE(weights) != many:
            return False
        by = cnp.PyArray_DATA(weights)
    cdef void *read = cnp.PyArray_DATA(source)
    cdef void *written = cnp.PyArray_DATA(to)
    with nogil:
        for i in range(many):
            there, here = within(mine, i, parts) * columns, within(theirs, i, rows) * columns
            if kind == cnp.NPY_FLOAT:
                add_row_f(<float *>read + here, 1 if plain else (<float *>by)[i], plain, <float *>written + there, columns)
            else:
                add_row_d(<double *>read + here, 1 if plain else (<double *>by)[i], plain, <double *>written + there, columns)
    return True


cdef void pairs(const real *a, const real *b, real *out, Count n, Count m, Count k, int kind, bint once_each) noexcept nogil:
    cdef Count i, j, place = 0
    for i in range(n):
        for j in range(i + 1 if once_each else 0, m):
            if real is float:
                out[place] = apart_f(a + i * k, b + j * k, k, kind)
            else:
                out[place] = apart_d(a + i * k, b + j * k, k, kind)
            place += 1


def distances(a, b, double p, bint once_each=False):
    """The p-norms of the differences of rows of two matrices, or of each pair of rows of one; None where p is none of 1, 2
    and infinity, and for other arrays."""
    cdef int kind = kind_of(a), norm = 1 if p == 1 else 2 if p == 2 else 3
    if kind < 0 or kind_of(b) != kind or p not in (1, 2, float("inf")):
        return None
    cdef cnp.ndarray one = a, other = b, out
    if cnp.PyArray_NDIM(one) != 2 or cnp.PyArray_NDIM(other) != 2 or cnp.PyArray_DIM(one, 1) != cnp.PyArray_DIM(other, 1):
        return None
    cdef Count n = cnp.PyArray_DIM(one, 0), m = cnp.PyArray_DIM(other, 0), k = cnp.PyArray_DIM(one, 1)
    cdef cnp.npy_intp[2] shape = [n * (n - 1) // 2 if once_each else n, m]
    out = cnp.PyArray_SimpleNew(1 if once_each else 2, shape, kind)
    cdef void *first = cnp.PyArray_DATA(one)
    cdef void *second = cnp.PyArray_DATA(other)
    cdef void *to = cnp.PyArray_DATA(out)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            pairs(<float *>first, <float *>second, <float *>to, n, m, k, norm, once_each)
        else:
            pairs(<double *>first, <double *>second, <double *>to, n, m, k, norm, once_each)
    return out
