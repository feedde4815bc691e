# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""Views of NumPy's arrays, with the strides that NumPy gives them; None of what has to be looked at."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE

from autograph_cli.torch._kernels.fast_arrays cimport Count

cnp.import_array()

cdef extern from "Python.h":
    bint PyLong_CheckExact(object o)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(void *, void *, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, void *)

DEF MOST = 16
DEF FAR = 1 << 31  # steps beyond it, times a stride, may be too large to compute with


cdef object window(cnp.ndarray a, int ndim, cnp.npy_intp *shape, cnp.npy_intp *strides, Count offset):
    kind = a.dtype
    Py_INCREF(kind)  # which the new array takes over
    cdef char *begin = <char *>cnp.PyArray_DATA(a) + offset
    made = PyArray_NewFromDescr(
        <void *>cnp.ndarray, <void *>kind, ndim, shape, strides, begin, cnp.PyArray_FLAGS(a), NULL
    )
    cnp.set_array_base(<cnp.ndarray>made, a)
    return made


cdef inline bint is_plain(a):
    return cnp.PyArray_CheckExact(a) and 0 < cnp.PyArray_NDIM(<cnp.ndarray>a) <= MOST


cdef int sizes(object size, cnp.npy_intp *to) except -2:
    """The numbers of a tuple of lengths, and how many they are; -1 for anything else."""
    cdef int d
    if not PyTuple_CheckExact(size) or PyTuple_GET_SIZE(size) > MOST:
        return -1
    for d in range(<int>PyTuple_GET_SIZE(size)):
        one = <object>PyTuple_GET_ITEM(size, d)
        if not PyLong_CheckExact(one):
            return -1
        to[d] = one
        if to[d] < 0:
            return -1
    return <int>PyTuple_GET_SIZE(size)


def slice(a, Count dim, Count start, Count end, Count step):
    """a[..., start:end:step] in dimension `dim`."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if dim < 0 or dim >= ndim or not 0 < step < FAR or start < 0 or end <= start or end > cnp.PyArray_DIM(<cnp.ndarray>a, dim):
        return None
    for d in range(ndim):
        shape[d], strides[d] = cnp.PyArray_DIM(<cnp.ndarray>a, d), cnp.PyArray_STRIDE(<cnp.ndarray>a, d)
    cdef Count offset = start * strides[dim]
    shape[dim] = (end - start + step - 1) // step
    strides[dim] *= step
    return window(<cnp.ndarray>a, ndim, shape, strides, offset)


def select(a, Count dim, Count index):
    """a[..., index] in dimension `dim`."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if dim < 0 or dim >= ndim or index < 0 or index >= cnp.PyArray_DIM(<cnp.ndarray>a, dim):
        return None
    for d in range(ndim - 1):
        shape[d] = cnp.PyArray_DIM(<cnp.ndarray>a, d + (d >= dim))
        strides[d] = cnp.PyArray_STRIDE(<cnp.ndarray>a, d + (d >= dim))
    return window(<cnp.ndarray>a, ndim - 1, shape, strides, index * cnp.PyArray_STRIDE(<cnp.ndarray>a, dim))


def unbind(a, Count dim):
    """Every a[..., index] in dimension `dim`."""
    if not is_plain(a) or dim < 0 or dim >= cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    return [select(a, dim, index) for index in range(cnp.PyArray_DIM(<cnp.ndarray>a, dim))]


