# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Elements at positions: read, and added up where positions repeat, in the order in which they come.

Arrays of float32 or float64 and positions of int64, each in one piece. An array is seen as (before, n, behind) around
the dimension that positions go along.
"""

import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy, memset

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, once, real, within

cnp.import_array()

ctypedef cnp.int64_t Index


cdef inline bint is_index(object a):
    return (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a)
        and cnp.PyArray_TYPE(<cnp.ndarray>a) == cnp.NPY_INT64
    )


cdef extern from *:
    """
    /* Of an index that is negative, or too large, one of both numbers has its highest bit set. */
    CLONED static int below(const npy_int64 *index, npy_intp many, npy_intp n) {
        npy_uint64 bits = 0, last = n - 1;
        npy_intp i;
        for (i = 0; i < many; i++) bits |= (npy_uint64)index[i] | (last - (npy_uint64)index[i]);
        return bits >> 63 == 0; }
    /* How many of these bytes are not 0. */
    CLONED static npy_intp counted(const unsigned char *a, npy_intp many) {
        unsigned int total = 0;
        npy_intp i;
        for (i = 0; i < many; i++) total += a[i] != 0;
        return total; }
    """
    bint below(const Index *index, Count many, Count n) noexcept nogil
    Count counted(const unsigned char *a, Count many) noexcept nogil


def all_below(index, n):
    """Return whether all of an array of int64 are from 0 to n - 1; None where it is another array."""
    if not is_index(index):
        return None
    return below(<Index *>cnp.PyArray_DATA(<cnp.ndarray>index), cnp.PyArray_SIZE(index), n)


cdef bint shapes(cnp.ndarray a, object index, int dim, Count *before, Count *n, Count *many, Count *behind) except -1:
    """The numbers of (before, n, behind) of an array and of (before, many, behind) of positions along `dim`; whether
    these positions are all inside, and one for each element of the other dimensions."""
    cdef int d
    if kind_of(a) < 0 or not is_index(index) or cnp.PyArray_NDIM(a) != cnp.PyArray_NDIM(<cnp.ndarray>index):
        return False
    if not 0 <= dim < cnp.PyArray_NDIM(a):
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
        if behind == 1:
            for j in range(many):
                out[j] = a[within(index, j, n)]
            out += many
            index += many
            a += n
            continue
        for j in range(many):
            for k in range(behind):
                out[k] = a[within(index, k, n) * behind + k]
            out += behind
            index += behind
        a += n * behind


def gather(a, Count dim, index):
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
        if behind == 1:
            for j in range(many):
                out[within(index, j, n)] += values[j]
            values += many
            index += many
            out += n
            continue
        for j in range(many):
            for k in range(behind):
                out[within(index, k, n) * behind + k] += values[k]
            values += behind
            index += behind
        out += n * behind


def scatter_add(out, Count dim, index, values):
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


def scattered(a, Count dim, index, values):
    """A copy of an array with values added to it; None where the arrays are not simple."""
    if kind_of(a) < 0 or kind_of(values) != kind_of(a) or not is_index(index):
        return None
    out = cnp.PyArray_NewCopy(<cnp.ndarray>a, cnp.NPY_CORDER)
    return out if scatter_add(out, dim, index, values) else None


cdef void write(
    real *out, const Index *index, const real *values, Count step, Count before, Count n, Count many, Count behind
) noexcept nogil:
    cdef Count i, j, k
    for i in range(before):
        if behind == 1:
            for j in range(many):
                out[within(index, j, n)] = values[j * step]
            values += many * step
            index += many
            out += n
            continue
        for j in range(many):
            for k in range(behind):
                out[within(index, k, n) * behind + k] = values[k * step]
            values += behind * step
            index += behind
        out += n * behind


def scatter(a, Count dim, index, values):
    """A copy with values, or one number of NumPy's, at positions along `dim`, the last one where they repeat; None where
    the arrays are not simple."""
    cdef Count before, n, many, behind, step = 1
    cdef int kind = kind_of(a)
    cdef float narrow
    cdef double wide
    cdef void *source
    if kind < 0 or not shapes(a, index, dim, &before, &n, &many, &behind):
        return None
    if kind_of(values) == kind and cnp.PyArray_SAMESHAPE(<cnp.ndarray>values, <cnp.ndarray>index):
        source = cnp.PyArray_DATA(<cnp.ndarray>values)
    elif type(values) is (np.float32 if kind == cnp.NPY_FLOAT else np.float64):
        wide = values
        narrow, step = <float>wide, 0
        source = <void *>&narrow if kind == cnp.NPY_FLOAT else <void *>&wide
    else:
        return None
    cdef cnp.ndarray out = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>index)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            write(<float *>target, at, <float *>source, step, before, n, many, behind)
        else:
            write(<double *>target, at, <double *>source, step, before, n, many, behind)
    return out

# ---------------------------------------------------------------- elements that several positions name together


cdef enum:
    DEEPEST = 8


cdef struct Together:
    int depth  # how many dimensions of the array they name
    Count many
    Count length  # bytes of what each names
    Index *index[DEEPEST]
    Count n[DEEPEST]


cdef bint together(object a, object indices, Together *x) except -1:
    """Return whether these are positions of int64 of one shape, for the first dimensions of an array in one piece."""
    cdef int d
    cdef object each, first
    if not cnp.PyArray_CheckExact(a) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a):
        return False
    if cnp.PyArray_TYPE(<cnp.ndarray>a) >= cnp.NPY_OBJECT:
        return False
    x.depth = len(indices)
    if not 0 < x.depth <= min(DEEPEST, cnp.PyArray_NDIM(<cnp.ndarray>a)):
        return False
    first = indices[0]
    x.length = cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>a)):
        if d >= x.depth:
            x.length *= cnp.PyArray_DIM(<cnp.ndarray>a, d)
            continue
        each = indices[d]
        if not is_index(each) or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>first, <cnp.ndarray>each):
            return False
        x.index[d], x.n[d] = <Index *>cnp.PyArray_DATA(<cnp.ndarray>each), cnp.PyArray_DIM(<cnp.ndarray>a, d)
    x.many = cnp.PyArray_SIZE(<cnp.ndarray>first)
    return x.many * x.length > 0


cdef bint placed(const Together *x, Index *places) noexcept nogil:
    """Write the place of each element; return whether all positions, negative ones from the end, are inside."""
    cdef Count i, n
    cdef int d
    cdef Index at
    for d in range(x.depth):
        n = x.n[d]
        for i in range(x.many):
            at = once(x.index[d], i)
            at = at + n if at < 0 else at
            if not 0 <= at < n:
                return False
            places[i] = (places[i] * n if d else 0) + at
    return True


cdef void copy_each(const char *a, char *out, const Index *places, Count many, Count length, bint back) noexcept nogil:
    """From `a` at places to `out` in a row, or back."""
    cdef Count i, to, source
    for i in range(many):
        to, source = places[i] if back else i, i if back else places[i]
        if length == 4:  # one move each, wherever they begin: complex numbers may lie like their parts
            memcpy(out + to * 4, a + source * 4, 4)
        elif length == 8:
            memcpy(out + to * 8, a + source * 8, 8)
        else:
            memcpy(out + to * length, a + source * length, length)


def picked(a, indices):
    """`a[indices]`; None where that is not simple, or a position is outside."""
    cdef Together x
    cdef cnp.npy_intp shape[64]
    cdef int d, ndim
    if not together(a, indices, &x):
        return None
    cdef cnp.ndarray first = indices[0]
    cdef cnp.npy_intp many = x.many
    ndim = cnp.PyArray_NDIM(first)
    if ndim + cnp.PyArray_NDIM(<cnp.ndarray>a) - x.depth > 64:
        return None
    for d in range(ndim):
        shape[d] = cnp.PyArray_DIM(first, d)
    for d in range(x.depth, cnp.PyArray_NDIM(<cnp.ndarray>a)):
        shape[ndim] = cnp.PyArray_DIM(<cnp.ndarray>a, d)
        ndim += 1
    cdef cnp.ndarray places = cnp.PyArray_EMPTY(1, &many, cnp.NPY_INT64, 0)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(ndim, shape, cnp.PyArray_TYPE(<cnp.ndarray>a), 0)
    cdef Index *at = <Index *>cnp.PyArray_DATA(places)
    cdef char *source = <char *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    cdef bint inside
    with nogil:
        inside = placed(&x, at)
        if inside:
            copy_each(source, to, at, x.many, x.length, False)
    return out if inside else None


def put(out, indices, values):
    """`out[indices] = values`, for a value each of the same dtype; False, and nothing done, where that is not simple or a
    position is outside."""
    cdef Together x
    if not together(out, indices, &x) or not cnp.PyArray_CheckExact(values) or out.dtype != values.dtype:
        return False
    if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>values) or values.shape != indices[0].shape + out.shape[x.depth:]:
        return False
    cdef cnp.npy_intp many = x.many
    cdef cnp.ndarray places = cnp.PyArray_EMPTY(1, &many, cnp.NPY_INT64, 0)
    cdef Index *at = <Index *>cnp.PyArray_DATA(places)
    cdef char *to = <char *>cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef char *source = <char *>cnp.PyArray_DATA(<cnp.ndarray>values)
    cdef bint inside
    with nogil:
        inside = placed(&x, at)
        if inside:
            copy_each(source, to, at, x.many, x.length, True)
    return inside


cdef void add_whole(
    real *out, const Index *index, const real *values, Count before, Count n, Count many, Count behind
) noexcept nogil:
    cdef Count i, j, k
    cdef real *to
    for i in range(before):
        for j in range(many):
            to = out + within(index, j, n) * behind
            for k in range(behind):
                to[k] += values[k]
            values += behind
        out += n * behind


def add_slices(out, Count dim, index, values):
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


cdef void note(
    const unsigned char *a, Index *out, Count rows, Count n, Count found, int before, cnp.npy_intp *shape
) noexcept nogil:
    """Write the places of the `found` elements of `rows` rows that are not 0: a line of `out` for each dimension."""
    cdef Count i, k, rest, first, at = 0
    cdef Index *last = out + before * found
    cdef int d
    for i in range(rows):
        first = at
        for k in range(n):
            if at < found:
                last[at] = k
            at += a[k] != 0
        a += n
        rest = i
        for d in range(before - 1, -1, -1):
            for k in range(first, min(at, found)):
                out[d * found + k] = rest % shape[d]
            rest //= shape[d]


def nonzero(a):
    """The positions of what is true in an array of truths in one piece, a row for each dimension."""
    cdef int last
    cdef Count found, n
    cdef cnp.npy_intp[2] shape
    if not (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a)
        and cnp.PyArray_TYPE(<cnp.ndarray>a) == cnp.NPY_BOOL
        and 0 < cnp.PyArray_SIZE(a) < 1 << 31
    ):
        return None
    last = cnp.PyArray_NDIM(<cnp.ndarray>a) - 1
    if last < 0:
        return None
    cdef unsigned char *source = <unsigned char *>cnp.PyArray_DATA(<cnp.ndarray>a)
    found, n = counted(source, cnp.PyArray_SIZE(a)), cnp.PyArray_DIM(<cnp.ndarray>a, last)
    shape[0], shape[1] = last + 1, found
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(2, shape, cnp.NPY_INT64)
    cdef Index *to = <Index *>cnp.PyArray_DATA(out)
    cdef Count rows = cnp.PyArray_SIZE(a) // n
    cdef cnp.npy_intp *sizes = cnp.PyArray_DIMS(<cnp.ndarray>a)
    with nogil:
        note(source, to, rows, n, found, last, sizes)
    return out


def one_hot(a, Count classes):
    """A row of 0, with 1 where the number of `a` says, for each; None where it is no array of int64 in one piece."""
    if not is_index(a):
        return None
    cdef cnp.ndarray out = np.zeros(a.shape + (classes,), np.int64)
    cdef Index *to = <Index *>cnp.PyArray_DATA(out)
    cdef Index *at = <Index *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef Count i, place
    for i in range(cnp.PyArray_SIZE(a)):
        place = once(at, i)
        if 0 <= place < classes:
            to[i * classes + place] = 1
    return out


# ---------------------------------------------------------------- triangles


def triangle(a, Count diagonal, bint lower):
    """Matrices with zeros above (or, if not `lower`, below) a diagonal; None where the array is not simple."""
    cdef int ndim, kind = kind_of(a)
    cdef Count i, rows, columns, start, length, size
    if kind < 0 or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not cnp.PyArray_SIZE(<cnp.ndarray>a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    rows, columns = cnp.PyArray_DIM(<cnp.ndarray>a, ndim - 2), cnp.PyArray_DIM(<cnp.ndarray>a, ndim - 1)
    cdef cnp.ndarray out = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    size = cnp.PyArray_ITEMSIZE(out)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    diagonal = min(max(diagonal, -rows), columns)
    for i in range(cnp.PyArray_SIZE(out) // columns):
        start = i % rows + diagonal + (1 if lower else 0)
        start = min(max(start, 0), columns)
        if lower:
            memset(to + start * size, 0, (columns - start) * size)
        else:
            memset(to, 0, start * size)
        to += columns * size
    return out
