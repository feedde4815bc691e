# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Calls of LAPACK for batches of matrices: what `lapack.py` and `numpy.linalg` do, without the Python around it.

Arrays of float32 or float64, in any layout. LAPACK is the one that NumPy has loaded: `know` takes the addresses of its
routines, which are given what NumPy gives them, so that the bits are the same.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy, memset

from autograph_cli.torch._kernels.fast_arrays cimport Count, real

cnp.import_array()

ctypedef int64_t Number
ctypedef char *Text
ctypedef void (*Getrf)(Number *, Number *, void *, Number *, Number *, Number *) noexcept nogil
ctypedef void (*Potrf)(const char *, Number *, void *, Number *, Number *) noexcept nogil
ctypedef void (*Geqrf)(Number *, Number *, void *, Number *, void *, void *, Number *, Number *) noexcept nogil
ctypedef void (*Orgqr)(Number *, Number *, Number *, void *, Number *, void *, void *, Number *, Number *) noexcept nogil

cdef struct Routines:
    Getrf getrf
    Potrf potrf
    Geqrf geqrf
    Orgqr orgqr

cdef Routines[2] KNOWN
ROUTINES = ("getrf", "potrf", "geqrf", "orgqr")


def know(bint wide, uintptr_t getrf, uintptr_t potrf, uintptr_t geqrf, uintptr_t orgqr):
    """Keep the addresses of the routines of ROUTINES, for float64 or float32."""
    cdef Routines *to = &KNOWN[wide]
    to.getrf, to.potrf = <Getrf>getrf, <Potrf>potrf
    to.geqrf, to.orgqr = <Geqrf>geqrf, <Orgqr>orgqr


ctypedef void (*Routine)(
    void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
    void *, void *, void *, void *, void *, void *, void *, void *, void *, void *
) noexcept nogil


def each(uintptr_t address, Count count, tuple args):
    """Run a routine on each matrix of a batch, as `lapack.each` says it."""
    cdef Number[16] numbers
    cdef Text[20] at
    cdef Count[20] step
    cdef Count i, j
    cdef Routine run = <Routine>address
    if len(args) > 16:
        raise ValueError(f"a routine of {len(args)} arguments")
    for i in range(20):  # behind the arguments come the lengths of letters, which are 1
        at[i], step[i] = <char *>1, 0
    for i, x in enumerate(args):
        if isinstance(x, int):
            numbers[i] = x
            at[i] = <char *>&numbers[i]
        elif isinstance(x, bytes):
            at[i] = <char *>x
        else:
            at[i] = <char *>cnp.PyArray_DATA(<cnp.ndarray?>x)
            if cnp.PyArray_NDIM(<cnp.ndarray>x) > 1:
                step[i] = cnp.PyArray_NBYTES(<cnp.ndarray>x) // count
    with nogil:
        for j in range(count):
            run(
                at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9],
                at[10], at[11], at[12], at[13], at[14], at[15], at[16], at[17], at[18], at[19],
            )
            for i in range(16):
                at[i] += step[i]
    return True


cdef int kind_of_matrices(object a) noexcept:
    """NPY_FLOAT or NPY_DOUBLE for an array of matrices that have elements; -1 for anything else."""
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not cnp.PyArray_SIZE(<cnp.ndarray>a):
        return -1
    if not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>a):
        return -1
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    return kind if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE else -1


cdef cnp.ndarray empty(cnp.ndarray a, Count rows, Count columns, int kind=-1):
    """For matrices of this size, over the batch of `a`, of its dtype or of `kind`."""
    cdef cnp.npy_intp[64] shape
    cdef int d, last = cnp.PyArray_NDIM(a) - 1
    for d in range(last - 1):
        shape[d] = cnp.PyArray_DIM(a, d)
    shape[last - 1], shape[last] = rows, columns
    return cnp.PyArray_EMPTY(last + 1, shape, cnp.PyArray_TYPE(a) if kind < 0 else kind, 0)


cdef cnp.ndarray across(cnp.ndarray a):
    return cnp.PyArray_SwapAxes(a, cnp.PyArray_NDIM(a) - 2, cnp.PyArray_NDIM(a) - 1)


cdef cnp.ndarray turned_copy(cnp.ndarray a, int kind=-1):
    """The same matrices column by column: the transposes of them, row by row."""
    cdef int last = cnp.PyArray_NDIM(a) - 1
    cdef cnp.ndarray made = empty(a, cnp.PyArray_DIM(a, last), cnp.PyArray_DIM(a, last - 1), kind)
    cnp.PyArray_CopyInto(across(made), a)
    return made


