# cython: cdivision=True
"""The questions that compiled kernels ask of their arrays."""

cimport numpy as cnp
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE

ctypedef Py_ssize_t Count

cdef extern from "Python.h":
    bint PyBool_Check(object o) noexcept
    bint PyLong_Check(object o) noexcept
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) noexcept

cdef extern from *:
    """
    /* Before a loop whose turns do not depend on each other, also where it writes over what it reads. */
    #if defined(__clang__)
    #define ELEMENTS _Pragma("clang loop vectorize(assume_safety)")
    #elif defined(__GNUC__)
    #define ELEMENTS _Pragma("GCC ivdep")
    #else
    #define ELEMENTS
    #endif
    /* Before a short loop inside of such a one. */
    #if defined(__clang__)
    #define UNROLLED _Pragma("clang loop unroll(full)")
    #elif defined(__GNUC__)
    #define UNROLLED _Pragma("GCC unroll 32")
    #else
    #define UNROLLED
    #endif
    /* Before a function, which then has the wider registers of the processor where there are some: the same roundings. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    #define CLONED __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define CLONED
    #endif
    /* Before a function that may multiply and add at once, as its results do not depend on it. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define FUSED __attribute__((optimize("fp-contract=fast")))
    #else
    #define FUSED
    #endif
    #include <stddef.h>
    #include <stdint.h>
    /* A position, read once, as another thread may change it: what is checked is what is used. */
    static ptrdiff_t once(const int64_t *index, ptrdiff_t i) { return ((const volatile int64_t *)index)[i]; }
    /* The same, of positions that were found below `n`: 0 for one that no longer is. */
    static ptrdiff_t within(const int64_t *index, ptrdiff_t i, ptrdiff_t n) {
        const uint64_t at = (uint64_t)once(index, i);
        return at < (uint64_t)n ? (ptrdiff_t)at : 0; }
    """
    Count once(const cnp.int64_t *index, Count i) noexcept nogil
    Count within(const cnp.int64_t *index, Count i, Count n) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline int kind_of(object a) noexcept:
    """NPY_FLOAT or NPY_DOUBLE for an array of NumPy's own class that lies in one piece, in the order of its indices;
    -1 for anything else."""
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a):
        return -1
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    return kind if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE else -1


cdef inline double *doubles(object a) except NULL:
    """The numbers of an array of float64 that `kind_of` knows; TypeError for anything else."""
    if kind_of(a) != cnp.NPY_DOUBLE:
        raise TypeError("an array of float64 in one piece is needed")
    return <double *>cnp.PyArray_DATA(<cnp.ndarray>a)


cdef inline int kind_in_rows(object a) noexcept:
    """`kind_of`, and -1 too where the strides of dimensions of size 1 tell of another order: results follow it."""
    cdef int d, kind = kind_of(a)
    cdef Count step
    if kind < 0:
        return -1
    step = cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>a) - 1, -1, -1):
        if cnp.PyArray_STRIDE(<cnp.ndarray>a, d) != step and (
            cnp.PyArray_DIM(<cnp.ndarray>a, d) != 1 or cnp.PyArray_STRIDE(<cnp.ndarray>a, d) != 0
        ):
            return -1
        step *= cnp.PyArray_DIM(<cnp.ndarray>a, d)
    return kind

# ---------------------------------------------------------------- windows of images of one or two dimensions


cdef struct Geometry:
    Count size[2]
    Count kernel[2]
    Count stride[2]
    Count padding[2]
    Count dilation[2]
    Count out[2]


cdef inline void bounded(Geometry *g) noexcept:
    """Shorten strides beyond the image, which lead to no second window and would overflow."""
    cdef int i
    for i in range(2):
        g.stride[i] = min(g.stride[i], max(g.size[i] + 2 * g.padding[i], 1))


