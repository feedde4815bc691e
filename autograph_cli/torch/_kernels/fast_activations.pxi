# Activations as a whole, in the steps of `activation.py`, `gaussian.py` and `softmax.py`: a part of fast_special.pyx.

ctypedef void (*Narrow)(const float *, float *, float, float, Count) noexcept nogil
ctypedef void (*Wide)(const double *, double *, double, double, Count) noexcept nogil

cdef extern from *:
    """
    #define EACH(name, real, ...) CLONED static void name(const real *a, real *out, real p, real q, ptrdiff_t n) { \
        ptrdiff_t i; const real one = 1, half = (real)0.5; (void)one; (void)half; \
        ELEMENTS for (i = 0; i < n; i++) { __VA_ARGS__ } }
    #define BOTH(name, ...) EACH(name##_f, float, __VA_ARGS__) EACH(name##_d, double, __VA_ARGS__)
    BOTH(low_part, out[i] = (a[i] > 0 ? 0 : a[i]) * p;)
    BOTH(joined, out[i] = a[i] <= 0 ? out[i] * p : a[i] * q;)
    BOTH(cubic, out[i] = (a[i] * a[i] * p + q) * a[i];)
    BOTH(shared, out[i] = (out[i] + one) * half * a[i];)
    """
    void low_part_f(const float *, float *, float, float, Count) noexcept nogil
    void low_part_d(const double *, double *, double, double, Count) noexcept nogil
    void joined_f(const float *, float *, float, float, Count) noexcept nogil
    void joined_d(const double *, double *, double, double, Count) noexcept nogil
    void cubic_f(const float *, float *, float, float, Count) noexcept nogil
    void cubic_d(const double *, double *, double, double, Count) noexcept nogil
    void shared_f(const float *, float *, float, float, Count) noexcept nogil
    void shared_d(const double *, double *, double, double, Count) noexcept nogil


cdef inline void each(Narrow narrow, Wide wide, cnp.ndarray a, cnp.ndarray out, double p, double q) noexcept:
    """A pass, in the dtype of `a`."""
    cdef bint of_floats = kind_of(a) == cnp.NPY_FLOAT
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *to = cnp.PyArray_DATA(out)
    cdef Count n = cnp.PyArray_SIZE(a)
    with nogil:
        if of_floats:
            narrow(<float *>source, <float *>to, <float>p, <float>q, n)
        else:
            wide(<double *>source, <double *>to, p, q, n)


def elu(a, p, q, s):
    """p (exp(s a) - 1), and q a above 0; None of what is not in one piece."""
    if not suits(a):
        return None
    cdef cnp.ndarray out = PyArray_NewLikeArray(<cnp.ndarray>a, cnp.NPY_CORDER, NULL, 0)
    if cnp.PyArray_SIZE(out) >= LARGE and threads.count > 1:
        return threads.shared(lambda x, to: put_elu(x, to, p, q, s), (a,), out)
    return put_elu(a, out, p, q, s)


cdef object put_elu(cnp.ndarray a, cnp.ndarray out, double p, double q, double s):
    each(low_part_f, low_part_d, a, out, s, 0)
    if near_zero(out, out, True) is None:
        EXPM1(out, out)
    each(joined_f, joined_d, a, out, p, q)
    return out


def gelu_tanh(a, double p, double q):
    """a / 2 (1 + tanh(a (p a^2 + q))); None of what is not in one piece."""
    if not suits(a):
        return None
    cdef cnp.ndarray out = PyArray_NewLikeArray(<cnp.ndarray>a, cnp.NPY_CORDER, NULL, 0)
    each(cubic_f, cubic_d, a, out, p, q)
    TANH(out, out)
    each(shared_f, shared_d, a, out, 0, 0)
    return out


cdef bint suits(object a) noexcept:
    return kind_of(a) >= 0 and cnp.PyArray_NDIM(<cnp.ndarray>a) > 0


cdef int log_of_one_more(cnp.ndarray a) except -1:
    """log(1 + a), in its place."""
    if kind_of(a) == cnp.NPY_FLOAT:
        log1p_f(<float *>cnp.PyArray_DATA(a), <float *>cnp.PyArray_DATA(a), cnp.PyArray_SIZE(a))
    else:
        LOG1P(a, a)
    return 0


cdef void less_size(const real *a, real *out, Count n) noexcept nogil:
    """-|a|."""
    cdef Count i
    for i in range(n):
        out[i] = a[i] if a[i] < 0 else -a[i]


cdef void above(const real *a, real *out, Count n, real most) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = a[i] if a[i] > most else out[i]


cdef void with_positive(const real *a, real *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = (a[i] if a[i] > 0 else 0) + out[i]


cdef void from_negative(const real *a, real *out, Count n) noexcept nogil:
    cdef Count i
    for i in range(n):
        out[i] = (a[i] if a[i] < 0 else 0) - out[i]


cdef cnp.ndarray small_power(cnp.ndarray a):
    """exp(-|a|)."""
    cdef cnp.ndarray out = PyArray_NewLikeArray(a, cnp.NPY_CORDER, NULL, 0)
    cdef void *source = cnp.PyArray_DATA(a)
    cdef void *to = cnp.PyArray_DATA(out)
    if kind_of(a) == cnp.NPY_FLOAT:
        less_size(<float *>source, <float *>to, cnp.PyArray_SIZE(a))
    else:
        less_size(<double *>source, <double *>to, cnp.PyArray_SIZE(a))
    EXP(out, out)
    return out


def softplus(a, double most):
    """log(1 + exp(a)), and `a` itself above `most`; None of what is not in one piece."""
    if not suits(a):
        return None
    cdef cnp.ndarray out = EXP(a)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    log_of_one_more(out)
    if kind_of(a) == cnp.NPY_FLOAT:
        above(<float *>source, <float *>to, cnp.PyArray_SIZE(out), <float>most)
    else:
        above(<double *>source, <double *>to, cnp.PyArray_SIZE(out), most)
    return out


def tanh_softplus(a):
    """tanh(log(1 + exp(a))); None of what is not in one piece."""
    if not suits(a):
        return None
    cdef cnp.ndarray out = small_power(a)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    log_of_one_more(out)
    if kind_of(a) == cnp.NPY_FLOAT:
        with_positive(<float *>source, <float *>to, cnp.PyArray_SIZE(out))
    else:
        with_positive(<double *>source, <double *>to, cnp.PyArray_SIZE(out))
    TANH(out, out)
    return out


def log_sigmoid(a):
    """log(1 / (1 + exp(-a))), and exp(-|a|); None of what is not in one piece."""
    if not suits(a):
        return None
    cdef cnp.ndarray power = small_power(a), out = cnp.PyArray_NewCopy(power, cnp.NPY_CORDER)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(out)
    log_of_one_more(out)
    if kind_of(a) == cnp.NPY_FLOAT:
        from_negative(<float *>source, <float *>to, cnp.PyArray_SIZE(out))
    else:
        from_negative(<double *>source, <double *>to, cnp.PyArray_SIZE(out))
    return out, power
