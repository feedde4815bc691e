# One half of rows times the sigmoid of the other, in the steps of `activation.py`: a part of fast_rows.pyx.


cdef void powers_of_gates(const real *a, real *out, Count outer, Count n) noexcept nogil:
    """exp(-x) of the second half of each row of 2 n numbers."""
    cdef Count i, j
    for i in range(outer):
        for j in range(n):
            out[i * n + j] = -a[(2 * i + 1) * n + j]
    exp(<const real *>out, out, outer * n)


cdef void gated(const real *a, real *out, Count outer, Count n) noexcept nogil:
    """The first half times the sigmoid, whose power is in `out`."""
    cdef Count i, j
    cdef real one = 1  # a literal would be of double precision
    for i in range(outer):
        for j in range(n):
            out[j] = a[j] * (one / (out[j] + one))
        a += 2 * n
        out += n


cdef void gated_back(const real *grad, const real *a, const real *power, real *out, Count outer, Count n) noexcept nogil:
    cdef Count i, j
    cdef real s, scaled, one = 1
    for i in range(outer):
        for j in range(n):
            s = one / (power[j] + one)
            scaled = grad[j] * s
            out[j] = scaled
            out[n + j] = scaled * (one - s) * a[j]
        grad += n
        power += n
        a += 2 * n
        out += 2 * n


cdef cnp.ndarray gates(real kind, cnp.ndarray a, cnp.ndarray out, Count outer, Count n):
    cdef const real *source = <const real *>data(a)
    cdef real *to = <real *>data(out)
    with nogil:
        powers_of_gates(source, to, outer, n)
        gated(source, to, outer, n)
    return out


cdef cnp.ndarray gates_back(real kind, cnp.ndarray grad, cnp.ndarray a, Count outer, Count n):
    cdef cnp.ndarray power = new_of(a, outer * n), out = like(a)
    cdef const real *given = <const real *>data(grad)
    cdef const real *source = <const real *>data(a)
    cdef real *between = <real *>data(power)
    cdef real *to = <real *>data(out)
    with nogil:
        powers_of_gates(source, between, outer, n)
        gated_back(given, source, <const real *>between, to, outer, n)
    return out


cdef int halved(object a, object dim, cnp.npy_intp *shape, Count *outer, Count *n) noexcept:
    """The kind of an array, and what its halves along `dim` are; -1 where it has none or is not simple."""
    cdef int d, dims, kind = kind_in_rows(a)
    cdef Count place
    if kind < 0 or not number(dim, &place) or not cnp.PyArray_SIZE(<cnp.ndarray>a):
        return -1
    dims = cnp.PyArray_NDIM(<cnp.ndarray>a)
    place = place + dims if place < 0 else place
    if not 0 <= place < dims or cnp.PyArray_DIM(<cnp.ndarray>a, place) % 2:
        return -1
    for d in range(dims):
        shape[d] = cnp.PyArray_DIM(<cnp.ndarray>a, d) // (2 if d == place else 1)
    outer[0] = product(<cnp.ndarray>a, 0, place)
    n[0] = cnp.PyArray_SIZE(<cnp.ndarray>a) // (2 * outer[0])
    return kind


def glu(a, dim):
    cdef cnp.npy_intp shape[64]
    cdef Count outer, n
    cdef int kind = halved(a, dim, shape, &outer, &n)
    if kind < 0:
        return None
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(<cnp.ndarray>a), shape, kind)
    return gates[float](0, a, out, outer, n) if kind == cnp.NPY_FLOAT else gates[double](0, a, out, outer, n)


def glu_backward(grad, a, dim):
    cdef cnp.npy_intp shape[64]
    cdef Count outer, n
    cdef int d, kind = halved(a, dim, shape, &outer, &n)
    grad = in_order(grad)
    if kind < 0 or kind_of(grad) != kind or cnp.PyArray_NDIM(<cnp.ndarray>grad) != cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>a)):
        if cnp.PyArray_DIM(<cnp.ndarray>grad, d) != shape[d]:
            return None
    return gates_back[float](0, grad, a, outer, n) if kind == cnp.NPY_FLOAT else gates_back[double](0, grad, a, outer, n)
