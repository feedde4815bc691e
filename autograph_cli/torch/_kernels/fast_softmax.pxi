# Softmax, its logarithm and its gradient, and the logarithm of sums of exponentials: a part of fast_rows.pyx.
#
# The steps are those of `softmax.py` and of `Reduction.logsumexp`.

cdef void center_lines(const real *a, real *out, real *top, Count outer, Count n, Count inner) noexcept nogil:
    """`center` along a dimension with `inner` elements in each step."""
    cdef Count i, j, k
    for i in range(outer):
        for j in range(inner):
            top[j] = a[j]
        for k in range(1, n):
            for j in range(inner):
                top[j] = a[k * inner + j] if a[k * inner + j] > top[j] else top[j]
        for k in range(n):
            for j in range(inner):
                out[k * inner + j] = a[k * inner + j] - top[j]
        a += n * inner
        out += n * inner


cdef void sum_lines(const real *a, real *total, Count outer, Count n, Count inner) noexcept nogil:
    cdef Count i, j, k
    for i in range(outer):
        for j in range(inner):
            total[j] = 0
        for k in range(n):
            for j in range(inner):
                total[j] = total[j] + a[j]
            a += inner
        total += inner


cdef void change_lines(real *a, const real *by, Count outer, Count n, Count inner, bint logarithm) noexcept nogil:
    """Each line less the number that it has for each of its elements, or divided by it."""
    cdef Count i, j, k
    for i in range(outer):
        for k in range(n):
            if logarithm:
                for j in range(inner):
                    a[j] = a[j] - by[j]
            else:
                for j in range(inner):
                    a[j] = a[j] / by[j]
            a += inner
        by += inner


cdef object powers(real kind, cnp.ndarray a, Count outer, Count n, Count inner, bint last, bint logarithm):
    """Softmax, or its logarithm, over n elements with `inner` between them; `last`: along the last dimension."""
    cdef cnp.ndarray out = like(a), power = like(a) if logarithm else out, total = new_of(a, outer * inner)
    cdef const real *source = <const real *>data(a)
    cdef real *made = <real *>data(out)
    cdef real *sums = <real *>data(total)
    cdef void *shares = data(power)
    with nogil:
        if inner > 1:
            center_lines(source, made, sums, outer, n, inner)
        else:
            center(source, made, outer, n)
        exp(<const real *>made, <real *>shares, outer * n * inner)
    if last:
        sums_of(kind, power, sums, outer, n)
    elif inner == 1:
        sum_rows(<const real *>data(power), sums, outer, n)
    else:
        sum_lines(<const real *>data(power), sums, outer, n, inner)
    with nogil:
        if logarithm:
            log(<const real *>sums, sums, outer * inner)
        if inner > 1:
            change_lines(made, sums, outer, n, inner, logarithm)
        elif logarithm:
            subtract(<const real *>made, <const real *>sums, made, outer, n)
        else:
            divide(made, <const real *>sums, outer, n)
    return out


cdef object powers_along(a, dim, bint logarithm):
    cdef int kind = kind_in_rows(a), d, last
    cdef Count place, outer, n, inner
    if kind < 0 or not number(dim, &place) or not cnp.PyArray_SIZE(a):
        return None
    last = cnp.PyArray_NDIM(<cnp.ndarray>a) - 1
    d = place + last + 1 if place < 0 else place
    if not 0 <= d <= last:
        return None
    outer, n, inner = product(a, 0, d), cnp.PyArray_DIM(a, d), product(a, d + 1, last + 1)
    if kind == cnp.NPY_FLOAT:
        return powers[float](0, a, outer, n, inner, d == last, logarithm)
    return powers[double](0, a, outer, n, inner, d == last, logarithm)


cdef object exponentials(real kind, cnp.ndarray a, cnp.ndarray out, Count many, Count n):
    """The logarithm of the sum of the exponentials of each row."""
    cdef cnp.ndarray apart = like(a), tops = new_of(a, many)
    cdef const real *source = <const real *>data(a)
    cdef real *top = <real *>data(tops)
    cdef real *less = <real *>data(apart)
    cdef real *made = <real *>data(out)
    cdef Count i
    with nogil:
        for i in range(many):
            top[i] = largest_f(source + i * n, n) if real is float else largest_d(source + i * n, n)
            if top[i] == INFINITY or top[i] == -INFINITY:
                top[i] = 0
        subtract(source, <const real *>top, less, many, n)
        exp(<const real *>less, less, many * n)
    if many * n > FEW:
        sums_of(kind, apart, made, many, n)
    else:
        sum_rows(<const real *>less, made, many, n)
    log(<const real *>made, made, many)
    for i in range(many):
        made[i] = made[i] + top[i]
    return out if cnp.PyArray_NDIM(out) else out[()]


def logsumexp(a, dim, keepdim=False):
    """Compute `Reduction.logsumexp` of rows."""
    cdef int kind = kind_in_rows(a), d, last
    cdef Count place, n, many
    cdef cnp.npy_intp shape[64]
    if kind < 0 or not cnp.PyArray_SIZE(a) or not numbers(dim, 1, &place):
        return None
    last = cnp.PyArray_NDIM(<cnp.ndarray>a) - 1
    if last < 0 or place != -1 and place != last or last == 0 and cnp.PyArray_SIZE(a) > FEW:
        return None
    for d in range(last):
        shape[d] = cnp.PyArray_DIM(a, d)
    shape[last] = 1
    n, many = cnp.PyArray_DIM(a, last), product(a, 0, last)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(last + 1 if keepdim else last, shape, kind)
    if kind == cnp.NPY_FLOAT:
        return exponentials[float](0, a, out, many, n)
    return exponentials[double](0, a, out, many, n)


cdef object powers_back(real kind, cnp.ndarray grad, cnp.ndarray made, bint logarithm):
    """The gradient of softmax over rows, or of its logarithm."""
    cdef Count n = length(made), many = cnp.PyArray_SIZE(made) // n
    cdef cnp.ndarray out = like(made), total = new_of(made, many)
    cdef const real *given = <const real *>data(grad)
    cdef const real *shares = <const real *>data(made)
    cdef real *to = <real *>data(out)
    cdef real *sums = <real *>data(total)
    if logarithm:
        sums_of(kind, grad, sums, many, n)
        with nogil:
            exp(shares, to, many * n)
            less_scaled(given, <const real *>to, <const real *>sums, to, many, n)
    else:
        with nogil:
            times_each(given, shares, to, 1, many * n, 1)
        sums_of(kind, out, sums, many, n)
        with nogil:
            less_scaled(<const real *>to, shares, <const real *>sums, to, many, n)
    return out


cdef object powers_back_along(grad, made, dim, bint logarithm):
    cdef int kind = kind_in_rows(made)
    cdef Count place, last
    if kind < 0 or kind_in_rows(grad) != kind or not cnp.PyArray_SIZE(made) or not number(dim, &place):
        return None
    last = cnp.PyArray_NDIM(<cnp.ndarray>made) - 1
    if last < 0 or place != -1 and place != last or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>grad, <cnp.ndarray>made):
        return None
    if kind == cnp.NPY_FLOAT:
        return powers_back[float](0, grad, made, logarithm)
    return powers_back[double](0, grad, made, logarithm)


def softmax_backward(grad, made, dim):
    return powers_back_along(grad, made, dim, False)


def log_softmax_backward(grad, made, dim):
    return powers_back_along(grad, made, dim, True)


def softmax(a, dim):
    return powers_along(a, dim, False)


def log_softmax(a, dim):
    return powers_along(a, dim, True)
