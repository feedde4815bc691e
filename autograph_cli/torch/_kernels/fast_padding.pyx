# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Images inside frames: what `padding.py` does with NumPy's arrays of positions.

Arrays of float32 or float64, each in one piece, of which the last dimension or the last two are padded.
"""

cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.math cimport fabs, isinf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from autograph_cli.torch._kernels.fast_arrays cimport Count, in_planes, kind_in_rows, number, numbers, real

cnp.import_array()

DEF REFLECTED = 0
DEF REPLICATED = 1
DEF CONSTANT = 2


cdef struct Frame:
    Count size[2]
    Count before[2]
    Count out[2]


cdef inline Count source(Frame *f, int d, Count i, int how) noexcept nogil:
    """The position along a dimension that the element `i` of the result is a copy of; -1 for none."""
    cdef Count n = f.size[d], at = i - f.before[d]
    if 0 <= at < n:
        return at
    if how == REFLECTED:
        at = -at if at < 0 else at
        return 2 * (n - 1) - at if at >= n else at
    if how == REPLICATED:
        return 0 if at < 0 else n - 1
    return -1


cdef void fill(real *a, real *out, real value, Count planes, Count *across, int how, Frame *f) noexcept nogil:
    cdef Count plane, i, j, row, first = f.before[1], width = f.out[1], n = f.size[1]
    cdef Count low = max(first, 0), high = min(first + n, width)
    for plane in range(planes):
        for i in range(f.out[0]):
            row = source(f, 0, i, how)
            if row < 0:
                for j in range(width):
                    out[j] = value
            else:
                for j in range(low):
                    out[j] = value if across[j] < 0 else a[row * n + across[j]]
                if high > low:
                    memcpy(out + low, a + row * n + low - first, (high - low) * sizeof(real))
                for j in range(max(high, low), width):
                    out[j] = value if across[j] < 0 else a[row * n + across[j]]
            out += width
        a += f.size[0] * n


cdef object framed(a, pad, int how, double value):
    cdef Frame f
    cdef Count given[4]
    cdef int kind = kind_in_rows(a)
    cdef Count i, planes = 1, dims = len(pad) // 2 if isinstance(pad, tuple) else 0
    cdef Count *across
    cdef cnp.ndarray made
    if kind < 0 or not 1 <= dims <= 2 or not numbers(pad, 2 * dims, given) or cnp.PyArray_NDIM(<cnp.ndarray>a) < dims:
        return None
    f.size[0] = f.out[0] = 1
    f.before[0] = 0
    for i in range(2 - dims, 2):
        f.size[i] = cnp.PyArray_DIM(<cnp.ndarray>a, cnp.PyArray_NDIM(<cnp.ndarray>a) - 2 + i)
        f.before[i] = given[2 * (1 - i)]
        f.out[i] = f.size[i] + f.before[i] + given[2 * (1 - i) + 1]
        if f.size[i] < 1 or f.out[i] < 1 or how == REFLECTED and max(f.before[i], f.out[i] - f.size[i] - f.before[i]) >= f.size[i]:
            return None
    for i in range(cnp.PyArray_NDIM(<cnp.ndarray>a) - dims):
        planes *= cnp.PyArray_DIM(<cnp.ndarray>a, i)
    made = in_planes(a, f.out, dims, kind)
    across = <Count *>malloc(f.out[1] * sizeof(Count))
    if across == NULL:
        raise MemoryError
    for i in range(f.out[1]):
        across[i] = source(&f, 1, i, how)
    cdef void *given_data = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(made)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            fill(<float *>given_data, <float *>target, <float>value, planes, across, how, &f)
        else:
            fill(<double *>given_data, <double *>target, value, planes, across, how, &f)
        free(across)
    return made


def reflection(a, pad):
    """`Padding.reflection_pad1d` and `2d`; None for other arguments than the engine's."""
    return framed(a, pad, REFLECTED, 0)


def replication(a, pad):
    """`Padding.replication_pad1d` and `2d`; None for other arguments than the engine's."""
    return framed(a, pad, REPLICATED, 0)


def constant_pad_nd(a, pad, value=0):
    """`Padding.constant_pad_nd`; None for other arguments than the engine's, and for numbers that it may not hold."""
    cdef Count whole
    cdef double of
    if PyFloat_CheckExact(value):
        of = PyFloat_AS_DOUBLE(value)
    elif number(value, &whole):
        of = <double>whole
    else:
        return None
    if fabs(of) > 1e38 and not isinf(of):
        return None
    return framed(a, pad, CONSTANT, of)


WHOLE = {f"{name}_pad{n}d": run for name, run in (("reflection", reflection), ("replication", replication)) for n in (1, 2)}
WHOLE["constant_pad_nd"] = constant_pad_nd
"""Operations as a whole, by the name of their kernel (see `device_dispatch.bound`)."""
