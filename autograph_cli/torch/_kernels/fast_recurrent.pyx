# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The steps of an LSTM between its products, exponentials and hyperbolic tangents: what `recurrent.py` has NumPy do.

Gates (batch, 4 n) are input, forget, new and output, states (batch, n). Arrays of float32 or float64, each in one piece.
"""

import numpy as np

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, real

cnp.import_array()


cdef inline void *data(cnp.ndarray a) noexcept:
    return cnp.PyArray_DATA(a)


cdef void add(real *gates, const real *product, real *new, Count batch, Count n) noexcept nogil:
    cdef Count i, j
    for i in range(batch):
        for j in range(4 * n):
            gates[j] = gates[j] + product[j]
        for j in range(n):
            new[j] = gates[2 * n + j]
        for j in range(4 * n):
            gates[j] = -gates[j]
        gates += 4 * n
        product += 4 * n
        new += n


cdef void squash(real *gates, const real *new, const real *before, real *cell, Count batch, Count n) noexcept nogil:
    cdef Count i, j
    cdef real one = 1, a, f
    for i in range(batch):
        for j in range(n):
            a = one / (gates[j] + one)
            f = one / (gates[n + j] + one)
            gates[j], gates[n + j], gates[2 * n + j] = a, f, new[j]
            gates[3 * n + j] = one / (gates[3 * n + j] + one)
            cell[j] = f * before[j] + new[j] * a
        gates += 4 * n
        new += n
        before += n
        cell += n


cdef void let_out(real *h, const real *gates, Count batch, Count n) noexcept nogil:
    cdef Count i, j
    for i in range(batch):
        for j in range(n):
            h[j] = h[j] * gates[3 * n + j]
        gates += 4 * n
        h += n


def step(cnp.ndarray gates, cnp.ndarray product, cnp.ndarray new, cnp.ndarray before, cnp.ndarray cell, cnp.ndarray h):
    """One step forward: the product with the last output is added to `gates`, which are squashed; `cell` and `h` are the
    new states; `new` is for what is between."""
    if not cnp.PyArray_SAMESHAPE(gates, product) or not cnp.PyArray_SAMESHAPE(before, h):
        return None
    cdef Count batch = cnp.PyArray_DIM(h, 0), n = cnp.PyArray_DIM(h, 1)
    cdef bint narrow = kind_of(gates) == cnp.NPY_FLOAT
    if narrow:
        add(<float *>data(gates), <float *>data(product), <float *>data(new), batch, n)
    else:
        add(<double *>data(gates), <double *>data(product), <double *>data(new), batch, n)
    np.tanh(new, new)
    np.exp(gates, gates)
    if narrow:
        squash(<float *>data(gates), <float *>data(new), <float *>data(before), <float *>data(cell), batch, n)
    else:
        squash(<double *>data(gates), <double *>data(new), <double *>data(before), <double *>data(cell), batch, n)
    np.tanh(cell, h)
    if narrow:
        let_out(<float *>data(h), <float *>data(gates), batch, n)
    else:
        let_out(<double *>data(h), <double *>data(gates), batch, n)
    return True


cdef void derive(
    const real *gates, const real *before, const real *squashed, real *out, real *through, Count rows, Count n
) noexcept nogil:
    cdef Count i, j
    cdef real one = 1, a, f, g, o, s
    for i in range(rows):
        for j in range(n):
            a, f, g, o, s = gates[j], gates[n + j], gates[2 * n + j], gates[3 * n + j], squashed[j]
            out[j] = (one - a) * a * g
            out[n + j] = (one - f) * f * before[j]
            out[2 * n + j] = (one - g * g) * a
            out[3 * n + j] = (one - o) * o * s
            through[j] = (one - s * s) * o
        gates += 4 * n
        out += 4 * n
        before += n
        squashed += n
        through += n


def derivatives(cnp.ndarray gates, cnp.ndarray cells, cnp.ndarray before):
    """See `_lstm_derivatives`."""
    if not cnp.PyArray_SAMESHAPE(cells, before):
        return None
    cdef Count n = cnp.PyArray_DIM(cells, 2), rows = cnp.PyArray_DIM(cells, 0) * cnp.PyArray_DIM(cells, 1)
    cdef cnp.ndarray squashed = np.tanh(cells), through = np.empty_like(cells)
    cdef cnp.ndarray out = np.empty((*(<object>cells).shape[:2], 4, n), cells.dtype)
    if kind_of(gates) == cnp.NPY_FLOAT:
        derive(<float *>data(gates), <float *>data(before), <float *>data(squashed), <float *>data(out),
            <float *>data(through), rows, n)
    else:
        derive(<double *>data(gates), <double *>data(before), <double *>data(squashed), <double *>data(out),
            <double *>data(through), rows, n)
    return out, through


cdef void back(
    const real *grad_out, const real *grad_h, real *grad_c, const real *through, real *here, const real *gates, Count batch,
    Count n
) noexcept nogil:
    cdef Count i, j
    cdef real top, c
    for i in range(batch):
        for j in range(n):
            top = grad_out[j] + grad_h[j]
            c = grad_c[j] + top * through[j]
            here[j] = here[j] * c
            here[n + j] = here[n + j] * c
            here[2 * n + j] = here[2 * n + j] * c
            here[3 * n + j] = here[3 * n + j] * top
            grad_c[j] = c * gates[n + j]
        grad_out += n
        grad_h += n
        grad_c += n
        through += n
        here += 4 * n
        gates += 4 * n


def step_back(
    cnp.ndarray grad_out, cnp.ndarray grad_h, cnp.ndarray grad_c, cnp.ndarray through, cnp.ndarray here, cnp.ndarray gates
):
    """One step back: `here`, the derivatives of the gates, become their gradients, and `grad_c` that of the cell state
    before."""
    for each in (grad_out, grad_h, grad_c):
        if not cnp.PyArray_SAMESHAPE(through, each):
            return None
    cdef Count batch = cnp.PyArray_DIM(grad_c, 0), n = cnp.PyArray_DIM(grad_c, 1)
    if kind_of(gates) == cnp.NPY_FLOAT:
        back(<float *>data(grad_out), <float *>data(grad_h), <float *>data(grad_c), <float *>data(through),
            <float *>data(here), <float *>data(gates), batch, n)
    else:
        back(<double *>data(grad_out), <double *>data(grad_h), <double *>data(grad_c), <double *>data(through),
            <double *>data(here), <double *>data(gates), batch, n)
    return grad_c
