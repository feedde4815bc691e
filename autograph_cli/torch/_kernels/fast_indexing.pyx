# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Elements at positions: read, and added up where positions repeat, in the order in which they come.

Arrays of float32 or float64 and positions of int64, each in one piece. An array is seen as (before, n, behind) around
the dimension that positions go along.
"""

import numpy as np

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()

ctypedef cnp.int64_t Index


cdef inline bint is_index(object a):
    return (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a)
        and cnp.PyArray_TYPE(<cnp.ndarray>a) == cnp.NPY_INT64
    )


cdef bint below(const Index *index, Count many, Count n) noexcept nogil:
    cdef Count i
    cdef cnp.uint64_t most = 0
    for i in range(many):
        most = max(most, <cnp.uint64_t>index[i])
    return many == 0 or most < <cnp.uint64_t>n


def all_below(index, n):
    """Whether all of an array of int64 are from 0 to n - 1; None where it is another array."""
    if not is_index(index):
        return None
    return below(<Index *>cnp.PyArray_DATA(<cnp.ndarray>index), cnp.PyArray_SIZE(index), n)


cdef bint shapes(cnp.ndarray a, object index, int dim, Count *before, Count *n, Count *many, Count *behind) except -1:
    """The numbers of (before, n, behind) of an array and of (before, many, behind) of positions along `dim`; whether
    these positions are all inside, and one for each element of the other dimensions."""
    cdef int d
    if kind_of(a) < 0 or not is_index(index) or cnp.PyArray_NDIM(a) != cnp.PyArray_NDIM(<cnp.ndarray>index):
        return False
    before[0] = behind[0] = 1
    for d in range(cnp.PyArray_NDIM(a)):
        if d == dim:
            continue
        if cnp.PyArray_DIM(a, d) != cnp.PyArray_DIM(<cnp.ndarray>index, d):
            return False
        if d < dim:
            before[0] *= cnp.PyArray_DIM(a, d)
        else:
            behind[0] *= cnp.PyArray_DIM(a, d)
    n[0], many[0] = cnp.PyArray_DIM(a, dim), cnp.PyArray_DIM(<cnp.ndarray>index, dim)
    return below(<Index *>cnp.PyArray_DATA(<cnp.ndarray>index), cnp.PyArray_SIZE(index), n[0])


cdef void read(
    const real *a, const Index *index, real *out, Count before, Count n, Count many, Count behind
) noexcept nogil:
    cdef Count i, j, k
    for i in range(before):
        for j in range(many):
            for k in range(behind):
                out[k] = a[index[k] * behind + k]
            out += behind
            index += behind
        a += n * behind


def gather(a, int dim, index):
    """The elements that positions along `dim` name; None where the arrays are not simple."""
    cdef Count before, n, many, behind
    if not cnp.PyArray_CheckExact(a) or not shapes(a, index, dim, &before, &n, &many, &behind):
        return None
    cdef cnp.ndarray out = np.empty(index.shape, a.dtype)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>index)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            read(<float *>source, at, <float *>target, before, n, many, behind)
        else:
            read(<double *>source, at, <double *>target, before, n, many, behind)
    return out


cdef void add_each(
    real *out, const Index *index, const real *values, Count before, Count n, Count many, Count behind
) noexcept nogil:
    cdef Count i, j, k
    for i in range(before):
        for j in range(many):
            for k in range(behind):
                out[index[k] * behind + k] += values[k]
            values += behind
            index += behind
        out += n * behind


def scatter_add(out, int dim, index, values):
    """Add values at positions along `dim`, one for each; False, and nothing done, where the arrays are not simple."""
    cdef Count before, n, many, behind
    if not cnp.PyArray_CheckExact(out) or not shapes(out, index, dim, &before, &n, &many, &behind):
        return False
    if kind_of(values) != kind_of(out) or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>values, <cnp.ndarray>index):
        return False
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>values)
    cdef void *target = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>index)
    cdef bint narrow = kind_of(out) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            add_each(<float *>target, at, <float *>source, before, n, many, behind)
        else:
            add_each(<double *>target, at, <double *>source, before, n, many, behind)
    return True


cdef void add_whole(
    real *out, const Index *index, const real *values, Count before, Count n, Count many, Count behind
) noexcept nogil:
    cdef Count i, j, k
    cdef real *to
    for i in range(before):
        for j in range(many):
            to = out + index[j] * behind
            for k in range(behind):
                to[k] += values[k]
            values += behind
        out += n * behind


def add_slices(out, int dim, index, values):
    """Add to `out` (before, n, behind) the slices of `values` (before, positions, behind); False, and nothing done, where
    the arrays are not simple."""
    if kind_of(out) < 0 or kind_of(out) != kind_of(values) or not is_index(index):
        return False
    cdef cnp.ndarray to = out
    cdef Count n = cnp.PyArray_DIM(to, dim), many = cnp.PyArray_SIZE(index), before = 1, behind = 1
    cdef int d
    for d in range(cnp.PyArray_NDIM(to)):
        if d < dim:
            before *= cnp.PyArray_DIM(to, d)
        elif d > dim:
            behind *= cnp.PyArray_DIM(to, d)
    if values.shape != out.shape[:dim] + index.shape + out.shape[dim + 1:]:
        return False
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>values)
    cdef void *target = cnp.PyArray_DATA(to)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>index)
    cdef bint narrow = kind_of(out) == cnp.NPY_FLOAT
    if not below(at, many, n):
        return False
    with nogil:
        if narrow:
            add_whole(<float *>target, at, <float *>source, before, n, many, behind)
        else:
            add_whole(<double *>target, at, <double *>source, before, n, many, behind)
    return True


def one_hot(a, Count classes):
    """A row of 0, with 1 where the number of `a` says, for each; None where it is no array of int64 in one piece."""
    if not is_index(a):
        return None
    cdef cnp.ndarray out = np.zeros(a.shape + (classes,), np.int64)
    cdef Index *to = <Index *>cnp.PyArray_DATA(out)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef Count i
    for i in range(cnp.PyArray_SIZE(a)):
        if 0 <= at[i] < classes:
            to[i * classes + at[i]] = 1
    return out
