# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Maxima and averages of windows, and their gradients: what `pooling.py` does in one pass for each element of a window.

Images (..., spatial) of one or two spatial dimensions, float32 or float64, each array in one piece.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from autograph_cli.torch._kernels.fast_arrays cimport (
    Count, Geometry, geometry, in_planes, inside, kind_in_rows, kind_of, number, numbers, once, pooled,
    real
)

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


cdef struct Bounds:
    Count low
    Count high


cdef struct Windows:
    Bounds *down  # for each window along the first dimension: which elements of the kernel are inside
    Bounds *across  # likewise along the second one
    Bounds *taps  # for each element of the kernel along the second one: in which windows it is inside
    void *line  # a number for each window along the second one


cdef bint open_windows(Geometry *g, Windows *made) except -1:
    """Find the windows; return False where one has no element inside. To be freed by `free(made.down)`."""
    cdef Count i
    cdef bint whole = True
    made.down = <Bounds *>malloc((g.out[0] + g.out[1] + g.kernel[1]) * sizeof(Bounds) + g.out[1] * sizeof(double))
    if made.down == NULL:
        raise MemoryError
    made.across = made.down + g.out[0]
    made.taps = made.across + g.out[1]
    made.line = made.taps + g.kernel[1]
    for i in range(g.out[0]):
        whole = whole and spanned(g, 0, i, made.down + i)
    for i in range(g.out[1]):
        whole = whole and spanned(g, 1, i, made.across + i)
    for i in range(g.kernel[1]):
        inside(g.size[1], i * g.dilation[1] - g.padding[1], g.stride[1], g.out[1], &made.taps[i].low, &made.taps[i].high)
    return whole


cdef inline bint spanned(Geometry *g, int dim, Count i, Bounds *at) noexcept:
    inside(g.size[dim], i * g.stride[dim] - g.padding[dim], g.dilation[dim], g.kernel[dim], &at.low, &at.high)
    return at.low < at.high


cdef inline Count planes_of(cnp.ndarray a, Count dims) noexcept:
    """Return the number of images, whose sizes are the last dimensions."""
    cdef Count i, many = 1
    for i in range(cnp.PyArray_NDIM(a) - dims):
        many *= cnp.PyArray_DIM(a, i)
    return many

# ---------------------------------------------------------------- maxima


cdef void maxima(
    real *image, real *best, cnp.int64_t *places, whole *shifts, Count planes, Windows *w, Geometry *g
) noexcept nogil:
    """Row by row of windows, one element of all windows of a row at a time; `shifts` has how far the largest of each
    window is from its first one."""
    cdef Count plane, i, j, ki, kj, first, width = g.size[1]
    for plane in range(planes):
        for i in range(g.out[0]):
            first = (i * g.stride[0] - g.padding[0]) * width - g.padding[1]
            for j in range(g.out[1]):
                best[j] = -INFINITY
                shifts[j] = <whole>(w.down[i].low * g.dilation[0] * width + w.across[j].low * g.dilation[1])
            for ki in range(w.down[i].low, w.down[i].high):
                for kj in range(g.kernel[1]):
                    j = ki * g.dilation[0] * width + kj * g.dilation[1]
                    if real is float and whole is cnp.int32_t:
                        larger_f(
                            image + first + j, g.stride[1], best, shifts, <whole>j, w.taps[kj].low, w.taps[kj].high
                        )
                    elif real is double and whole is cnp.int64_t:
                        larger_d(
                            image + first + j, g.stride[1], best, shifts, <whole>j, w.taps[kj].low, w.taps[kj].high
                        )
            for j in range(g.out[1]):
                places[j] = first + j * g.stride[1] + shifts[j]
            best += g.out[1]
            places += g.out[1]
        image += g.size[0] * width


def max_pool(a, kernel, stride, padding, dilation, bint ceil):
    """The largest element of each window, the first of equal ones (the last that is no number), and its position in
    the flat image; None where a window has no element inside, or for other arguments than the engine's."""
    cdef Geometry g
    cdef Windows w
    cdef int kind = kind_in_rows(a)
    if kind < 0 or not pooled(a, kernel, stride, padding, dilation, ceil, &g):
        return None
    if not open_windows(&g, &w) or g.size[0] * g.size[1] > 0x7FFFFFFF:
        free(w.down)
        return None
    cdef Count dims = len(kernel), planes = planes_of(a, dims)
    cdef cnp.ndarray best = in_planes(a, g.out, dims, kind), places = in_planes(a, g.out, dims, cnp.NPY_INT64)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(best)
    cdef cnp.int64_t *at = <cnp.int64_t *>cnp.PyArray_DATA(places)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            maxima(<float *>source, <float *>target, at, <cnp.int32_t *>w.line, planes, &w, &g)
        else:
            maxima(<double *>source, <double *>target, at, <cnp.int64_t *>w.line, planes, &w, &g)
        free(w.down)
    return best, places


cdef bint put(real *grad, cnp.int64_t *places, real *to, Count planes, Count many, Count plane) noexcept nogil:
    cdef Count i, j, at
    memset(to, 0, planes * plane * sizeof(real))
    for i in range(planes):
        for j in range(many):
            at = once(places, j)
            if not 0 <= at < plane:
                return False
            to[at] += grad[j]
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
    cdef Count planes = planes_of(total, dims)
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


