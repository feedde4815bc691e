# cython: cdivision=True
"""What compiled kernels ask of their arrays."""

cimport numpy as cnp

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
    /* Before a function, which then has the wider registers of the processor where there are some: the same roundings. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define CLONED __attribute__((target_clones("avx2", "default")))
    #else
    #define CLONED
    #endif
    """

ctypedef Py_ssize_t Count

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

# ---------------------------------------------------------------- windows of images of one or two dimensions


cdef struct Geometry:
    Count size[2]
    Count kernel[2]
    Count stride[2]
    Count padding[2]
    Count dilation[2]
    Count out[2]


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
    return made


cdef inline void inside(Count n, Count start, Count step, Count many, Count *low, Count *high) noexcept nogil:
    """Which of `start + i * step`, i < many, are in 0 .. n - 1: those from `low` to before `high`."""
    low[0] = min((-start + step - 1) // step, many) if start < 0 else 0
    high[0] = min((n - start + step - 1) // step, many) if start < n else 0
    if high[0] < low[0]:
        high[0] = low[0]
