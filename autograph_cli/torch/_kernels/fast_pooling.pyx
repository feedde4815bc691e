# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Maxima and averages of windows, and their gradients: what `pooling.py` does in one pass for each element of a window.

Images (..., spatial) of one or two spatial dimensions, float32 or float64, each array in one piece.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY
from libc.string cimport memset

from autograph_cli.torch._kernels.fast_arrays cimport Count, Geometry, geometry, inside, kind_of, real

cnp.import_array()

ctypedef fused whole:
    cnp.int32_t
    cnp.int64_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #if defined(_MSC_VER)
    #define ALONE __restrict
    #else
    #define ALONE restrict
    #endif
    /* Each element of the windows `low` to `high` that is larger than the largest so far, or no number, and its shift. */
    #define EACH(at) { for (j = low; j < high; j++) { \
        int found = (line[at] > best[j]) | (line[at] != line[at]); \
        best[j] = found ? line[at] : best[j]; \
        shifts[j] = found ? shift : shifts[j]; } }
    #define LARGER(name, real, whole) static void name(const real *ALONE line, ptrdiff_t stride, real *ALONE best, \
        whole *ALONE shifts, whole shift, ptrdiff_t low, ptrdiff_t high) { \
        ptrdiff_t j; \
        if (stride == 1) EACH(j) else if (stride == 2) EACH(2 * j) else EACH(stride * j) }
    LARGER(larger_f, float, int32_t)
    LARGER(larger_d, double, int64_t)
    """
    void larger_f(float *, Count, float *, cnp.int32_t *, cnp.int32_t, Count, Count) noexcept nogil
    void larger_d(double *, Count, double *, cnp.int64_t *, cnp.int64_t, Count, Count) noexcept nogil


def fits(a, dims):
    """Whether this is an array of float32 or float64 in one piece, with one or two spatial dimensions."""
    return kind_of(a) >= 0 and dims <= 2


cdef struct Bounds:
    Count low
    Count high


cdef cnp.ndarray bounds_of(Geometry *g, int dim):
    """For each window along a dimension: which elements of the kernel are inside, from .. to before; None where one
    has none."""
    cdef cnp.ndarray made = np.empty((g.out[dim], 2), np.intp)
    cdef Bounds *at = <Bounds *>cnp.PyArray_DATA(made)
    cdef Count i
    for i in range(g.out[dim]):
        inside(
            g.size[dim], i * g.stride[dim] - g.padding[dim], g.dilation[dim], g.kernel[dim], &at[i].low, &at[i].high
        )
        if at[i].low == at[i].high:
            return None
    return made


cdef cnp.ndarray taps_of(Geometry *g):
    """For each element of the kernel along the last dimension: in which windows it is inside, from .. to before."""
    cdef cnp.ndarray made = np.empty((g.kernel[1], 2), np.intp)
    cdef Bounds *at = <Bounds *>cnp.PyArray_DATA(made)
    cdef Count k
    for k in range(g.kernel[1]):
        inside(g.size[1], k * g.dilation[1] - g.padding[1], g.stride[1], g.out[1], &at[k].low, &at[k].high)
    return made

# ---------------------------------------------------------------- maxima


cdef void maxima(
    real *image, real *best, cnp.int64_t *places, whole *shifts, Count planes, Bounds *down, Bounds *across,
    Bounds *taps, Geometry *g
) noexcept nogil:
    """Row by row of windows, one element of all windows of a row at a time; `shifts` has how far the largest of each
    window is from its first one."""
    cdef Count plane, i, j, ki, kj, first, width = g.size[1]
    for plane in range(planes):
        for i in range(g.out[0]):
            first = (i * g.stride[0] - g.padding[0]) * width - g.padding[1]
            for j in range(g.out[1]):
                best[j] = -INFINITY
                shifts[j] = <whole>(down[i].low * g.dilation[0] * width + across[j].low * g.dilation[1])
            for ki in range(down[i].low, down[i].high):
                for kj in range(g.kernel[1]):
                    j = ki * g.dilation[0] * width + kj * g.dilation[1]
                    if real is float and whole is cnp.int32_t:
                        larger_f(image + first + j, g.stride[1], best, shifts, <whole>j, taps[kj].low, taps[kj].high)
                    elif real is double and whole is cnp.int64_t:
                        larger_d(image + first + j, g.stride[1], best, shifts, <whole>j, taps[kj].low, taps[kj].high)
            for j in range(g.out[1]):
                places[j] = first + j * g.stride[1] + shifts[j]
            best += g.out[1]
            places += g.out[1]
        image += g.size[0] * width


def max_pool(cnp.ndarray a, kernel, stride, padding, dilation, out):
    """The largest element of each window, the first of equal ones (the last that is no number), and its position in
    the flat image; None where a window has no element inside."""
    shape = (<object>a).shape
    lead = shape[:len(shape) - len(kernel)]
    cdef Geometry g = geometry(shape[len(lead):], kernel, stride, padding, dilation, out)
    cdef cnp.ndarray best = np.empty(lead + out, a.dtype), places = np.empty(lead + out, np.int64)
    cdef cnp.ndarray down = bounds_of(&g, 0), across = bounds_of(&g, 1), taps = taps_of(&g)
    if down is None or across is None:
        return None
    cdef Count planes = np.prod(lead, dtype=np.intp)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *target = cnp.PyArray_DATA(best)
    cdef cnp.int64_t *at = <cnp.int64_t *>cnp.PyArray_DATA(places)
    cdef Bounds *rows = <Bounds *>cnp.PyArray_DATA(down)
    cdef Bounds *columns = <Bounds *>cnp.PyArray_DATA(across)
    cdef Bounds *each = <Bounds *>cnp.PyArray_DATA(taps)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    cdef cnp.ndarray between = np.empty(g.out[1], np.int32 if narrow else np.int64)
    cdef void *shifts = cnp.PyArray_DATA(between)
    if g.size[0] * g.size[1] > 0x7FFFFFFF:
        return None
    with nogil:
        if narrow:
            maxima(<float *>source, <float *>target, at, <cnp.int32_t *>shifts, planes, rows, columns, each, &g)
        else:
            maxima(<double *>source, <double *>target, at, <cnp.int64_t *>shifts, planes, rows, columns, each, &g)
    return best, places


cdef bint put(real *grad, cnp.int64_t *places, real *to, Count planes, Count many, Count plane) noexcept nogil:
    cdef Count i, j
    memset(to, 0, planes * plane * sizeof(real))
    for i in range(planes):
        for j in range(many):
            if not 0 <= places[j] < plane:
                return False
            to[places[j]] += grad[j]
        grad += many
        places += many
        to += plane
    return True


def put_planes(cnp.ndarray grad, sizes, indices, dims):
    """Zeros of `sizes` with `grad` added at flat positions of each plane; None where a position is not in it."""
    if not cnp.PyArray_CheckExact(indices) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>indices):
        return None
    shape = (<object>grad).shape
    if cnp.PyArray_TYPE(<cnp.ndarray>indices) != cnp.NPY_INT64 or shape != indices.shape:
        return None
    if len(shape) != len(sizes) or shape[:len(sizes) - dims] != tuple(sizes[:len(sizes) - dims]):
        return None
    cdef cnp.ndarray total = np.empty(sizes, grad.dtype)
    cdef Count planes = np.prod(sizes[:len(sizes) - dims], dtype=np.intp)
    if planes == 0:
        return total
    cdef Count many = cnp.PyArray_SIZE(grad) // planes, plane = cnp.PyArray_SIZE(total) // planes
    cdef void *source = cnp.PyArray_DATA(grad)
    cdef void *target = cnp.PyArray_DATA(total)
    cdef cnp.int64_t *at = <cnp.int64_t *>cnp.PyArray_DATA(<cnp.ndarray>indices)
    cdef bint narrow = kind_of(grad) == cnp.NPY_FLOAT, done
    with nogil:
        if narrow:
            done = put[float](<float *>source, at, <float *>target, planes, many, plane)
        else:
            done = put[double](<double *>source, at, <double *>target, planes, many, plane)
    return total if done else None

# ---------------------------------------------------------------- averages


cdef void sums(real *image, real *out, Count planes, Bounds *taps, Geometry *g) noexcept nogil:
    """Row by row of windows, one element of all windows of a row at a time; what is outside is 0."""
    cdef Count plane, i, j, ki, kj, row, low, high, step = g.stride[1], width = g.size[1]
    cdef real *line
    for plane in range(planes):
        for i in range(g.out[0]):
            for ki in range(g.kernel[0]):
                row = i * g.stride[0] + ki - g.padding[0]
                for kj in range(g.kernel[1]):
                    low = high = 0
                    if 0 <= row < g.size[0]:
                        low, high = taps[kj].low, taps[kj].high
                    line = image + row * width + kj - g.padding[1]
                    if ki == kj == 0:
                        for j in range(g.out[1]):
                            out[j] = line[j * step] if low <= j < high else 0
                        continue
                    for j in range(low):
                        out[j] += 0
                    if step == 2:
                        for j in range(low, high):
                            out[j] += line[j * 2]
                    else:
                        for j in range(low, high):
                            out[j] += line[j * step]
                    for j in range(high, g.out[1]):
                        out[j] += 0
            out += g.out[1]
        image += g.size[0] * width


def window_sums(cnp.ndarray a, kernel, stride, padding, out):
    """The sum of each window."""
    shape = (<object>a).shape
    lead = shape[:len(shape) - len(kernel)]
    cdef Geometry g = geometry(shape[len(lead):], kernel, stride, padding, (1,) * len(kernel), out)
    cdef cnp.ndarray made = np.empty(lead + out, a.dtype)
    cdef Count planes = np.prod(lead, dtype=np.intp)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *target = cnp.PyArray_DATA(made)
    cdef cnp.ndarray taps = taps_of(&g)
    cdef Bounds *each = <Bounds *>cnp.PyArray_DATA(taps)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            sums(<float *>source, <float *>target, planes, each, &g)
        else:
            sums(<double *>source, <double *>target, planes, each, &g)
    return made


cdef void spread(real *share, real *image, Count planes, Geometry *g) noexcept nogil:
    cdef Count plane, ki, kj, i, j, top, bottom, low, high, width = g.size[1]
    cdef real *line
    for plane in range(planes):
        memset(image, 0, g.size[0] * width * sizeof(real))
        for ki in range(g.kernel[0]):
            inside(g.size[0], ki - g.padding[0], g.stride[0], g.out[0], &top, &bottom)
            for kj in range(g.kernel[1]):
                inside(width, kj - g.padding[1], g.stride[1], g.out[1], &low, &high)
                for i in range(top, bottom):
                    line = image + (i * g.stride[0] + ki - g.padding[0]) * width + kj - g.padding[1]
                    for j in range(low, high):
                        line[j * g.stride[1]] += share[i * g.out[1] + j]
        image += g.size[0] * width
        share += g.out[0] * g.out[1]


def window_sums_backward(cnp.ndarray share, size, kernel, stride, padding):
    """Images of a spatial `size` in which each element has the sum of the shares of its windows."""
    shape = (<object>share).shape
    lead = shape[:len(shape) - len(kernel)]
    cdef Geometry g = geometry(size, kernel, stride, padding, (1,) * len(kernel), shape[len(lead):])
    cdef cnp.ndarray made = np.empty(lead + tuple(size), share.dtype)
    cdef Count planes = np.prod(lead, dtype=np.intp)
    cdef void *source = cnp.PyArray_DATA(share)
    cdef void *target = cnp.PyArray_DATA(made)
    cdef bint narrow = kind_of(share) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            spread[float](<float *>source, <float *>target, planes, &g)
        else:
            spread[double](<double *>source, <double *>target, planes, &g)
    return made
