# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The draws that generator.py makes most: uniform and normal numbers of float32 and float64, zeros and ones by chance, permutations.

The numbers are those of NumPy's Mersenne twister, read one by one from its capsule; logarithms, sines and cosines are
NumPy's, and the rest is rounded as there, so that the bits are the same.
"""

import numpy as np

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport sqrt, sqrtf

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        cnp.uint64_t (*next_raw)(void *state) noexcept nogil

cdef object LOG = np.log, SIN = np.sin, COS = np.cos
cdef double TURN = 6.283185307179586


cdef bitgen_t *twister_of(object twister) except NULL:
    return <bitgen_t *>PyCapsule_GetPointer(twister.capsule, "BitGenerator")


cdef cnp.ndarray of_shape(object shape, int kind):
    """A new array; its length is that of all dimensions together."""
    cdef cnp.npy_intp[64] sizes
    cdef int d, ndim = len(shape)
    if ndim > 64:
        return None
    for d in range(ndim):
        sizes[d] = shape[d]
    return cnp.PyArray_EMPTY(ndim, sizes, kind, 0)


cdef inline int kind_named(object dtype) except? -2:
    """NPY_FLOAT or NPY_DOUBLE, or -1."""
    cdef int kind = (<cnp.dtype>dtype).num if isinstance(dtype, cnp.dtype) else -1
    return kind if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE else -1


cdef inline real drawn(bitgen_t *twister, real like) noexcept nogil:
    """A number from 0 to 1: of 24 bits for float32, of 53 for float64, whose first draw is the high half."""
    cdef cnp.uint64_t high
    if real is float:
        return <float>(twister.next_raw(twister.state) & 0xFFFFFF) * <float>5.9604644775390625e-08
    else:
        high = twister.next_raw(twister.state) << 32
        return <double>((high | twister.next_raw(twister.state)) & 0x1FFFFFFFFFFFFFULL) * 1.1102230246251565e-16


cdef void fill(bitgen_t *twister, real *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = drawn(twister, <real>0)


cdef void fill_between(bitgen_t *twister, float *out, Count n, float low, float high) noexcept nogil:
    """Rounding may reach the open end, which then stands for the closed one."""
    cdef Count i
    cdef float found
    cdef double width = <float>(high - low)
    for i in range(n):
        found = <float>(<double>drawn(twister, <float>0) * width + <double>low)
        out[i] = low if found >= high else found


def uniform(twister, shape, dtype, double low, double high):
    """Numbers from `low` to `high`; None for other dtypes, and for float64 where these are not 0 and 1."""
    cdef int kind = kind_named(dtype)
    cdef bint unit = low == 0 and high == 1
    cdef cnp.ndarray out
    cdef bitgen_t *source
    if kind < 0 or not (unit or kind == cnp.NPY_FLOAT):
        return None
    if (out := of_shape(shape, kind)) is None:
        return None
    source = twister_of(twister)
    if kind == cnp.NPY_DOUBLE:
        fill(source, <double *>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out))
    elif unit:
        fill(source, <float *>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out))
    else:
        fill_between(source, <float *>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out), <float>low, <float>high)
    return out


cdef void prepare(bitgen_t *twister, real *radii, real *angles, Count blocks) noexcept nogil:
    """Take the first 8 of each block of 16 for radii, the others for angles."""
    cdef Count i, j
    for i in range(blocks):
        for j in range(8):
            radii[8 * i + j] = 1 - drawn(twister, <real>0)
        for j in range(8):
            angles[8 * i + j] = <real>TURN * drawn(twister, <real>0)


cdef inline real scaled(real x, double mean, double std) noexcept nogil:
    """PyTorch multiplies and adds float32 in one step: rounded once, as here after float64."""
    if real is float:
        if mean != 0:
            return <float>(<double>x * <double><float>std + <double><float>mean)
    if std != 1:
        x = x * <real>std
    return x + <real>mean


cdef void finish(
    const real *logs, const real *cosines, const real *sines, real *out, Count blocks, double mean, double std
) noexcept nogil:
    """Element i of a block is paired with element i + 8."""
    cdef Count i, j, k
    cdef real radius
    for i in range(blocks):
        for j in range(8):
            k = 8 * i + j
            if real is float:
                radius = sqrtf(<real>-2 * logs[k])
            else:
                radius = sqrt(<real>-2 * logs[k])
            out[16 * i + j] = scaled(radius * cosines[k], mean, std)
            out[16 * i + j + 8] = scaled(radius * sines[k], mean, std)


cdef int blocks_into(object twister, void *out, int kind, Count blocks, double mean, double std) except -1:
    cdef cnp.npy_intp n = 8 * blocks
    cdef cnp.ndarray radii = cnp.PyArray_EMPTY(1, &n, kind, 0), angles = cnp.PyArray_EMPTY(1, &n, kind, 0)
    cdef cnp.ndarray cosines
    cdef bitgen_t *source = twister_of(twister)
    cdef void *first = cnp.PyArray_DATA(radii)
    cdef void *second = cnp.PyArray_DATA(angles)
    if kind == cnp.NPY_FLOAT:
        prepare(source, <float *>first, <float *>second, blocks)
    else:
        prepare(source, <double *>first, <double *>second, blocks)
    LOG(radii, radii)
    cosines = COS(angles)
    SIN(angles, angles)
    cdef void *third = cnp.PyArray_DATA(cosines)
    if kind == cnp.NPY_FLOAT:
        finish(<float *>first, <float *>third, <float *>second, <float *>out, blocks, mean, std)
    else:
        finish(<double *>first, <double *>third, <double *>second, <double *>out, blocks, mean, std)
    return 0


def normal(twister, shape, dtype, double mean, double std):
    """Normal numbers in blocks of 16, the last of which are drawn anew where they are fewer; None for other dtypes and
    for less than a block."""
    cdef int kind = kind_named(dtype)
    cdef cnp.ndarray out
    cdef Count n, i
    cdef bitgen_t *source
    cdef char *end
    if kind < 0 or not std >= 0 or (out := of_shape(shape, kind)) is None:
        return None
    n = cnp.PyArray_SIZE(out)
    if n < 16:
        return None
    blocks_into(twister, cnp.PyArray_DATA(out), kind, n // 16, mean, std)
    if n % 16:
        source = twister_of(twister)
        for i in range((n % 16) * (1 if kind == cnp.NPY_FLOAT else 2)):
            source.next_raw(source.state)
        end = <char *>cnp.PyArray_DATA(out) + (n - 16) * cnp.PyArray_ITEMSIZE(out)
        blocks_into(twister, end, kind, 1, mean, std)
    return out


cdef void around(real *out, const real *mean, double std, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = (out[i] if std == 1 else out[i] * <real>std) + mean[i]


def normal_around(twister, mean, double std):
    """Normal numbers, each around one of `mean`; None where `normal` gives none, and for arrays that are not in one piece."""
    cdef int kind = kind_of(mean)
    if kind < 0 or not std >= 0 or cnp.PyArray_SIZE(<cnp.ndarray>mean) < 16:
        return None
    cdef cnp.ndarray out = normal(twister, mean.shape, mean.dtype, 0, 1)
    if kind == cnp.NPY_FLOAT:
        around(<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(<cnp.ndarray>mean), std, cnp.PyArray_SIZE(out))
    else:
        around(<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(<cnp.ndarray>mean), std, cnp.PyArray_SIZE(out))
    return out


def bernoulli(twister, shape, dtype, double p):
    """Ones with probability `p`, zeros else; None for other dtypes than float32, float64 and bool."""
    cdef int kind = (<cnp.dtype>dtype).num if isinstance(dtype, cnp.dtype) else -1
    cdef cnp.ndarray out
    cdef Count i
    cdef bitgen_t *source
    if kind not in (cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_BOOL) or (out := of_shape(shape, kind)) is None:
        return None
    source = twister_of(twister)
    cdef void *to = cnp.PyArray_DATA(out)
    for i in range(cnp.PyArray_SIZE(out)):
        if kind == cnp.NPY_FLOAT:
            (<float *>to)[i] = drawn(source, <double>0) < p
        elif kind == cnp.NPY_DOUBLE:
            (<double *>to)[i] = drawn(source, <double>0) < p
        else:
            (<cnp.npy_bool *>to)[i] = drawn(source, <double>0) < p
    return out


cdef bint chances(const real *p, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        if not 0 <= p[i] <= 1:
            return False
    return True


cdef void choose(bitgen_t *twister, const real *p, real *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = drawn(twister, p[i]) < p[i]


def bernoulli_each(twister, p, dtype):
    """Ones with the probability of each element of `p`; None for other dtypes, and where one is no probability."""
    cdef int kind = kind_of(p)
    if kind < 0 or kind != kind_named(dtype):
        return None
    cdef Count n = cnp.PyArray_SIZE(p)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>p)
    if not (chances(<float *>source, n) if kind == cnp.NPY_FLOAT else chances(<double *>source, n)):
        return None
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(p), cnp.PyArray_DIMS(p), kind, 0)
    if kind == cnp.NPY_FLOAT:
        choose(twister_of(twister), <float *>source, <float *>cnp.PyArray_DATA(out), n)
    else:
        choose(twister_of(twister), <double *>source, <double *>cnp.PyArray_DATA(out), n)
    return out


def permutation(twister, cnp.ndarray numbers, bint wide):
    """Shuffle whole numbers in one piece: each is swapped with one from its place on, which is drawn of 32 or of 64 bits."""
    cdef bitgen_t *source = twister_of(twister)
    cdef cnp.int64_t *order = <cnp.int64_t *>cnp.PyArray_DATA(numbers)
    cdef Count i, there, n = cnp.PyArray_SIZE(numbers)
    cdef cnp.int64_t kept
    cdef cnp.uint64_t high
    for i in range(n - 1):
        if wide:
            high = source.next_raw(source.state) << 32
            there = i + <Count>((high | source.next_raw(source.state)) % <cnp.uint64_t>(n - i))
        else:
            there = i + <Count>(<cnp.uint32_t>source.next_raw(source.state) % <cnp.uint32_t>(n - i))
        kept = order[i]
        order[i] = order[there]
        order[there] = kept