def view(a, size):
    """The elements of an array without gaps in another shape."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    cdef Count step
    if not is_plain(a) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a) or not cnp.PyArray_SIZE(<cnp.ndarray>a):
        return None
    ndim = sizes(size, shape)
    if ndim < 1:
        return None
    step = cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    cdef bint same = ndim == cnp.PyArray_NDIM(<cnp.ndarray>a)
    for d in range(ndim - 1, -1, -1):
        strides[d] = step
        if shape[d] == 0 or step > cnp.PyArray_NBYTES(<cnp.ndarray>a) // shape[d]:  # more elements than there are
            return None
        step *= shape[d]
        same = same and shape[d] == cnp.PyArray_DIM(<cnp.ndarray>a, d)
    if step != cnp.PyArray_NBYTES(<cnp.ndarray>a):
        return None
    return window(<cnp.ndarray>a, ndim, shape, cnp.PyArray_STRIDES(<cnp.ndarray>a) if same else strides, 0)


def expand(a, size):
    """An array repeated to a size: strides of 0 along new dimensions and those of length 1."""
    cdef int d, ndim, lead
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = sizes(size, shape)
    lead = ndim - cnp.PyArray_NDIM(<cnp.ndarray>a)
    if lead < 0:
        return None
    for d in range(ndim):
        strides[d] = 0
        if d < lead:
            continue
        if shape[d] == cnp.PyArray_DIM(<cnp.ndarray>a, d - lead):
            strides[d] = cnp.PyArray_STRIDE(<cnp.ndarray>a, d - lead)
        elif cnp.PyArray_DIM(<cnp.ndarray>a, d - lead) != 1:
            return None
    return window(<cnp.ndarray>a, ndim, shape, strides, 0)


def diagonal(a, Count offset, Count dim1, Count dim2):
    """The diagonals of the matrices in two dimensions, which become the last one."""
    cdef int d, ndim, left = 0
    cdef Count size
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if not 0 <= dim1 < ndim or not 0 <= dim2 < ndim or dim1 == dim2:
        return None
    cdef Count rows = cnp.PyArray_DIM(<cnp.ndarray>a, dim1), columns = cnp.PyArray_DIM(<cnp.ndarray>a, dim2)
    cdef Count down = cnp.PyArray_STRIDE(<cnp.ndarray>a, dim1), across = cnp.PyArray_STRIDE(<cnp.ndarray>a, dim2)
    size = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    if size < 1:
        return None
    for d in range(ndim):
        if d != dim1 and d != dim2:
            shape[left], strides[left] = cnp.PyArray_DIM(<cnp.ndarray>a, d), cnp.PyArray_STRIDE(<cnp.ndarray>a, d)
            left += 1
    shape[left], strides[left] = size, down + across
    return window(<cnp.ndarray>a, left + 1, shape, strides, offset * across if offset >= 0 else -offset * down)


def windows(a, Count dim, Count size, Count step):
    """Windows along a dimension, as a new last one."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST + 1] shape
    cdef cnp.npy_intp[MOST + 1] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if dim < 0 or dim >= ndim or not 0 < step < FAR or not 0 < size <= cnp.PyArray_DIM(<cnp.ndarray>a, dim):
        return None
    for d in range(ndim):
        shape[d], strides[d] = cnp.PyArray_DIM(<cnp.ndarray>a, d), cnp.PyArray_STRIDE(<cnp.ndarray>a, d)
    shape[ndim], strides[ndim] = size, strides[dim]
    shape[dim], strides[dim] = (shape[dim] - size) // step + 1, strides[dim] * step
    return window(<cnp.ndarray>a, ndim + 1, shape, strides, 0)


def permute(a, dims):
    """The dimensions in another order."""
    cdef int d, ndim
    cdef unsigned int seen = 0
    cdef cnp.npy_intp[MOST] order
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if sizes(dims, order) != ndim:
        return None
    for d in range(ndim):
        if order[d] >= ndim or seen & (<unsigned int>1 << order[d]):
            return None
        seen |= <unsigned int>1 << order[d]
        shape[d], strides[d] = cnp.PyArray_DIM(<cnp.ndarray>a, order[d]), cnp.PyArray_STRIDE(<cnp.ndarray>a, order[d])
    return window(<cnp.ndarray>a, ndim, shape, strides, 0)


def transpose(a, Count dim0, Count dim1):
    """Two dimensions in each other's place."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST] shape
    cdef cnp.npy_intp[MOST] strides
    if not is_plain(a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if not 0 <= dim0 < ndim or not 0 <= dim1 < ndim:
        return None
    for d in range(ndim):
        shape[d], strides[d] = cnp.PyArray_DIM(<cnp.ndarray>a, d), cnp.PyArray_STRIDE(<cnp.ndarray>a, d)
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    return window(<cnp.ndarray>a, ndim, shape, strides, 0)


def t(a):
    """A matrix with its dimensions in each other's place."""
    return transpose(a, 0, 1) if is_plain(a) and cnp.PyArray_NDIM(<cnp.ndarray>a) == 2 else None


def unsqueeze(a, Count dim):
    """An array without gaps that has a dimension of size 1 more; None too where it has such already."""
    cdef int d, ndim
    cdef cnp.npy_intp[MOST + 1] shape
    cdef cnp.npy_intp[MOST + 1] strides
    if not is_plain(a) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if not 0 <= dim <= ndim:
        return None
    for d in range(ndim):
        if cnp.PyArray_DIM(<cnp.ndarray>a, d) < 2:
            return None
        shape[d + (d >= dim)], strides[d + (d >= dim)] = cnp.PyArray_DIM(<cnp.ndarray>a, d), cnp.PyArray_STRIDE(<cnp.ndarray>a, d)
    shape[dim], strides[dim] = 1, cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    if dim < ndim:
        strides[dim] = shape[dim + 1] * strides[dim + 1]
    return window(<cnp.ndarray>a, ndim + 1, shape, strides, 0)
