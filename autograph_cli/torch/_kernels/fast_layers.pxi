# Attention and losses as a whole, in the steps that Python's kernels take: a part of fast_rows.pyx.
#
# `real kind` of a function only tells which numbers it is for. Functions answer None to other arguments than the engine's.

DEF SHORTEST = 512
DEF LONGEST = 1 << 14
DEF FEW = 1 << 13  # elements: sums over rows of more are `Sums.row_sums`

cdef object matmul = np.matmul, vecdot = np.vecdot

cdef extern from *:
    """
    #include "numpy/ufuncobject.h"
    typedef struct { PyUFuncGenericFunction run; void *data; } Loop;
    /* The loop of one of NumPy's functions of one number over numbers of a kind. */
    static Loop loop_of(PyObject *function, char kind) {
        PyUFuncObject *u = (PyUFuncObject *)function;
        Loop none = {NULL, NULL}, found;
        int i;
        for (i = 0; i < u->ntypes && u->nargs == 2; i++)
            if (u->types[2 * i] == kind && u->types[2 * i + 1] == kind) {
                found.run = u->functions[i], found.data = u->data ? (void *)u->data[i] : NULL;
                return found;
            }
        return none;
    }
    static void run_loop(Loop loop, const void *a, void *out, npy_intp many, npy_intp size) {
        char *args[2] = {(char *)a, (char *)out};
        npy_intp steps[2] = {size, size};
        loop.run(args, &many, steps, loop.data);
    }
    """
    ctypedef struct Loop:
        void *run
    Loop loop_of(object function, char kind)
    void run_loop(Loop loop, const void *a, void *out, Count many, Count size) noexcept nogil

cdef Loop EXP32 = loop_of(np.exp, cnp.NPY_FLOAT), EXP64 = loop_of(np.exp, cnp.NPY_DOUBLE)
cdef Loop LOG32 = loop_of(np.log, cnp.NPY_FLOAT), LOG64 = loop_of(np.log, cnp.NPY_DOUBLE)
if EXP32.run == NULL or EXP64.run == NULL or LOG32.run == NULL or LOG64.run == NULL:
    raise ModuleNotFoundError("NumPy has its exponentials and logarithms elsewhere")


cdef inline void exp(const real *a, real *out, Count many) noexcept nogil:
    """`numpy.exp`: its own loop, without what comes before and after."""
    run_loop(EXP32 if real is float else EXP64, a, out, many, sizeof(real))


cdef inline void log(const real *a, real *out, Count many) noexcept nogil:
    """`numpy.log`, likewise."""
    run_loop(LOG32 if real is float else LOG64, a, out, many, sizeof(real))

cdef object FLOAT32 = np.float32, FLOAT64 = np.float64


@functools.lru_cache(maxsize=64)
def ones(n, kind):
    return np.ones(n, kind)


cdef inline cnp.ndarray new_of(cnp.ndarray a, Count many):
    """An array for so many numbers like those of `a`."""
    cdef cnp.npy_intp length = many
    return cnp.PyArray_SimpleNew(1, &length, cnp.PyArray_TYPE(a))


cdef inline cnp.ndarray new_beside(cnp.ndarray a, int lead):
    """An array for a number of each position in the first dimensions of `a`; the others are of length 1."""
    cdef cnp.npy_intp shape[64]
    cdef int d
    for d in range(cnp.PyArray_NDIM(a)):
        shape[d] = cnp.PyArray_DIM(a, d) if d < lead else 1
    return cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(a), shape, cnp.PyArray_TYPE(a))


cdef cnp.ndarray in_rows(cnp.ndarray a, Count many, Count n):
    cdef cnp.npy_intp[2] shape = [many, n]
    cdef cnp.PyArray_Dims dims
    dims.ptr, dims.len = shape, 2
    return cnp.PyArray_Newshape(a, &dims, cnp.NPY_CORDER)


cdef inline Count product(cnp.ndarray a, int first, int last) noexcept:
    """The elements that some dimensions have together."""
    cdef Count many = 1
    cdef int d
    for d in range(first, last):
        many *= cnp.PyArray_DIM(a, d)
    return many


cdef inline bint beside(object part, int kind, Count size) noexcept:
    """Return whether there is no such array, or one of that kind and size."""
    return part is None or kind_of(part) == kind and cnp.PyArray_SIZE(<cnp.ndarray>part) == size


cdef inline void *data_of(object a) noexcept:
    return NULL if a is None else cnp.PyArray_DATA(<cnp.ndarray>a)

# ---------------------------------------------------------------- sums of rows


cdef inline bint by_product(cnp.ndarray a, Count n) noexcept:
    """Return whether sums over rows of `n` elements are products (see `Sums.row_sums`)."""
    return cnp.PyArray_SIZE(a) >= SHORTEST and n <= LONGEST