def factored(a):
    """`lapack.factored`; None for anything but matrices of float32 or float64."""
    cdef int kind = kind_of_matrices(a)
    if kind < 0:
        return None
    cdef cnp.ndarray turned = turned_copy(a)
    cdef int d, last = cnp.PyArray_NDIM(turned) - 1
    cdef Number m = cnp.PyArray_DIM(turned, last), n = cnp.PyArray_DIM(turned, last - 1), k = min(m, n), zero
    cdef Count i, j, count = cnp.PyArray_SIZE(turned) // (m * n), step = m * n * cnp.PyArray_ITEMSIZE(turned)
    cdef cnp.npy_intp[64] shape
    for d in range(last - 1):
        shape[d] = cnp.PyArray_DIM(turned, d)
    shape[last - 1] = k
    cdef cnp.ndarray swapped = cnp.PyArray_EMPTY(last, shape, cnp.NPY_INT32, 0)
    cdef cnp.ndarray info = cnp.PyArray_EMPTY(last - 1, shape, cnp.NPY_INT32, 0)
    cdef cnp.ndarray swaps = cnp.PyArray_EMPTY(1, &shape[last - 1], cnp.NPY_INT64, 0)
    cdef Number *places = <Number *>cnp.PyArray_DATA(swaps)
    cdef cnp.int32_t *to = <cnp.int32_t *>cnp.PyArray_DATA(swapped)
    cdef cnp.int32_t *told = <cnp.int32_t *>cnp.PyArray_DATA(info)
    cdef char *matrix = <char *>cnp.PyArray_DATA(turned)
    cdef Getrf run = KNOWN[kind == cnp.NPY_DOUBLE].getrf
    with nogil:
        for i in range(count):
            zero = 0
            run(&m, &n, matrix + i * step, &m, places, &zero)
            told[i] = <cnp.int32_t>zero
            for j in range(k):
                to[i * k + j] = <cnp.int32_t>places[j]
    return across(turned), swapped, info[()]


cdef void unpack(
    const real *lu, Count down, Count along, const cnp.int32_t *swaps, real *lower, real *upper, real *order,
    Count *rows, Count m, Count n
) noexcept nogil:
    cdef Count i, j, k = min(m, n), held
    for i in range(m):
        for j in range(k):
            lower[i * k + j] = lu[i * down + j * along] if j < i else <real>(i == j)
    for i in range(k):
        for j in range(n):
            upper[i * n + j] = lu[i * down + j * along] if j >= i else 0
    for i in range(m):
        rows[i] = i
    for i in range(k):
        held = rows[swaps[i] - 1]
        rows[swaps[i] - 1] = rows[i]
        rows[i] = held
    memset(order, 0, m * m * sizeof(real))
    for i in range(m):
        order[rows[i] * m + i] = 1


def unpacked(lu, pivots):
    """L, U and the matrices P with P L U = A, of factors that lie one behind the other; None for anything else, or
    pivots that are none."""
    cdef int kind = kind_of_matrices(lu)
    if kind < 0 or not cnp.PyArray_CheckExact(pivots):
        return None
    cdef cnp.ndarray both = lu, swaps = pivots
    cdef int last = cnp.PyArray_NDIM(both) - 1
    if last > 1 and not cnp.PyArray_ISCARRAY_RO(both) and not cnp.PyArray_ISCARRAY_RO(across(both)):
        return None
    cdef Count m = cnp.PyArray_DIM(both, last - 1), n = cnp.PyArray_DIM(both, last), k = min(m, n), i
    cdef Count count = cnp.PyArray_SIZE(both) // (m * n)
    if cnp.PyArray_TYPE(swaps) != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(swaps):
        return None
    if cnp.PyArray_NDIM(swaps) != last or cnp.PyArray_SIZE(swaps) != k * count:
        return None
    cdef cnp.int32_t *at = <cnp.int32_t *>cnp.PyArray_DATA(swaps)
    for i in range(k * count):
        if not 1 <= at[i] <= m:
            return None
    cdef Count size = cnp.PyArray_ITEMSIZE(both)
    cdef Count down = cnp.PyArray_STRIDE(both, last - 1) // size, along = cnp.PyArray_STRIDE(both, last) // size
    cdef cnp.ndarray lower = empty(both, m, k), upper = empty(both, k, n), order = empty(both, m, m)
    cdef cnp.ndarray between = cnp.PyArray_EMPTY(1, cnp.PyArray_DIMS(both) + last - 1, cnp.NPY_INTP, 0)
    cdef char *source = <char *>cnp.PyArray_DATA(both)
    cdef char *to = <char *>cnp.PyArray_DATA(lower)
    cdef char *above = <char *>cnp.PyArray_DATA(upper)
    cdef char *turns = <char *>cnp.PyArray_DATA(order)
    cdef Count *rows = <Count *>cnp.PyArray_DATA(between)
    with nogil:
        for i in range(count):
            if kind == cnp.NPY_FLOAT:
                unpack(<float *>source, down, along, at, <float *>to, <float *>above, <float *>turns, rows, m, n)
            else:
                unpack(<double *>source, down, along, at, <double *>to, <double *>above, <double *>turns, rows, m, n)
            source, to, above = source + m * n * size, to + m * k * size, above + k * n * size
            turns, at = turns + m * m * size, at + k
    return lower, upper, order


