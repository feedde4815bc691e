# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Small triangular systems over batches of float32 or float64, in any layout: what `triangular.py` computes, with the same
roundings.

Sixteen right hand sides at a time are in double precision, and four rows of them in registers.
"""

cimport numpy as cnp
from libc.string cimport memset

from autograph_cli.torch._kernels.fast_arrays cimport Count, real

cnp.import_array()

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #define HIGH 4
    #define ACROSS 16
    #define TOGETHER 16
    /* To 24 bits, as float32 has them, of any exponent. */
    static inline double shortened(double x) {
        uint64_t bits; memcpy(&bits, &x, 8);
        bits = (bits + 0x10000000) & ~(uint64_t)0x1fffffff;
        memcpy(&x, &bits, 8); return x; }
    /* X with L X = B over the rows of B, ACROSS columns. L is given as the numbers of HIGH rows behind each other, column by
       column, up to the diagonal. What groups of TOGETHER known rows take away
       from another is added up before it is subtracted. */
    #define SUBSTITUTE(groups, next) { \
        ptrdiff_t b, i, j; int r, c, v; \
        for (b = 0; b < blocks; b++) { \
            double own[HIGH][ACROSS], *to = x + b * HIGH * ACROSS; const double *known = x; \
            UNROLLED for (r = 0; r < HIGH; r++) ELEMENTS for (v = 0; v < ACROSS; v++) own[r][v] = to[r * ACROSS + v]; \
            for (i = groups; i > 0; i--) { \
                double part[HIGH][ACROSS] = {{0}}; \
                for (j = 0; j < TOGETHER; j++, t += HIGH, known += ACROSS) \
                    UNROLLED for (r = 0; r < HIGH; r++) ELEMENTS for (v = 0; v < ACROSS; v++) part[r][v] += t[r] * known[v]; \
                UNROLLED for (r = 0; r < HIGH; r++) ELEMENTS for (v = 0; v < ACROSS; v++) own[r][v] -= part[r][v]; } \
            for (; known < to; t += HIGH, known += ACROSS) \
                UNROLLED for (r = 0; r < HIGH; r++) ELEMENTS for (v = 0; v < ACROSS; v++) own[r][v] -= t[r] * known[v]; \
            UNROLLED for (c = 0; c < HIGH; c++, t += HIGH) { \
                ELEMENTS for (v = 0; v < ACROSS; v++) to[c * ACROSS + v] = own[c][v] = next; \
                UNROLLED for (r = c + 1; r < HIGH; r++) \
                    ELEMENTS for (v = 0; v < ACROSS; v++) own[r][v] -= t[r] * own[c][v]; } } }
    /* Products of two numbers of 24 bits are exact: whether they are rounded before they are subtracted makes no difference. */
    FUSED CLONED static void substitute_narrow(const double *restrict t, double *restrict x, ptrdiff_t blocks)
        SUBSTITUTE(0, shortened(own[c][v] * t[c]))
    CLONED static void substitute_wide(const double *restrict t, double *restrict x, ptrdiff_t blocks)
        SUBSTITUTE(b * HIGH / TOGETHER, own[c][v] / t[c])
    /* HIGH rows, column by column. */
    #define COLUMNS(a, down, along, n, to) { \
        ptrdiff_t j; int r; \
        ELEMENTS for (j = 0; j < n; j++) UNROLLED for (r = 0; r < HIGH; r++) to[j * HIGH + r] = a[r * down + j * along]; }
    CLONED static void columns_narrow(const float *restrict a, ptrdiff_t down, ptrdiff_t along, ptrdiff_t n, double *restrict to) {
        if (along == 1) COLUMNS(a, down, 1, n, to) else COLUMNS(a, down, along, n, to) }
    CLONED static void columns_wide(const double *restrict a, ptrdiff_t down, ptrdiff_t along, ptrdiff_t n, double *restrict to) {
        if (along == 1) COLUMNS(a, down, 1, n, to) else COLUMNS(a, down, along, n, to) }
    """
    enum: HIGH, ACROSS
    void columns_narrow(const float *, Count, Count, Count, double *) noexcept nogil
    void columns_wide(const double *, Count, Count, Count, double *) noexcept nogil
    void substitute_narrow(const double *, double *, Count) noexcept nogil
    void substitute_wide(const double *, double *, Count) noexcept nogil

DEF MOST = 64
DEF NUMBERS = MOST * (MOST + 4) // 2  # of a triangle in blocks of HIGH rows