cdef void means(real *image, real *out, Count planes, Windows *w, Geometry *g, real divisor, bint padded) noexcept nogil:
    """Row by row of windows, one element of all windows of a row at a time; what is outside is 0. `padded`: it counts."""
    cdef Count plane, i, j, ki, kj, row, low, high, step = g.stride[1], width = g.size[1]
    cdef real *line
    cdef real *counts = <real *>w.line
    cdef real down
    for j in range(g.out[1]):
        counts[j] = <real>counted(g, 1, j, padded) if divisor == 0 else divisor
    for plane in range(planes):
        for i in range(g.out[0]):
            for ki in range(g.kernel[0]):
                row = i * g.stride[0] + ki - g.padding[0]
                for kj in range(g.kernel[1]):
                    low = high = 0
                    if 0 <= row < g.size[0]:
                        low, high = w.taps[kj].low, w.taps[kj].high
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
            down = <real>counted(g, 0, i, padded) if divisor == 0 else 1
            for j in range(g.out[1]):
                out[j] = out[j] / (down * counts[j])
            out += g.out[1]
        image += g.size[0] * width


cdef inline Count counted(Geometry *g, int dim, Count i, bint padded) noexcept nogil:
    """Return the number of elements of a window along a dimension, with those outside if it is `padded`."""
    cdef Count start = i * g.stride[dim] - g.padding[dim]
    cdef Count end = min(start + g.kernel[dim], g.size[dim] + g.padding[dim])
    return end - start if padded else min(end, g.size[dim]) - max(start, 0)


def avg_pool(a, kernel, stride, padding, bint ceil, bint include_pad, divisor):
    """The mean of each window; None for other arguments than the engine's."""
    cdef Geometry g
    cdef Windows w
    cdef Count by = 0
    cdef int kind = kind_in_rows(a)
    if kind < 0 or not pooled(a, kernel, stride, padding, None, ceil, &g):
        return None
    if divisor is not None and (not number(divisor, &by) or by == 0 or abs(by) > 1 << 24):
        return None
    open_windows(&g, &w)
    cdef Count dims = len(kernel), planes = planes_of(a, dims)
    cdef cnp.ndarray made = in_planes(a, g.out, dims, kind)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(made)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            means(<float *>source, <float *>target, planes, &w, &g, <float>by, include_pad)
        else:
            means(<double *>source, <double *>target, planes, &w, &g, <double>by, include_pad)
        free(w.down)
    return made


cdef void bin_means(real *image, real *out, Count planes, Count *size, Count *many) noexcept nogil:
    """Bins of nearly equal length, which may overlap, element by element."""
    cdef Count plane, i, j, k, l, top, bottom, left, right
    cdef real total
    for plane in range(planes):
        for i in range(many[0]):
            top, bottom = i * size[0] // many[0], ((i + 1) * size[0] + many[0] - 1) // many[0]
            for j in range(many[1]):
                left, right = j * size[1] // many[1], ((j + 1) * size[1] + many[1] - 1) // many[1]
                total = 0
                for k in range(top, bottom):
                    for l in range(left, right):
                        total += image[k * size[1] + l]
                out[j] = total / <real>(bottom - top) / <real>(right - left)
            out += many[1]
        image += size[0] * size[1]


def adaptive_avg_pool2d(a, size):
    """`Pooling._adaptive_avg_pool2d`; None for other arguments than the engine's."""
    cdef Count many[2]
    cdef Count have[2]
    cdef int kind = kind_in_rows(a), dims
    if kind < 0 or not numbers(size, 2, many) or many[0] < 1 or many[1] < 1:
        return None
    dims = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if dims < 2 or not cnp.PyArray_SIZE(a):
        return None
    have[0], have[1] = cnp.PyArray_DIM(<cnp.ndarray>a, dims - 2), cnp.PyArray_DIM(<cnp.ndarray>a, dims - 1)
    cdef Count planes = planes_of(a, 2)
    cdef cnp.ndarray made = in_planes(a, many, 2, kind)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(made)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            bin_means(<float *>source, <float *>target, planes, have, many)
        else:
            bin_means(<double *>source, <double *>target, planes, have, many)
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
    """Images of a spatial `size` in which each element has the sum of the shares of its windows; None in three dimensions."""
    if len(size) > 2:
        return None
    shape = (<object>share).shape
    lead = shape[:len(shape) - len(kernel)]
    cdef Geometry g = geometry(size, kernel, stride, padding, (1,) * len(kernel), shape[len(lead):])
    cdef cnp.ndarray made = np.empty(lead + tuple(size), share.dtype)
    cdef Count planes = planes_of(made, len(kernel))
    cdef void *source = cnp.PyArray_DATA(share)
    cdef void *target = cnp.PyArray_DATA(made)
    cdef bint narrow = kind_of(share) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            spread[float](<float *>source, <float *>target, planes, &g)
        else:
            spread[double](<double *>source, <double *>target, planes, &g)
    return made
