# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Casts between 16-bit floats and float32 by the processor's instructions, rounded as NumPy and ml_dtypes round them."""

import ml_dtypes
import numpy as np

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of

cnp.import_array()

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    #include <immintrin.h>
    static int has_halves(void) { return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c"); }
    __attribute__((target("avx,f16c"))) static void widen_half(const uint16_t *a, float *out, ptrdiff_t n) {
        ptrdiff_t i;
        for (i = 0; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i))));
        for (; i < n; i++) out[i] = _cvtsh_ss(a[i]); }
    __attribute__((target("avx,f16c"))) static void round_half(const float *a, uint16_t *out, ptrdiff_t n) {
        ptrdiff_t i;
        for (i = 0; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(a + i), 0));
        for (; i < n; i++) out[i] = _cvtss_sh(a[i], 0); }
    #else
    static int has_halves(void) { return 0; }
    static void widen_half(const uint16_t *a, float *out, ptrdiff_t n) {}
    static void round_half(const float *a, uint16_t *out, ptrdiff_t n) {}
    #endif
    CLONED static void widen_brain(const uint16_t *a, float *out, ptrdiff_t n) {
        ptrdiff_t i; uint32_t *to = (uint32_t *)out;
        ELEMENTS for (i = 0; i < n; i++) to[i] = (uint32_t)a[i] << 16; }
    /* To the nearest, of two to the even one; nan keeps its sign only. */
    CLONED static void round_brain(const float *a, uint16_t *out, ptrdiff_t n) {
        ptrdiff_t i; const uint32_t *from = (const uint32_t *)a;
        ELEMENTS for (i = 0; i < n; i++) {
            const uint32_t x = from[i], high = (x + 0x7FFF + ((x >> 16) & 1)) >> 16, none = ((x >> 16) & 0x8000) | 0x7FC0;
            out[i] = (uint16_t)((x & 0x7FFFFFFF) > 0x7F800000 ? none : high); } }
    """
    bint has_halves() noexcept
    void widen_half(const cnp.uint16_t *a, float *out, Count n) noexcept nogil
    void round_half(const float *a, cnp.uint16_t *out, Count n) noexcept nogil
    void widen_brain(const cnp.uint16_t *a, float *out, Count n) noexcept nogil
    void round_brain(const float *a, cnp.uint16_t *out, Count n) noexcept nogil

cdef int BRAIN = np.dtype(ml_dtypes.bfloat16).num
cdef bint HALVES = has_halves()


def to_float32(a):
    """A 16-bit array of one piece in float32; None for anything else."""
    cdef cnp.ndarray out
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a) or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    if kind != BRAIN and not (kind == cnp.NPY_FLOAT16 and HALVES):
        return None
    out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>a), cnp.PyArray_DIMS(<cnp.ndarray>a), cnp.NPY_FLOAT)
    cdef cnp.uint16_t *source = <cnp.uint16_t *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef float *to = <float *>cnp.PyArray_DATA(out)
    with nogil:
        if kind == BRAIN:
            widen_brain(source, to, cnp.PyArray_SIZE(out))
        else:
            widen_half(source, to, cnp.PyArray_SIZE(out))
    return out


def rounded(a, cnp.dtype dtype):
    """An array of float32 of one piece in a 16-bit dtype; None for anything else."""
    cdef cnp.ndarray out
    if kind_of(a) != cnp.NPY_FLOAT or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    if dtype.num != BRAIN and not (dtype.num == cnp.NPY_FLOAT16 and HALVES):
        return None
    cdef bint brain = dtype.num == BRAIN
    out = np.empty(a.shape, dtype)
    cdef float *source = <float *>cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef cnp.uint16_t *to = <cnp.uint16_t *>cnp.PyArray_DATA(out)
    with nogil:
        if brain:
            round_brain(source, to, cnp.PyArray_SIZE(out))
        else:
            round_half(source, to, cnp.PyArray_SIZE(out))
    return out