ctypedef cnp.npy_int64 Number

cdef struct Matrices:
    char *data
    Count down  # elements from a row to the next
    Count along
    Count steps[64]  # bytes from a matrix to the next, for each dimension of the batch


cdef struct System:
    Matrices b, out, pivots
    Matrices a[2]
    cnp.npy_intp batch[64]
    int dims, triangles  # one or two
    Count n, k
    bint upper, unit, sorted


cdef int kind_of_matrices(object a) noexcept:
    """NPY_FLOAT or NPY_DOUBLE for an array of matrices; -1 for anything else."""
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>a):
        return -1
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    return kind if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE else -1


cdef bint read(cnp.ndarray a, Matrices *to, System *s) noexcept:
    """Find the matrices along the batch, which grows where it has 1; False where they do not fit it."""
    cdef int d, last = cnp.PyArray_NDIM(a) - 1, before = s.dims - last + 1
    cdef Count size, item = cnp.PyArray_ITEMSIZE(a)
    to.data = <char *>cnp.PyArray_DATA(a)
    to.down, to.along = cnp.PyArray_STRIDE(a, last - 1) // item, cnp.PyArray_STRIDE(a, last) // item
    for d in range(s.dims):
        size = cnp.PyArray_DIM(a, d - before) if d >= before else 1
        to.steps[d] = 0 if size == 1 else cnp.PyArray_STRIDE(a, d - before)
        if s.batch[d] == 1:
            s.batch[d] = size
        elif size != 1 and size != s.batch[d]:
            return False
    return True


cdef inline char *place(Matrices *of, System *s, Count index) noexcept nogil:
    """Return the place of the matrix of this index of the batch."""
    cdef char *at = of.data
    cdef int d
    for d in range(s.dims - 1, -1, -1):
        at += index % s.batch[d] * of.steps[d]
        index //= s.batch[d]
    return at