ctypedef void (*Gemv32)(
    int, int, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float, float *, int64_t
) noexcept nogil
ctypedef void (*Gemv64)(
    int, int, int64_t, int64_t, double, const double *, int64_t, const double *, int64_t, double, double *, int64_t
) noexcept nogil
ctypedef float (*Dot32)(int64_t, const float *, int64_t, const float *, int64_t) noexcept nogil
ctypedef double (*Dot64)(int64_t, const double *, int64_t, const double *, int64_t) noexcept nogil

cdef enum:
    ROWS = 101, COLUMNS = 102, TRANSPOSED = 112

cdef Gemv32 GEMV32 = NULL
cdef Gemv64 GEMV64 = NULL
cdef Dot32 DOT32 = NULL
cdef Dot64 DOT64 = NULL
cdef bint asked = False
cdef cnp.ndarray ONES32 = None, ONES64 = None


cdef bint known() except -1:
    """Return whether BLAS was found, when it is first asked for: it is given what NumPy gives it."""
    global asked, GEMV32, GEMV64, DOT32, DOT64, ONES32, ONES64
    cdef uintptr_t narrow, wide
    if not asked:
        ONES32, ONES64 = np.ones(LONGEST, np.float32), np.ones(LONGEST)
        narrow, wide = lapack.in_c("dot")
        DOT32, DOT64 = <Dot32>narrow, <Dot64>wide
        narrow, wide = lapack.in_c("gemv")
        GEMV32, GEMV64 = <Gemv32>narrow, <Gemv64>wide
        asked = True
    return GEMV32 != NULL and DOT32 != NULL


cdef inline void added_up(const real *a, real *out, Count many, Count n, bint down) noexcept nogil:
    """Sums over `many` rows of n numbers, or down their columns, as products with ones."""
    cdef int order = ROWS if down else COLUMNS
    cdef Count first = many if down else n, second = n if down else many
    if real is float:
        GEMV32(order, TRANSPOSED, first, second, 1, a, n, <const float *>cnp.PyArray_DATA(ONES32), 1, 0, out, 1)
    else:
        GEMV64(order, TRANSPOSED, first, second, 1, a, n, <const double *>cnp.PyArray_DATA(ONES64), 1, 0, out, 1)


cdef int sums_of(real kind, cnp.ndarray a, real *out, Count many, Count n) except -1:
    """`Sums.row_sums` of `many` rows."""
    cdef cnp.ndarray found
    cdef const real *source
    source = <const real *>data(a)
    if by_product(a, n) and many > 1 and n > 1 and known():
        with nogil:
            added_up(source, out, many, n, False)
    elif by_product(a, n):
        found = matmul(in_rows(a, many, n), ones(n, a.dtype))
        memcpy(out, data(found), many * sizeof(real))
    else:
        with nogil:
            sum_rows(source, out, many, n)
    return 0


cdef void sum_products(const real *a, const real *b, real *products, real *out, Count many, Count n) noexcept nogil:
    cdef Count i, j
    for i in range(many):
        for j in range(n):
            products[j] = a[j] * b[j]
        out[i] = pairwise(products, n) + 0
        a += n
        b += n


cdef void multiplied(const real *a, const real *b, real *out, Count many, Count n) noexcept nogil:
    """`numpy.vecdot`."""
    cdef Count i
    for i in range(many):
        if real is float:
            out[i] = DOT32(n, a, 1, b, 1) + 0
        else:
            out[i] = DOT64(n, a, 1, b, 1) + 0
        a += n
        b += n


cdef int products_of(real kind, cnp.ndarray a, cnp.ndarray b, real *out, Count many, Count n) except -1:
    """`Sums.row_products` of `many` rows."""
    cdef cnp.ndarray found
    cdef const real *first = <const real *>data(a)
    cdef const real *second = <const real *>data(b)
    if by_product(a, n) and n > 1 and known():
        with nogil:
            multiplied(first, second, out, many, n)
    elif by_product(a, n):
        found = vecdot(in_rows(a, many, n), in_rows(b, many, n))
        memcpy(out, data(found), many * sizeof(real))
    else:
        found = new_of(a, n)
        sum_products(first, second, <real *>data(found), out, many, n)
    return 0

# ---------------------------------------------------------------- losses


cdef bint pick(const real *a, const cnp.int64_t *target, real *out, Count many, Count classes) noexcept nogil:
    """Minus the entry of each row's target; False where one is no class."""
    cdef Count i, at
    for i in range(many):
        at = once(target, i)
        if not 0 <= at < classes:
            return False
        out[i] = -a[i * classes + at]
    return True


