# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rules of optimizers (see optim/_elementwise.py) in one pass over the parameter, its gradient and its state.

Each element is computed by the operations of the rule, rounded one by one. Arrays of float32 or float64 in one piece.
"""

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of

cnp.import_array()

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>
    #define ADAM(real, name, root, ...) CLONED static void name(real *p, const real *grad, real *mean, real *square, real *largest, \\
        real decay, real shrink, real rest1, int near, real beta2, real rest2, real correction, real eps, real step, \\
        ptrdiff_t n) { ptrdiff_t i; \\
        ELEMENTS for (i = 0; i < n; i++) { \\
            real g = p[i] * decay + grad[i], x = p[i] * shrink, m = mean[i], s = square[i], most; \\
            g = decay != 0 ? g : grad[i]; \\
            m = near ? m + (g - m) * rest1 : g - (g - m) * rest1; \\
            s = s * beta2 + g * rest2 * g; \\
            mean[i] = m; \\
            square[i] = s; \\
            most = s; \\
            __VA_ARGS__ \\
            p[i] = x + m * step / (root(most) / correction + eps); } }
    #define LARGEST most = (largest[i] >= s) | (largest[i] != largest[i]) ? largest[i] : s; largest[i] = most;
    ADAM(float, adam_f, sqrtf, (void)largest;)
    ADAM(double, adam_d, sqrt, (void)largest;)
    ADAM(float, amsgrad_f, sqrtf, LARGEST)
    ADAM(double, amsgrad_d, sqrt, LARGEST)
    #define SGD(real, name) CLONED static void name(real *p, const real *grad, real lr, real decay, ptrdiff_t n) { \\
        ptrdiff_t i; \\
        if (decay != 0) ELEMENTS for (i = 0; i < n; i++) p[i] = p[i] + (p[i] * decay + grad[i]) * lr; \\
        else ELEMENTS for (i = 0; i < n; i++) p[i] = p[i] + grad[i] * lr; }
    SGD(float, sgd_f)
    SGD(double, sgd_d)
    #define MOMENTUM(real, name) CLONED static void name(real *p, const real *grad, real *buffer, real lr, real decay, \\
        real momentum, real share, int first, int nesterov, ptrdiff_t n) { ptrdiff_t i; \\
        ELEMENTS for (i = 0; i < n; i++) { \\
            real g = p[i] * decay + grad[i], b; \\
            g = decay != 0 ? g : grad[i]; \\
            b = first ? g : buffer[i] * momentum + g * share; \\
            buffer[i] = b; \\
            p[i] = p[i] + (nesterov ? b * momentum + g : b) * lr; } }
    MOMENTUM(float, momentum_f)
    MOMENTUM(double, momentum_d)
    """
    void adam_f(float *, float *, float *, float *, float *, float, float, float, bint, float, float, float, float, float,
        Count) noexcept nogil
    void adam_d(double *, double *, double *, double *, double *, double, double, double, bint, double, double, double,
        double, double, Count) noexcept nogil
    void amsgrad_f(float *, float *, float *, float *, float *, float, float, float, bint, float, float, float, float, float,
        Count) noexcept nogil
    void amsgrad_d(double *, double *, double *, double *, double *, double, double, double, bint, double, double, double,
        double, double, Count) noexcept nogil
    void sgd_f(float *, float *, float, float, Count) noexcept nogil
    void sgd_d(double *, double *, double, double, Count) noexcept nogil
    void momentum_f(float *, float *, float *, float, float, float, float, bint, bint, Count) noexcept nogil
    void momentum_d(double *, double *, double *, double, double, double, double, bint, bint, Count) noexcept nogil


def fits(tuple arrays):
    """Return whether these are arrays of float32 or float64 in one piece, of one size and dtype."""
    cdef int kind = kind_of(arrays[0])
    if kind < 0 or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>arrays[0]):
        return False
    for a in arrays[1:]:
        if kind_of(a) != kind or cnp.PyArray_SIZE(<cnp.ndarray>a) != cnp.PyArray_SIZE(<cnp.ndarray>arrays[0]):
            return False
    return True


def adam(f, cnp.ndarray p, cnp.ndarray grad, tuple state, tuple numbers):
    """`Adam.rule`."""
    by, shrunk, rest, beta2, rest2, correction, eps, step = numbers
    cdef double decay = by if shrunk is None else 0, shrink = 1 if shrunk is None or by == 0 else shrunk
    cdef double b = beta2, c = rest2, d = correction, e = eps, s = step, w = rest
    cdef bint near = w < 0.5
    w = w if near else 1 - w
    cdef void *x = cnp.PyArray_DATA(p)
    cdef void *g = cnp.PyArray_DATA(grad)
    cdef void *mean = cnp.PyArray_DATA(<cnp.ndarray>state[0])
    cdef void *square = cnp.PyArray_DATA(<cnp.ndarray>state[1])
    cdef Count n = cnp.PyArray_SIZE(p)
    cdef void *most = cnp.PyArray_DATA(<cnp.ndarray>state[2]) if len(state) == 3 else NULL
    cdef bint narrow = cnp.PyArray_TYPE(p) == cnp.NPY_FLOAT
    with nogil:
        if narrow and most == NULL:
            adam_f(<float *>x, <float *>g, <float *>mean, <float *>square, NULL, <float>decay, <float>shrink, <float>w, near,
                <float>b, <float>c, <float>d, <float>e, <float>s, n)
        elif narrow:
            amsgrad_f(<float *>x, <float *>g, <float *>mean, <float *>square, <float *>most, <float>decay, <float>shrink,
                <float>w, near, <float>b, <float>c, <float>d, <float>e, <float>s, n)
        elif most == NULL:
            adam_d(<double *>x, <double *>g, <double *>mean, <double *>square, NULL, decay, shrink, w, near, b, c, d, e, s, n)
        else:
            amsgrad_d(<double *>x, <double *>g, <double *>mean, <double *>square, <double *>most, decay, shrink, w, near, b,
                c, d, e, s, n)


def sgd(f, cnp.ndarray p, cnp.ndarray grad, tuple state, tuple numbers):
    """`SGD.rule`."""
    rate, times, part, by, nesterov = numbers
    cdef double lr = rate, decay = by, momentum = times, share = 1 if part is None else part
    cdef bint first = part is None, ahead = nesterov, narrow = cnp.PyArray_TYPE(p) == cnp.NPY_FLOAT
    cdef void *x = cnp.PyArray_DATA(p)
    cdef void *g = cnp.PyArray_DATA(grad)
    cdef void *buffer = cnp.PyArray_DATA(<cnp.ndarray>state[0]) if state else NULL
    cdef Count n = cnp.PyArray_SIZE(p)
    with nogil:
        if narrow and buffer == NULL:
            sgd_f(<float *>x, <float *>g, <float>lr, <float>decay, n)
        elif narrow:
            momentum_f(<float *>x, <float *>g, <float *>buffer, <float>lr, <float>decay, <float>momentum, <float>share,
                first, ahead, n)
        elif buffer == NULL:
            sgd_d(<double *>x, <double *>g, lr, decay, n)
        else:
            momentum_d(<double *>x, <double *>g, <double *>buffer, lr, decay, momentum, share, first, ahead, n)
