# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Along a dimension: running sums and products, and elements by their order where no two of them are equal.

Arrays of float32 or float64 in one piece.
"""

import numpy as np

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()

ctypedef cnp.int64_t Index

cdef enum:
    FEW = 32


cdef void run_along(const real *a, real *out, Count rows, Count n, bint product) noexcept nogil:
    """Four rows at a time, whose sums do not wait for each other."""
    cdef Count i, j, k, many
    cdef real last[4]
    for i in range(0, rows, 4):
        many = min(4, rows - i)
        for k in range(many):
            last[k] = out[k * n] = a[k * n]
        if many == 4 and not product:
            for j in range(1, n):
                for k in range(4):
                    last[k] = last[k] + a[k * n + j]
                    out[k * n + j] = last[k]
        else:
            for j in range(1, n):
                for k in range(many):
                    last[k] = last[k] * a[k * n + j] if product else last[k] + a[k * n + j]
                    out[k * n + j] = last[k]
        a += 4 * n
        out += 4 * n


cdef void run_on(const real *a, real *out, Count before, Count n, Count behind, bint product) noexcept nogil:
    cdef Count i, j, k
    if behind == 1:
        run_along(a, out, before, n, product)
        return
    for i in range(before):
        for k in range(behind):
            out[k] = a[k]
        for j in range(1, n):
            a += behind
            out += behind
            if product:
                for k in range(behind):
                    out[k] = out[k - behind] * a[k]
            else:
                for k in range(behind):
                    out[k] = out[k - behind] + a[k]
        a += behind
        out += behind


def accumulated(a, int dim, bint product):
    """Running sums, or products, along a dimension; None where the array is not simple."""
    if kind_of(a) < 0 or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    cdef cnp.ndarray out = np.empty_like(a)
    cdef Count before = 1, behind = 1, n
    cdef int d, ndim = cnp.PyArray_NDIM(out)
    dim = dim + ndim if dim < 0 else dim
    if not 0 <= dim < ndim or cnp.PyArray_SIZE(out) == 0:
        return None
    n = cnp.PyArray_DIM(out, dim)
    for d in range(ndim):
        if d < dim:
            before *= cnp.PyArray_DIM(out, d)
        elif d > dim:
            behind *= cnp.PyArray_DIM(out, d)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            run_on(<float *>source, <float *>target, before, n, behind, product)
        else:
            run_on(<double *>source, <double *>target, before, n, behind, product)
    return out


cdef bint first_few(
    const real *a, real *values, Index *positions, Count rows, Count n, Count k, bint largest
) noexcept nogil:
    """The first k of each row in falling or rising order; whether these and the next one are all different numbers."""
    cdef real best[FEW + 1]
    cdef Index at[FEW + 1]
    cdef Count i, j, m, held, wanted = min(k + 1, n)
    cdef real x, sign = 1 if largest else -1
    for i in range(rows):
        held = 0
        for j in range(n):
            x = a[j] * sign
            if x != x:
                return False
            if held == wanted and x < best[held - 1]:
                continue
            if held < wanted:
                held += 1
            elif x == best[held - 1]:
                if held > k:
                    continue
                return False
            m = held - 1
            while m > 0 and best[m - 1] < x:
                best[m], at[m] = best[m - 1], at[m - 1]
                m -= 1
            best[m], at[m] = x, j
        for j in range(1, held):
            if best[j] == best[j - 1]:
                return False
        for j in range(k):
            values[j], positions[j] = a[at[j]], at[j]
        a += n
        values += k
        positions += k
    return True


def topk(a, Count k, bint largest):
    """The k largest (or smallest) of each row in order, and where they are; None where they are many, the array is not
    simple, or a tie lets several answers be right."""
    if kind_of(a) < 0 or not 0 < k <= FEW or not cnp.PyArray_NDIM(<cnp.ndarray>a) or not cnp.PyArray_SIZE(a):
        return None
    cdef Count n = cnp.PyArray_DIM(<cnp.ndarray>a, cnp.PyArray_NDIM(<cnp.ndarray>a) - 1), rows = cnp.PyArray_SIZE(a) // n
    if k > n:
        return None
    cdef cnp.ndarray values = np.empty(a.shape[:-1] + (k,), a.dtype), positions = np.empty(a.shape[:-1] + (k,), np.int64)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(values)
    cdef Index *at = <Index *>cnp.PyArray_DATA(positions)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT, done
    with nogil:
        if narrow:
            done = first_few(<float *>source, <float *>target, at, rows, n, k, largest)
        else:
            done = first_few(<double *>source, <double *>target, at, rows, n, k, largest)
    return (values, positions) if done else None


cdef real select(real *a, Count n, Count k) noexcept nogil:
    """The element that a sort would put at place k; the row is reordered."""
    cdef Count low = 0, high = n - 1, i, j
    cdef real pivot, held
    while low < high:
        pivot = a[low + (high - low) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                held = a[i]
                a[i] = a[j]
                a[j] = held
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return a[k]


cdef bint ranked(const real *a, Index *positions, real *between, Count rows, Count n, Count k) noexcept nogil:
    cdef Count i, j, found
    cdef real wanted
    for i in range(rows):
        for j in range(n):
            if a[j] != a[j]:
                return False
            between[j] = a[j]
        wanted = select(between, n, k)
        found = 0
        for j in range(n):
            if a[j] == wanted:
                positions[i] = j
                found += 1
        if found != 1:
            return False
        a += n
    return True


def kth(a, Count k):
    """Where in each row the element is that a sort would put at place k, (..., 1); None where the array is not simple,
    one is no number, or others equal that element."""
    if kind_of(a) < 0 or not cnp.PyArray_NDIM(<cnp.ndarray>a) or not cnp.PyArray_SIZE(a):
        return None
    cdef Count n = cnp.PyArray_DIM(<cnp.ndarray>a, cnp.PyArray_NDIM(<cnp.ndarray>a) - 1), rows = cnp.PyArray_SIZE(a) // n
    cdef cnp.ndarray positions = np.empty(a.shape[:-1] + (1,), np.int64), between = np.empty(n, a.dtype)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *copy = cnp.PyArray_DATA(between)
    cdef Index *at = <Index *>cnp.PyArray_DATA(positions)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT, done
    with nogil:
        if narrow:
            done = ranked(<float *>source, at, <float *>copy, rows, n, k)
        else:
            done = ranked(<double *>source, at, <double *>copy, rows, n, k)
    return positions if done else None
