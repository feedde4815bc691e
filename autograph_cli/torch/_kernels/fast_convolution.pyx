# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Windows of images, copied out and added up: what `convolution.py` does with views of NumPy, element by element the same.

Images of one or two spatial dimensions, float32 or float64, each array in one piece.
"""

import numpy as np

cimport numpy as cnp
from libc.string cimport memset

from autograph_cli.torch._kernels.fast_arrays cimport Count, Geometry, bounded, geometry, inside, kind_in_rows, kind_of, number, numbers, real

cnp.import_array()

cdef extern from *:
    """
    #include <string.h>
    #define COPY(size) for (; many--; to += to_apart, from += from_apart) { \
        size_t at = 0; \
        for (; at + size < bytes; at += size) memcpy(to + at, from + at, size); \
        memcpy(to + bytes - size, from + bytes - size, size); }
    /* Many runs of some bytes each, for which a call of memcpy takes longer than the copy; the last block of a run
       may lie over the one before it. */
    static void copy_runs(char *to, size_t to_apart, const char *from, size_t from_apart, size_t bytes, size_t many) {
        if (bytes == 32) for (; many--; to += to_apart, from += from_apart) memcpy(to, from, 32);
        else if (bytes >= 32) COPY(32)
        else if (bytes >= 16) COPY(16)
        else if (bytes >= 8) COPY(8)
        else if (bytes) COPY(4)
    }
    """
    void copy_runs(
        char *to, size_t to_apart, const char *source, size_t from_apart, size_t bytes, size_t many
    ) noexcept nogil


# ---------------------------------------------------------------- windows


cdef void copy_windows(real *image, real *out, Count planes, Geometry *g) noexcept nogil:
    cdef Count plane, ki, kj, i, j, across, down, top, bottom, low, high, step = g.stride[1], width = g.out[1]
    cdef real *line
    for plane in range(planes):
        for ki in range(g.kernel[0]):
            down = ki * g.dilation[0] - g.padding[0]
            inside(g.size[0], down, g.stride[0], g.out[0], &top, &bottom)
            for kj in range(g.kernel[1]):
                across = kj * g.dilation[1] - g.padding[1]
                inside(g.size[1], across, step, width, &low, &high)
                if bottom - top < g.out[0] or high - low < width:
                    memset(out, 0, g.out[0] * width * sizeof(real))
                line = image + (down + top * g.stride[0]) * g.size[1] + across
                if step == 1:
                    copy_runs(
                        <char *>(out + top * width + low),
                        width * sizeof(real),
                        <char *>(line + low),
                        g.stride[0] * g.size[1] * sizeof(real),
                        (high - low) * sizeof(real),
                        bottom - top,
                    )
                else:
                    for i in range(top, bottom):
                        for j in range(low, high):
                            out[i * width + j] = line[j * step]
                        line += g.stride[0] * g.size[1]
                out += g.out[0] * width
        image += g.size[0] * g.size[1]


cdef inline cnp.ndarray empty(cnp.ndarray a, tuple rest):
    """An array for as many images and channels as `a` has."""
    return np.empty((<object>a).shape[:2] + rest, a.dtype)


def columns(cnp.ndarray a, kernel, stride, padding, dilation, out):
    """A copy of every window of the padded images (N, C, ...): (N, C, kernel elements, window numbers); None in three
    dimensions, and of windows of one element."""
    if cnp.PyArray_NDIM(a) > 4 or not any([k != 1 for k in kernel]):
        return None
    cdef Geometry g = geometry((<object>a).shape[2:], kernel, stride, padding, dilation, out)
    cdef cnp.ndarray to = empty(a, (g.kernel[0] * g.kernel[1], g.out[0] * g.out[1]))
    cdef Count planes = cnp.PyArray_DIM(a, 0) * cnp.PyArray_DIM(a, 1)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *target = cnp.PyArray_DATA(to)
    cdef int kind = kind_of(a)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            copy_windows[float](<float *>source, <float *>target, planes, &g)
        else:
            copy_windows[double](<double *>source, <double *>target, planes, &g)
    return to

# ---------------------------------------------------------------- sums of windows


cdef void add_windows(real *image, real *columns, Count planes, Geometry *g) noexcept nogil:
    cdef Count plane, ki, kj, i, j, across, down, top, bottom, low, high, step = g.stride[1], width = g.out[1]
    cdef real *line
    for plane in range(planes):
        memset(image, 0, g.size[0] * g.size[1] * sizeof(real))
        for ki in range(g.kernel[0]):
            down = ki * g.dilation[0] - g.padding[0]
            inside(g.size[0], down, g.stride[0], g.out[0], &top, &bottom)
            for kj in range(g.kernel[1]):
                across = kj * g.dilation[1] - g.padding[1]
                inside(g.size[1], across, step, width, &low, &high)
                line = image + (down + top * g.stride[0]) * g.size[1] + across
                for i in range(top, bottom):
                    if step == 1:
                        for j in range(low, high):
                            line[j] += columns[i * width + j]
                    else:
                        for j in range(low, high):
                            line[j * step] += columns[i * width + j]
                    line += g.stride[0] * g.size[1]
                columns += g.out[0] * width
        image += g.size[0] * g.size[1]


def images(cnp.ndarray columns, size, kernel, stride, padding, dilation, out):
    """Images (N, C, *size) in which all windows (N, C, kernel elements, window numbers) are added up; None in three
    dimensions."""
    if len(size) > 2:
        return None
    cdef Geometry g = geometry(size, kernel, stride, padding, dilation, out)
    cdef cnp.ndarray to = empty(columns, tuple(size))
    if (<object>columns).shape[2:] != (g.kernel[0] * g.kernel[1], g.out[0] * g.out[1]):
        raise ValueError("these are not the windows of such images")
    cdef Count planes = cnp.PyArray_DIM(to, 0) * cnp.PyArray_DIM(to, 1)
    cdef void *source = cnp.PyArray_DATA(columns)
    cdef void *target = cnp.PyArray_DATA(to)
    cdef int kind = kind_of(columns)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            add_windows[float](<float *>target, <float *>source, planes, &g)
        else:
            add_windows[double](<double *>target, <double *>source, planes, &g)
    return to


cdef void add_shifted(
    real *image, real *columns, real *wide, Count many, Count planes, Count length, Count line, Geometry *g
) noexcept nogil:
    cdef Count plane, ki, kj, i
    cdef real *there
    for plane in range(planes):
        memset(wide, 0, many * sizeof(real))
        for ki in range(g.kernel[0]):
            for kj in range(g.kernel[1]):
                there = wide + ki * g.dilation[0] * line + kj * g.dilation[1]
                for i in range(length):
                    there[i] += columns[i]
                columns += length
        there = wide + g.padding[0] * line + g.padding[1]
        copy_runs(
            <char *>image, g.size[1] * sizeof(real), <char *>there, line * sizeof(real), g.size[1] * sizeof(real), g.size[0]
        )
        image += g.size[0] * g.size[1]


def shifted_images(cnp.ndarray columns, size, kernel, padding, dilation, out):
    """As `images` with a stride of 1, of windows whose lines are as wide as the padded image's, the rest of them
    full of 0: a shift of a whole plane for each element of the kernel."""
    if len(size) > 2:
        return None
    cdef Geometry g = geometry(size, kernel, (1,) * len(kernel), padding, dilation, out)
    cdef cnp.ndarray to = empty(columns, tuple(size))
    cdef Count planes = cnp.PyArray_DIM(to, 0) * cnp.PyArray_DIM(to, 1), line = g.size[1] + 2 * g.padding[1]
    cdef Count length = g.out[0] * line if cnp.PyArray_NDIM(to) == 4 else g.out[1]
    cdef Count reach = (g.kernel[0] - 1) * g.dilation[0] * line + (g.kernel[1] - 1) * g.dilation[1]
    cdef Count many = max(length + reach, (g.size[0] + 2 * g.padding[0]) * line)
    cdef cnp.ndarray wide = np.empty(many, columns.dtype)
    cdef void *source = cnp.PyArray_DATA(columns)
    cdef void *target = cnp.PyArray_DATA(to)
    cdef void *between = cnp.PyArray_DATA(wide)
    cdef int kind = kind_of(columns)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            add_shifted[float](<float *>target, <float *>source, <float *>between, many, planes, length, line, &g)
        else:
            add_shifted[double](<double *>target, <double *>source, <double *>between, many, planes, length, line, &g)
    return to

# ---------------------------------------------------------------- one plane each: every channel its own group


cdef void correlate(real *image, real *weight, real *out, Count n, Count c, Geometry *g) noexcept nogil:
    cdef Count plane, ki, kj, i, j, across, down, top, bottom, low, high, step = g.stride[1], width = g.out[1]
    cdef real w, nothing
    cdef real *line
    cdef real *to
    for plane in range(n * c):
        memset(out, 0, g.out[0] * width * sizeof(real))
        for ki in range(g.kernel[0]):
            down = ki * g.dilation[0] - g.padding[0]
            inside(g.size[0], down, g.stride[0], g.out[0], &top, &bottom)
            for kj in range(g.kernel[1]):
                w = weight[((plane % c) * g.kernel[0] + ki) * g.kernel[1] + kj]
                nothing = 0 * w  # what the frame adds: a number unless the weight is none
                across = kj * g.dilation[1] - g.padding[1]
                inside(g.size[1], across, step, width, &low, &high)
                if nothing != 0:
                    for i in range(g.out[0]):
                        for j in range(width):
                            if not (top <= i < bottom and low <= j < high):
                                out[i * width + j] += nothing
                line = image + (down + top * g.stride[0]) * g.size[1] + across
                for i in range(top, bottom):
                    to = out + i * width
                    if step == 1:
                        for j in range(low, high):
                            to[j] += line[j] * w
                    else:
                        for j in range(low, high):
                            to[j] += line[j * step] * w
                    line += g.stride[0] * g.size[1]
        image += g.size[0] * g.size[1]
        out += g.out[0] * width


cdef void spread(real *image, real *weight, real *grad, Count n, Count c, Geometry *g) noexcept nogil:
    cdef Count plane, ki, kj, i, j, across, down, top, bottom, low, high, step = g.stride[1], width = g.out[1]
    cdef real w
    cdef real *line
    cdef real *by
    for plane in range(n * c):
        memset(image, 0, g.size[0] * g.size[1] * sizeof(real))
        for ki in range(g.kernel[0]):
            down = ki * g.dilation[0] - g.padding[0]
            inside(g.size[0], down, g.stride[0], g.out[0], &top, &bottom)
            for kj in range(g.kernel[1]):
                w = weight[((plane % c) * g.kernel[0] + ki) * g.kernel[1] + kj]
                across = kj * g.dilation[1] - g.padding[1]
                inside(g.size[1], across, step, width, &low, &high)
                line = image + (down + top * g.stride[0]) * g.size[1] + across
                for i in range(top, bottom):
                    by = grad + i * width
                    if step == 1:
                        for j in range(low, high):
                            line[j] += by[j] * w
                    else:
                        for j in range(low, high):
                            line[j * step] += by[j] * w
                    line += g.stride[0] * g.size[1]
        image += g.size[0] * g.size[1]
        grad += g.out[0] * width


include "fast_whole_convolution.pxi"