cdef object losses(real kind, cnp.ndarray a, cnp.ndarray target, Count many, Count classes, Count reduction):
    cdef cnp.ndarray each = new_of(a, many)
    cdef real *out = <real *>data(each)
    cdef real total = <real>many, whole
    if not pick(<const real *>data(a), <const cnp.int64_t *>data(target), out, many, classes):
        return None
    scalar = FLOAT32 if real is float else FLOAT64
    if reduction == 0:
        return each, scalar(0)
    whole = pairwise(<const real *>out, many) + 0
    return scalar(whole / total if reduction == 1 else whole), scalar(total)


def nll_loss_forward(a, target, weight, reduction, ignore_index):
    cdef int kind = kind_of(a)
    cdef Count how, ignored, many, classes
    if kind < 0 or weight is not None or cnp.PyArray_NDIM(<cnp.ndarray>a) != 2 or not cnp.PyArray_SIZE(a):
        return None
    if not cnp.PyArray_CheckExact(target) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>target):
        return None
    many, classes = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    if cnp.PyArray_TYPE(<cnp.ndarray>target) != cnp.NPY_INT64 or cnp.PyArray_NDIM(<cnp.ndarray>target) != 1:
        return None
    if cnp.PyArray_SIZE(target) != many or not number(reduction, &how) or not number(ignore_index, &ignored):
        return None
    if 0 <= ignored < classes or not 0 <= how <= 2:
        return None
    if kind == cnp.NPY_FLOAT:
        return losses[float](0, a, target, many, classes, how)
    return losses[double](0, a, target, many, classes, how)

# ---------------------------------------------------------------- attention


cdef inline bint is_alike(object a, int kind) noexcept:
    """Return whether this is an array of that kind in four dimensions, laid out in whatever way."""
    return (
        cnp.PyArray_CheckExact(a)
        and cnp.PyArray_TYPE(<cnp.ndarray>a) == kind
        and cnp.PyArray_NDIM(<cnp.ndarray>a) == 4
        and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>a)
    )


cdef void scale_scores(
    real *a, real *top, real factor, bint causal, Count many, Count rows, Count n
) noexcept nogil:
    """Scores times a factor, less the largest of each row, which is put in `top`; `causal`: without those to come."""
    cdef Count i, j
    for i in range(many):
        for j in range(n):
            a[j] = a[j] * factor
        if causal:
            for j in range(i % rows + 1, n):
                a[j] = -INFINITY
        if real is float:
            top[i] = largest_f(a, n)
        else:
            top[i] = largest_d(a, n)
        top[i] = 0 if top[i] == -INFINITY else top[i]
        for j in range(n):
            a[j] = a[j] - top[i]
        a += n


cdef void share(real *a, real *total, Count many, Count n) noexcept nogil:
    """Exponentials over their sums, which are 1 in place of 0."""
    cdef Count i, j
    cdef real by
    for i in range(many):
        by = 1 if total[i] == 0 else total[i]
        for j in range(n):
            a[j] = a[j] / by
        a += n


cdef tuple attended(real kind, cnp.ndarray q, cnp.ndarray scores, v, bint causal, double factor):
    cdef Count n = length(scores), many = cnp.PyArray_SIZE(scores) // n
    cdef cnp.ndarray total = new_of(scores, many), top = cnp.PyArray_SimpleNew(3, cnp.PyArray_DIMS(scores), cnp.PyArray_TYPE(scores))
    cdef real *each = <real *>data(scores)
    cdef real *sums = <real *>data(total)
    cdef real *logs = <real *>data(top)
    cdef Count i, rows = cnp.PyArray_DIM(scores, 2)
    with nogil:
        scale_scores(each, logs, <real>factor, causal, many, rows, n)
        exp(<const real *>each, each, many * n)
    sums_of(kind, scores, sums, many, n)
    with nogil:
        share(each, sums, many, n)
        log(<const real *>sums, sums, many)
    for i in range(many):
        logs[i] = logs[i] + sums[i]
    out = matmul(scores, v)
    if not cnp.PyArray_IS_C_CONTIGUOUS(q):
        out, found = np.empty_like(q), out
        out[...] = found
    return out, top


def attention(q, k, v, causal, mask, scale):
    """`Attention._scaled_dot_product_flash_attention_for_cpu` without a mask."""
    cdef int kind
    if mask is not None or not cnp.PyArray_CheckExact(q):
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>q)
    if kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE:
        return None
    if not is_alike(q, kind) or not is_alike(k, kind) or not is_alike(v, kind) or not cnp.PyArray_SIZE(q):
        return None
    if cnp.PyArray_DIM(<cnp.ndarray>q, 1) != cnp.PyArray_DIM(<cnp.ndarray>k, 1):
        return None
    scores = matmul(q, cnp.PyArray_SwapAxes(k, 2, 3))
    if not cnp.PyArray_SIZE(scores):
        return None
    factor = 1 / sqrt(<double>length(q)) if scale is None else scale
    if kind == cnp.NPY_FLOAT:
        return attended[float](0, q, scores, v, causal, factor)
    return attended[double](0, q, scores, v, causal, factor)
