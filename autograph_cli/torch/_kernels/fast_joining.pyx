# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Arrays joined along a dimension: elements of any kind are moved in runs, so all arrays lie in one piece.

An array is seen as (before, run) around the dimension: `run` bytes of each follow one another in what they are joined to.
"""

cimport numpy as cnp
from libc.string cimport memcpy

from autograph_cli.torch._kernels.fast_arrays cimport Count

cnp.import_array()

cdef extern from *:
    """
    #define HOLDS_OBJECTS(a) PyDataType_REFCHK(PyArray_DESCR(a))
    static PyObject *empty_like(PyArrayObject *a, int rank, npy_intp *shape) {
        Py_INCREF(PyArray_DESCR(a));
        return PyArray_Empty(rank, shape, PyArray_DESCR(a), 0);
    }
    """
    bint HOLDS_OBJECTS(cnp.ndarray a)
    object empty_like(cnp.ndarray a, int rank, cnp.npy_intp *shape)

DEF MOST = 32


cdef bint in_one_piece(object a):
    return (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a)
        and not HOLDS_OBJECTS(<cnp.ndarray>a)
        and cnp.PyArray_NDIM(<cnp.ndarray>a) < MOST
    )


cdef Count product(cnp.npy_intp *shape, int start, int end) noexcept nogil:
    cdef Count found = 1
    cdef int d
    for d in range(start, end):
        found *= shape[d]
    return found


cdef void move(char *to, Count to_step, const char *source, Count source_step, Count run, Count times) noexcept nogil:
    """Copy `run` bytes, `times` over, with these steps between them."""
    cdef Count i
    for i in range(times if run else 0):
        memcpy(to, source, run)
        to += to_step
        source += source_step


def joined(arrays, Count dim=0, bint new=False):
    """Arrays one after the other along a dimension, or along a `new` one there; None where they are not simple."""
    cdef cnp.npy_intp shape[MOST]
    cdef cnp.ndarray first, a, out
    cdef Count before, total, run, width = 0
    cdef char *to
    cdef int d, rank
    for x in arrays:
        if not in_one_piece(x):
            return None
    if not arrays:
        return None
    first = arrays[0]
    rank = cnp.PyArray_NDIM(first)
    if not (0 <= dim < rank or new and dim == rank):
        return None
    for x in arrays:
        a = x
        if cnp.PyArray_DESCR(a) != cnp.PyArray_DESCR(first) or cnp.PyArray_NDIM(a) != rank:
            return None
        for d in range(rank):
            if cnp.PyArray_DIM(a, d) != cnp.PyArray_DIM(first, d) and (new or d != dim):
                return None
        width += 1 if new else cnp.PyArray_DIM(a, dim)
    for d in range(rank):
        shape[d + 1 if new and d >= dim else d] = cnp.PyArray_DIM(first, d)
    shape[dim] = width
    rank += new
    out = empty_like(first, rank, shape)
    before = product(shape, 0, dim)
    total = cnp.PyArray_ITEMSIZE(out) * product(shape, dim, rank)
    to = <char *>cnp.PyArray_DATA(out)
    for x in arrays:
        a = x
        run = cnp.PyArray_NBYTES(a) // before if before else 0
        move(to, total, <char *>cnp.PyArray_DATA(a), run, run, before)
        to += run
    return out


cdef int around(object array, object dims, Count *before, Count *n, Count *run) except -2:
    """The one dimension of `dims`, and the numbers of (before, n, run) around it; -1 where it is not simple."""
    cdef cnp.ndarray a
    cdef Count dim
    if not isinstance(dims, tuple) or len(<tuple>dims) != 1 or not in_one_piece(array):
        return -1
    a, dim = array, (<tuple>dims)[0]
    if not 0 <= dim < cnp.PyArray_NDIM(a) or not cnp.PyArray_SIZE(a):
        return -1
    n[0], before[0] = cnp.PyArray_DIM(a, dim), product(cnp.PyArray_DIMS(a), 0, dim)
    run[0] = cnp.PyArray_NBYTES(a) // (before[0] * n[0])
    return dim


ctypedef fused Word:  # copied by memcpy, as it may be a pair of numbers that lies like one of them
    cnp.uint32_t
    cnp.uint64_t


cdef void turn(const Word *a, Word *to, Count n, Count times) noexcept nogil:
    """Rows of `n` elements, each from its end on."""
    cdef Count i, j
    for i in range(times):
        for j in range(n):
            memcpy(to + j, a + n - 1 - j, sizeof(Word))
        a, to = a + n, to + n


def flip(a, dims):
    """The elements in reverse along one dimension; None where it is not simple."""
    cdef Count before, n, run, i
    if around(a, dims, &before, &n, &run) < 0:
        return None
    cdef Count item = cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    if run == item and item != 4 and item != 8:
        return None
    cdef cnp.ndarray out = empty_like(a, cnp.PyArray_NDIM(<cnp.ndarray>a), cnp.PyArray_DIMS(<cnp.ndarray>a))
    cdef char *source = <char *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    if run == 4:
        turn(<cnp.uint32_t *>source, <cnp.uint32_t *>to, n, before)
    elif run == 8:
        turn(<cnp.uint64_t *>source, <cnp.uint64_t *>to, n, before)
    else:
        for i in range(before):
            move(to + (n - 1) * run, -run, source, run, run, n)
            source, to = source + n * run, to + n * run
    return out