cdef inline Geometry geometry(size, kernel, stride, padding, dilation, out) except *:
    """The numbers of both dimensions, with one of length 1 before a single one."""
    cdef Geometry made
    cdef int i, first = 2 - len(size)
    if first:
        made.size[0] = made.kernel[0] = made.stride[0] = made.dilation[0] = made.out[0] = 1
        made.padding[0] = 0
    for i in range(first, 2):
        made.size[i], made.kernel[i], made.stride[i] = size[i - first], kernel[i - first], stride[i - first]
        made.padding[i], made.dilation[i], made.out[i] = padding[i - first], dilation[i - first], out[i - first]
    bounded(&made)
    return made


cdef inline bint numbers(object given, Count many, Count *to) noexcept:
    """Return whether this is a tuple of so many whole numbers, which are put at `to`."""
    cdef Count i
    if not PyTuple_Check(given) or PyTuple_GET_SIZE(given) != many:
        return False
    for i in range(many):
        if not number(<object>PyTuple_GET_ITEM(given, i), to + i):
            return False
    return True


cdef inline bint number(object given, Count *to) noexcept:
    """Return whether this is a whole number that is not too large to compute with, which is put at `to`."""
    cdef int beyond = 0
    if not PyLong_Check(given) or PyBool_Check(given):
        return False
    to[0] = PyLong_AsLongLongAndOverflow(given, &beyond)
    return not beyond and -(1 << 30) < to[0] < 1 << 30


cdef inline bint pooled(cnp.ndarray a, object kernel, object stride, object padding, object dilation, bint ceil, Geometry *g):
    """The numbers of windows over the last one or two dimensions of images, and how many there are (see `pooled_size`);
    False where something is unusual."""
    cdef Count i, span, dims = PyTuple_GET_SIZE(kernel) if PyTuple_Check(kernel) else 0
    cdef Count first = 2 - dims
    if not 1 <= dims <= 2 or cnp.PyArray_NDIM(a) < dims:
        return False
    if dims == 1:
        g.size[0] = g.kernel[0] = g.stride[0] = g.dilation[0] = g.out[0] = 1
        g.padding[0] = 0
    if not (
        numbers(kernel, dims, g.kernel + first)
        and numbers(stride, dims, g.stride + first)
        and numbers(padding, dims, g.padding + first)
        and (dilation is None or numbers(dilation, dims, g.dilation + first))
    ):
        return False
    for i in range(first, 2):
        g.size[i] = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 2 + i)
        if dilation is None:
            g.dilation[i] = 1
        span = g.size[i] + 2 * g.padding[i] - g.dilation[i] * (g.kernel[i] - 1) - 1
        if g.stride[i] < 1 or g.kernel[i] < 1 or g.dilation[i] < 1 or g.padding[i] < 0 or span < 0:
            return False
        g.out[i] = (span + (g.stride[i] - 1 if ceil else 0)) // g.stride[i] + 1
        if ceil and (g.out[i] - 1) * g.stride[i] >= g.size[i] + g.padding[i]:
            g.out[i] -= 1
    return True


cdef inline cnp.ndarray in_planes(cnp.ndarray a, Count *size, Count dims, int kind):
    """New images beside those of `a`, of another size in their last dimensions; memory of no content."""
    cdef cnp.npy_intp shape[64]
    cdef Count i, lead = cnp.PyArray_NDIM(a) - dims
    for i in range(lead):
        shape[i] = cnp.PyArray_DIM(a, i)
    for i in range(dims):
        shape[lead + i] = size[2 - dims + i]
    return cnp.PyArray_SimpleNew(lead + dims, shape, kind)


cdef inline void inside(Count n, Count start, Count step, Count many, Count *low, Count *high) noexcept nogil:
    """Find the `i` below `many` for which `start + i * step` is in 0 .. n - 1: from `low` to before `high`."""
    low[0] = min((-start + step - 1) // step, many) if start < 0 else 0
    high[0] = min((n - start + step - 1) // step, many) if start < n else 0
    if high[0] < low[0]:
        high[0] = low[0]