cdef cnp.ndarray rounded(cnp.ndarray a, int kind):
    """The same matrices column by column: factors that are computed in double precision, as NumPy does it."""
    cdef cnp.ndarray made
    if kind == cnp.NPY_DOUBLE:
        return across(a)
    made = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), kind, 0)
    cnp.PyArray_CopyInto(made, a)
    return across(made)


def cholesky(a):
    """The lower factors, column by column; None where a matrix has none."""
    cdef int kind = kind_of_matrices(a)
    if kind < 0:
        return None
    cdef cnp.ndarray turned = turned_copy(a, cnp.NPY_DOUBLE)
    cdef int last = cnp.PyArray_NDIM(turned) - 1
    cdef Number n = cnp.PyArray_DIM(turned, last), bad = 0
    cdef Count i, j, count = cnp.PyArray_SIZE(turned) // (n * n)
    cdef double *matrix = <double *>cnp.PyArray_DATA(turned)
    with nogil:
        for i in range(count):
            KNOWN[True].potrf(b"L", &n, matrix, &n, &bad)
            if bad:
                break
            for j in range(1, n):
                memset(matrix + j * n, 0, j * sizeof(double))
            matrix += n * n
    return None if bad else rounded(turned, kind)


cdef void triangle(const double *a, double *r, Count m, Count n) noexcept nogil:
    """Copy what is on and above the diagonal, column by column, of as many rows as there are columns."""
    cdef Count i, j, k = min(m, n)
    for j in range(n):
        for i in range(k):
            r[j * k + i] = a[j * m + i] if i <= j else 0


def qr(a):
    """Q and R with as many columns and rows as the shorter side, column by column."""
    cdef int kind = kind_of_matrices(a)
    if kind < 0:
        return None
    cdef cnp.ndarray turned = turned_copy(a, cnp.NPY_DOUBLE)
    cdef int last = cnp.PyArray_NDIM(turned) - 1
    cdef Number m = cnp.PyArray_DIM(turned, last), n = cnp.PyArray_DIM(turned, last - 1), k = min(m, n), bad = 0
    cdef Number query = -1, first, second
    cdef Count i, count = cnp.PyArray_SIZE(turned) // (m * n)
    cdef cnp.ndarray q = empty(turned, k, m), r = empty(turned, n, k)
    cdef double asked = 0
    cdef Routines run = KNOWN[True]
    cdef double *matrix = <double *>cnp.PyArray_DATA(turned)
    cdef double *left = <double *>cnp.PyArray_DATA(q)
    cdef double *right = <double *>cnp.PyArray_DATA(r)
    run.geqrf(&m, &n, matrix, &m, &asked, &asked, &query, &bad)
    first = max(n, <Number>asked)
    run.orgqr(&m, &k, &k, left, &m, &asked, &asked, &query, &bad)
    second = max(k, <Number>asked)
    cdef cnp.npy_intp room = k + max(first, second)
    cdef cnp.ndarray space = cnp.PyArray_EMPTY(1, &room, cnp.NPY_DOUBLE, 0)
    cdef double *tau = <double *>cnp.PyArray_DATA(space)
    with nogil:
        for i in range(count):
            run.geqrf(&m, &n, matrix, &m, tau, tau + k, &first, &bad)
            triangle(matrix, right, m, n)
            memcpy(left, matrix, m * k * sizeof(double))
            run.orgqr(&m, &k, &k, left, &m, tau, tau + k, &second, &bad)
            matrix += m * n
            left += m * k
            right += k * n
    return rounded(q, kind), rounded(r, kind)