cdef void pack(
    const real *a, double *to, Count down, Count along, Count n, bint upper, bint unit
) noexcept nogil:
    """The numbers of a triangle as `SUBSTITUTE` reads them, an upper one from its end; reciprocals on the diagonal of
    float32."""
    cdef Count b, i, j, high, first
    cdef const real *block
    if upper:
        a, down, along = a + (n - 1) * (down + along), -down, -along
    for b in range((n + HIGH - 1) // HIGH):
        first = b * HIGH
        high = min(HIGH, n - first)
        block = a + first * down
        if high < HIGH:
            memset(to, 0, first * HIGH * sizeof(double))
            for j in range(first):
                for i in range(high):
                    to[j * HIGH + i] = block[i * down + j * along]
        elif real is float:
            columns_narrow(block, down, along, first, to)
        else:
            columns_wide(block, down, along, first, to)
        to, block = to + first * HIGH, block + first * along
        memset(to, 0, HIGH * HIGH * sizeof(double))
        for i in range(HIGH):
            for j in range(i if i < high else 0):
                to[j * HIGH + i] = block[i * down + j * along]
            if unit or i >= high:
                to[i * HIGH + i] = 1
            elif real is float:
                to[i * HIGH + i] = 1 / <double>block[i * (down + along)]
            else:
                to[i * HIGH + i] = block[i * (down + along)]
        to += HIGH * HIGH


cdef void load(
    const real *b, double *x, Count down, Count along, Count n, Count many, const Count *order, bint turned
) noexcept nogil:
    """Some columns, the rows in their `order`, and from the last to the first where they are `turned`."""
    cdef Count i, c
    cdef const real *row
    if down == 1:
        for c in range(many):
            for i in range(n):
                x[i * ACROSS + c] = b[order[n - 1 - i if turned else i] + c * along]
        return
    for i in range(n):
        row = b + order[n - 1 - i if turned else i] * down
        if along == 1:
            for c in range(many):
                x[i * ACROSS + c] = row[c]
        else:
            for c in range(many):
                x[i * ACROSS + c] = row[c * along]


cdef void store(const double *x, real *out, Count down, Count along, Count n, Count many, bint turned) noexcept nogil:
    cdef Count i, c
    if turned:
        out, down = out + (n - 1) * down, -down
    if along == 1:
        for i in range(n):
            for c in range(many):
                out[i * down + c] = <real>x[i * ACROSS + c]
        return
    for c in range(many):
        for i in range(n):
            out[i * down + c * along] = <real>x[i * ACROSS + c]


cdef void turn_over(double *x, Count n) noexcept nogil:
    """The rows from the last to the first."""
    cdef Count i, c
    for i in range(n // 2):
        for c in range(ACROSS):
            x[i * ACROSS + c], x[(n - 1 - i) * ACROSS + c] = x[(n - 1 - i) * ACROSS + c], x[i * ACROSS + c]



cdef bint sort(const Number *swaps, Count step, Count n, Count *order) noexcept nogil:
    """Find the row that comes to each place by swaps, numbered from 1; False where there is no such row."""
    cdef Count i, held
    for i in range(n):
        order[i] = i
    if swaps != NULL:
        for i in range(n):
            if not 1 <= swaps[i * step] <= n:
                return False
            held = order[swaps[i * step] - 1]
            order[swaps[i * step] - 1] = order[i]
            order[i] = held
    return True


cdef bint solve(System *s, Count count, const real *like) noexcept nogil:
    cdef double[2 * NUMBERS] triangles
    cdef double[MOST * ACROSS] x
    cdef Count[MOST] order
    cdef Count i, part, start, many, blocks = (s.n + HIGH - 1) // HIGH
    cdef int j
    cdef real *b
    cdef real *out
    cdef char *at
    cdef char *packed = NULL
    memset(x, 0, sizeof(x))
    for i in range(count):
        if not sort(<Number *>place(&s.pivots, s, i) if s.sorted else NULL, s.pivots.down, s.n, order):
            return False
        at = place(s.a, s, i)
        if at != packed:
            for j in range(s.triangles):
                at = place(s.a + j, s, i)
                pack(<real *>at, triangles + j * NUMBERS, s.a[j].down, s.a[j].along, s.n, s.upper != j, s.unit and not j)
            packed = at
        b, out = <real *>place(&s.b, s, i), <real *>place(&s.out, s, i)
        for part in range((s.k + ACROSS - 1) // ACROSS):
            start = part * ACROSS
            many = min(ACROSS, s.k - start)
            load(b + start * s.b.along, x, s.b.down, s.b.along, s.n, many, order, s.upper)
            for j in range(s.triangles):
                if j:
                    turn_over(x, s.n)
                if real is float:
                    substitute_narrow(triangles + j * NUMBERS, x, blocks)
                else:
                    substitute_wide(triangles + j * NUMBERS, x, blocks)
            store(x, out + start * s.out.along, s.out.down, s.out.along, s.n, many, s.upper != (s.triangles == 2))
    return True


def substituted(b, a, bint upper, bint unitriangular=False, then=None, pivots=None, bint by_rows=False):
    """`triangular.substituted` of small systems; None for anything else."""
    cdef System s
    cdef int d, last, kind = kind_of_matrices(a)
    cdef cnp.ndarray turned
    cdef bint fits
    if kind < 0 or kind_of_matrices(b) != kind or (then is not None and kind_of_matrices(then) != kind):
        return None
    cdef cnp.ndarray matrix = a, right = b
    s.n, s.k = cnp.PyArray_DIM(right, cnp.PyArray_NDIM(right) - 2), cnp.PyArray_DIM(right, cnp.PyArray_NDIM(right) - 1)
    if s.n > MOST:
        return None
    s.dims = max(cnp.PyArray_NDIM(matrix), cnp.PyArray_NDIM(right)) - 2
    s.upper, s.unit, s.triangles, s.sorted = upper, unitriangular, 1, pivots is not None
    for d in range(s.dims):
        s.batch[d] = 1
    if not read(matrix, s.a, &s) or not read(right, &s.b, &s):
        return None
    if then is not None:
        s.triangles = 2
        if not read(then, s.a + 1, &s):
            return None
    if s.sorted and not read(pivots, &s.pivots, &s):
        return None
    last = s.dims + 1
    s.batch[last - 1], s.batch[last] = (s.n, s.k) if by_rows else (s.k, s.n)
    turned = cnp.PyArray_EMPTY(last + 1, s.batch, kind, 0)
    cdef cnp.ndarray made = turned if by_rows else cnp.PyArray_SwapAxes(turned, last - 1, last)
    read(made, &s.out, &s)
    cdef Count count = cnp.PyArray_MultiplyList(s.batch, s.dims)
    with nogil:
        fits = solve[float](&s, count, NULL) if kind == cnp.NPY_FLOAT else solve[double](&s, count, NULL)
    return made if fits else None
