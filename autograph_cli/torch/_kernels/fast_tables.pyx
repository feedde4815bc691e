# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows of tables: weighted sums of those that belong together, and how far apart two are, in the bits of NumPy's sums."""

cimport numpy as cnp
from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real, within

cnp.import_array()

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>
    #define ADD_ROW(name, real) CLONED static void name(const real *row, real factor, int plain, real *out, ptrdiff_t n) { \
        ptrdiff_t i; \
        if (plain) { ELEMENTS for (i = 0; i < n; i++) out[i] += row[i]; } \
        else { ELEMENTS for (i = 0; i < n; i++) out[i] += row[i] * factor; } }
    ADD_ROW(add_row_f, float)
    ADD_ROW(add_row_d, double)
    /* The sum of |a - b|, or of its squares, in pairs as NumPy adds up rows; the largest of them. */
    #if defined(__GNUC__)
    #define INLINED static inline __attribute__((always_inline))
    #else
    #define INLINED static inline
    #endif
    #define SIZE(x, y) x = a[y] - b[y]; x = kind == 1 ? (x < 0 ? -x : x) : x * x
    #define APART(name, real, bits, largest, infinite) \
        INLINED real name##_part(const real *a, const real *b, ptrdiff_t n, const int kind) { \
            ptrdiff_t i; int j; real r[8], sum = 0; \
            if (n < 8) { for (i = 0; i < n; i++) { real SIZE(d, i); sum += d; } return sum; } \
            for (j = 0; j < 8; j++) { real SIZE(d, j); r[j] = d; } \
            for (i = 8; i < n - n % 8; i += 8) UNROLLED for (j = 0; j < 8; j++) { real SIZE(d, i + j); r[j] += d; } \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
            for (; i < n; i++) { real SIZE(d, i); sum += d; } \
            return sum; } \
        static real name##_long(const real *a, const real *b, ptrdiff_t n, int kind) { \
            const ptrdiff_t half = n / 2 - n / 2 % 8; \
            if (n <= 128) return kind == 1 ? name##_part(a, b, n, 1) : name##_part(a, b, n, 2); \
            return name##_long(a, b, half, kind) + name##_long(a + half, b + half, n - half, kind); } \
        /* The bits of numbers without their signs are in the order of the numbers, and those of nan come last. */ \
        INLINED real name##_most(const real *a, const real *b, ptrdiff_t n, const int skip) { \
            ptrdiff_t i; bits most = 0; real out; \
            for (i = 0; i < n; i++) { \
                const real d = a[i] - b[i]; bits found; memcpy(&found, &d, sizeof d); found &= largest; \
                if (skip) found = found > infinite ? 0 : found; \
                most = found > most ? found : most; } \
            memcpy(&out, &most, sizeof out); return out; } \
        CLONED static void name(const real *a, const real *first, real *out, ptrdiff_t n, ptrdiff_t m, ptrdiff_t k, int kind, \
                                int once_each) { \
            ptrdiff_t i, j; \
            for (i = 0; i < n; i++, a += k) for (j = once_each ? i + 1 : 0; j < m; j++, out++) { \
                const real *b = first + j * k; \
                if (kind == 3) *out = once_each ? name##_most(a, b, k, 0) : name##_most(a, b, k, 1); \
                else if (k > 128) *out = name##_long(a, b, k, kind); \
                else *out = kind == 1 ? name##_part(a, b, k, 1) : name##_part(a, b, k, 2); \
                if (kind == 2) *out = (real)sqrt(*out); } }
    APART(pairs_f, float, int32_t, INT32_MAX, 0x7f800000)
    APART(pairs_d, double, int64_t, INT64_MAX, 0x7ff0000000000000)
    """
    void add_row_f(const float *row, float factor, bint plain, float *out, Count n) noexcept nogil
    void add_row_d(const double *row, double factor, bint plain, double *out, Count n) noexcept nogil
    void pairs_f(const float *a, const float *b, float *out, Count n, Count m, Count k, int kind, bint once_each) noexcept nogil
    void pairs_d(const double *a, const double *b, double *out, Count n, Count m, Count k, int kind, bint once_each) noexcept nogil


cdef struct Places:
    cnp.int64_t *owners
    cnp.int64_t *indices
    Count many
    Count parts
    Count rows
    Count columns


cdef bint placed(object out, object owners, object table, object indices, Places *x):
    """Return true for tables of one dtype and width, and as many owners as indices, all in one piece."""
    cdef int kind = kind_of(out)
    if kind < 0 or kind_of(table) != kind:
        return False
    for index in (owners, indices):
        if not cnp.PyArray_CheckExact(index) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>index):
            return False
        if cnp.PyArray_TYPE(<cnp.ndarray>index) != cnp.NPY_INT64:
            return False
    if not (cnp.PyArray_NDIM(<cnp.ndarray>out) and cnp.PyArray_SIZE(out) and cnp.PyArray_NDIM(<cnp.ndarray>table)):
        return False
    x.owners, x.indices = <cnp.int64_t *>cnp.PyArray_DATA(<cnp.ndarray>owners), <cnp.int64_t *>cnp.PyArray_DATA(<cnp.ndarray>indices)
    x.many, x.parts, x.rows = cnp.PyArray_SIZE(owners), cnp.PyArray_DIM(<cnp.ndarray>out, 0), cnp.PyArray_DIM(<cnp.ndarray>table, 0)
    x.columns = cnp.PyArray_SIZE(out) // x.parts
    return x.rows and cnp.PyArray_SIZE(table) == x.rows * x.columns and cnp.PyArray_SIZE(indices) == x.many


def add_rows(out, owners, table, indices, factors):
    """Add row `indices[i]` of a table, times `factors[i]` where these are given, to row `owners[i]` of `out`; None where this
    could not be done. Places of which there is no row, which were looked for before, are the first ones."""
    cdef Places x
    cdef Count i, there, here
    cdef bint plain = factors is None, narrow = kind_of(out) == cnp.NPY_FLOAT
    if not placed(out, owners, table, indices, &x):
        return None
    if not plain and (kind_of(factors) != kind_of(out) or cnp.PyArray_SIZE(factors) != x.many):
        return None
    cdef void *by = NULL if plain else cnp.PyArray_DATA(<cnp.ndarray>factors)
    cdef void *read = cnp.PyArray_DATA(<cnp.ndarray>table)
    cdef void *written = cnp.PyArray_DATA(<cnp.ndarray>out)
    with nogil:
        for i in range(x.many):
            there, here = within(x.owners, i, x.parts) * x.columns, within(x.indices, i, x.rows) * x.columns
            if narrow:
                add_row_f(<float *>read + here, 1 if plain else (<float *>by)[i], plain, <float *>written + there, x.columns)
            else:
                add_row_d(<double *>read + here, 1 if plain else (<double *>by)[i], plain, <double *>written + there, x.columns)
    return True


cdef void exceed(Places *x, const real *table, real *out, cnp.int64_t *positions) noexcept nogil:
    cdef Count i, j, there, here, last = -1
    cdef bint first
    for i in range(x.many):
        there, here = within(x.owners, i, x.parts), within(x.indices, i, x.rows)
        first, last = there != last, there
        for j in range(x.columns):
            if first or table[here * x.columns + j] > out[there * x.columns + j]:
                out[there * x.columns + j] = table[here * x.columns + j]
                positions[there * x.columns + j] = here


def largest_rows(out, positions, owners, table, indices):
    """Put into each row of `out` the largest of the rows of a table that belong to it, which follow each other, and into
    `positions` which row each number is from, the first of equal ones; return whether this could be done. Nan is larger
    than nothing, and where it comes first, stays."""
    cdef Places x
    if not placed(out, owners, table, indices, &x):
        return False
    cdef void *read = cnp.PyArray_DATA(<cnp.ndarray>table)
    cdef void *written = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef cnp.int64_t *at = <cnp.int64_t *>cnp.PyArray_DATA(<cnp.ndarray>positions)
    cdef bint narrow = kind_of(out) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            exceed(&x, <float *>read, <float *>written, at)
        else:
            exceed(&x, <double *>read, <double *>written, at)
    return True


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
    cdef void *to = cnp.PyArray_DATA(<cnp.ndarray>out)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            pairs_f(<float *>first, <float *>second, <float *>to, n, m, k, norm, once_each)
        else:
            pairs_d(<double *>first, <double *>second, <double *>to, n, m, k, norm, once_each)
    return out
