# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Images inside frames: what `padding.py` does with NumPy's arrays of positions.

Arrays of float32 or float64, each in one piece, of which the last dimension or the last two are padded.
"""

cimport numpy as cnp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from autograph_cli.torch._kernels.fast_arrays cimport Count, in_planes, kind_in_rows, numbers, real

cnp.import_array()

DEF REFLECTED = 0
DEF REPLICATED = 1


cdef struct Frame:
    Count size[2]
    Count before[2]
    Count out[2]


cdef inline Count source(Frame *f, int d, Count i, int how) noexcept nogil:
    """The position along a dimension that the element `i` of the result is a copy of."""
    cdef Count n = f.size[d], at = i - f.before[d]
    if 0 <= at < n:
        return at
    if how == REFLECTED:
        at = -at if at < 0 else at
        return 2 * (n - 1) - at if at >= n else at
    return 0 if at < 0 else n - 1


cdef void fill(real *a, real *out, Count planes, Count *across, int how, Frame *f) noexcept nogil:
    cdef Count plane, i, j, row, first = f.before[1], width = f.out[1], n = f.size[1]
    cdef Count low = min(max(first, 0), width), high = min(first + n, width)
    for plane in range(planes):
        for i in range(f.out[0]):
            row = source(f, 0, i, how)
            for j in range(low):
                out[j] = a[row * n + across[j]]
            if high > low:
                memcpy(out + low, a + row * n + low - first, (high - low) * sizeof(real))
            for j in range(max(high, low), width):
                out[j] = a[row * n + across[j]]
            out += width
        a += f.size[0] * n


cdef int measured(cnp.ndarray a, pad, int how, Frame *f):
    """Return the number of dimensions of `a` that are padded; 0 where something is unusual."""
    cdef Count given[4]
    cdef Count i, n, dims = len(pad) // 2 if isinstance(pad, tuple) else 0
    if not 1 <= dims <= 2 or not numbers(pad, 2 * dims, given) or cnp.PyArray_NDIM(a) < dims:
        return 0
    f.size[0] = f.out[0] = 1
    f.before[0] = 0
    for i in range(2 - dims, 2):
        n = f.size[i] = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 2 + i)
        f.before[i] = given[2 * (1 - i)]
        f.out[i] = n + f.before[i] + given[2 * (1 - i) + 1]
        if n + min(f.before[i], 0) + min(f.out[i] - n - f.before[i], 0) < 0:  # more is cut off than there is
            return 0
        if n < 1 or f.out[i] < 1 or how == REFLECTED and max(f.before[i], f.out[i] - n - f.before[i]) >= n:
            return 0
    return dims


cdef inline Count planes_of(cnp.ndarray a, int dims) noexcept:
    cdef Count i, many = 1
    for i in range(cnp.PyArray_NDIM(a) - dims):
        many *= cnp.PyArray_DIM(a, i)
    return many


cdef object framed(a, pad, int how):
    cdef Frame f
    cdef int kind = kind_in_rows(a), dims = measured(a, pad, how, &f) if kind >= 0 else 0
    cdef Count i, planes
    cdef Count *across
    cdef cnp.ndarray made
    if dims == 0:
        return None
    planes = planes_of(a, dims)
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
            fill(<float *>given_data, <float *>target, planes, across, how, &f)
        else:
            fill(<double *>given_data, <double *>target, planes, across, how, &f)
        free(across)
    return made


cdef void fold(real *grad, real *out, Count lines, Count inner, int d, int how, Frame *f) noexcept nogil:
    """The adjoint of `fill` along a dimension: what edges are copies of gets their gradients, in their order."""
    cdef Count line, i, j, n = f.size[d], first = f.before[d], to
    for line in range(lines):
        for i in range(n * inner):
            out[i] = grad[first * inner + i] + 0
        for i in range(f.out[d]):
            if not first <= i < first + n:
                to = source(f, d, i, how) * inner
                for j in range(inner):
                    out[to + j] += grad[i * inner + j]
        grad += f.out[d] * inner
        out += n * inner


cdef void fold_both(real *grad, real *between, real *out, Count planes, int dims, int how, Frame *f) noexcept nogil:
    fold(grad, out if dims == 1 else between, planes * f.out[0], 1, 1, how, f)
    if dims == 2:
        fold(between, out, planes, f.size[1], 0, how, f)


cdef object folded(grad, a, pad, int how):
    cdef Frame f
    cdef int kind = kind_in_rows(grad), dims = measured(a, pad, how, &f) if kind >= 0 and cnp.PyArray_CheckExact(a) else 0
    cdef Count planes, i
    cdef cnp.ndarray made
    if dims == 0 or cnp.PyArray_NDIM(<cnp.ndarray>grad) != cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    planes = planes_of(grad, dims)
    for i in range(2 - dims, 2):
        if cnp.PyArray_DIM(<cnp.ndarray>grad, cnp.PyArray_NDIM(<cnp.ndarray>grad) - 2 + i) != f.out[i]:
            return None
        if f.before[i] < 0 or f.out[i] - f.size[i] - f.before[i] < 0:
            return None
    made = in_planes(grad, f.size, dims, kind)
    cdef void *between = malloc(planes * f.out[0] * f.size[1] * sizeof(double) + 1)
    if between == NULL:
        raise MemoryError
    cdef void *given = cnp.PyArray_DATA(<cnp.ndarray>grad)
    cdef void *target = cnp.PyArray_DATA(made)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            fold_both(<float *>given, <float *>between, <float *>target, planes, dims, how, &f)
        else:
            fold_both(<double *>given, <double *>between, <double *>target, planes, dims, how, &f)
        free(between)
    return made


def reflection_backward(grad, a, pad):
    """The adjoint of `reflection`."""
    return folded(grad, a, pad, REFLECTED)


def replication_backward(grad, a, pad):
    """The adjoint of `replication`."""
    return folded(grad, a, pad, REPLICATED)


def reflection(a, pad):
    """`Padding.reflection_pad1d` and `2d`; None for other arguments than the engine's."""
    return framed(a, pad, REFLECTED)


def replication(a, pad):
    """`Padding.replication_pad1d` and `2d`; None for other arguments than the engine's."""
    return framed(a, pad, REPLICATED)
