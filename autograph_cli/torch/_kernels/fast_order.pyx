# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Along a dimension: running sums and products, and elements by their order where no two of them are equal.

Arrays of float32 or float64 in one piece.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport signbit

from autograph_cli.torch._kernels.fast_arrays cimport Count, kind_of, once, real

cnp.import_array()

ctypedef cnp.int64_t Index

cdef enum:
    FEW = 32
    MANY = 4096  # elements: of more NumPy's own code is faster, which compares several at once
    LONG = 256  # likewise of rows of which one element is looked for


cdef void run_along(const real *a, real *out, Count rows, Count n, bint product) noexcept nogil:
    """Four rows at a time, whose sums do not wait for each other."""
    cdef Count i, j, k, many
    cdef real last[4]
    for i in range(0, rows, 4):
        many = min(4, rows - i)
        for k in range(many):
            last[k] = out[k * n] = a[k * n]
        if many == 4 and not product:
            for j in range(1, n):
                for k in range(4):
                    last[k] = last[k] + a[k * n + j]
                    out[k * n + j] = last[k]
        else:
            for j in range(1, n):
                for k in range(many):
                    last[k] = last[k] * a[k * n + j] if product else last[k] + a[k * n + j]
                    out[k * n + j] = last[k]
        a += 4 * n
        out += 4 * n


cdef void run_on(const real *a, real *out, Count before, Count n, Count behind, bint product) noexcept nogil:
    cdef Count i, j, k
    if behind == 1:
        run_along(a, out, before, n, product)
        return
    for i in range(before):
        for k in range(behind):
            out[k] = a[k]
        for j in range(1, n):
            a += behind
            out += behind
            if product:
                for k in range(behind):
                    out[k] = out[k - behind] * a[k]
            else:
                for k in range(behind):
                    out[k] = out[k - behind] + a[k]
        a += behind
        out += behind


def accumulated(a, Count dim, bint product):
    """Running sums, or products, along a dimension; None where the array is not simple."""
    if kind_of(a) < 0 or not cnp.PyArray_NDIM(<cnp.ndarray>a):
        return None
    cdef cnp.ndarray out = np.empty_like(a)
    cdef Count before = 1, behind = 1, n
    cdef int d, ndim = cnp.PyArray_NDIM(out)
    dim = dim + ndim if dim < 0 else dim
    if not 0 <= dim < ndim or cnp.PyArray_SIZE(out) == 0:
        return None
    n = cnp.PyArray_DIM(out, dim)
    for d in range(ndim):
        if d < dim:
            before *= cnp.PyArray_DIM(out, d)
        elif d > dim:
            behind *= cnp.PyArray_DIM(out, d)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(out)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT
    with nogil:
        if narrow:
            run_on(<float *>source, <float *>target, before, n, behind, product)
        else:
            run_on(<double *>source, <double *>target, before, n, behind, product)
    return out


cdef bint first_few(
    const real *a, real *values, Index *positions, Count rows, Count n, Count k, bint largest
) noexcept nogil:
    """The first k of each row in falling or rising order; whether these and the next one are all different numbers."""
    cdef real best[FEW + 1]
    cdef Index at[FEW + 1]
    cdef Count i, j, m, held, wanted = min(k + 1, n)
    cdef real x, sign = 1 if largest else -1
    for i in range(rows):
        held = 0
        for j in range(n):
            x = a[j] * sign
            if x != x:
                return False
            if held == wanted and x < best[held - 1]:
                continue
            if held < wanted:
                held += 1
            elif x == best[held - 1]:
                if held > k:
                    continue
                return False
            m = held - 1
            while m > 0 and best[m - 1] < x:
                best[m], at[m] = best[m - 1], at[m - 1]
                m -= 1
            best[m], at[m] = x, j
        for j in range(1, held):
            if best[j] == best[j - 1]:
                return False
        for j in range(k):
            values[j], positions[j] = a[at[j]], at[j]
        a += n
        values += k
        positions += k
    return True


def topk(a, Count k, bint largest):
    """The k largest (or smallest) of each row in order, and where they are; None where they are many, the array is not
    simple, or a tie lets several answers be right."""
    if kind_of(a) < 0 or not 0 < k <= FEW or not cnp.PyArray_NDIM(<cnp.ndarray>a) or not cnp.PyArray_SIZE(a):
        return None
    cdef Count n = cnp.PyArray_DIM(<cnp.ndarray>a, cnp.PyArray_NDIM(<cnp.ndarray>a) - 1), rows = cnp.PyArray_SIZE(a) // n
    if k > n:
        return None
    cdef cnp.ndarray values = np.empty(a.shape[:-1] + (k,), a.dtype), positions = np.empty(a.shape[:-1] + (k,), np.int64)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *target = cnp.PyArray_DATA(values)
    cdef Index *at = <Index *>cnp.PyArray_DATA(positions)
    cdef bint narrow = kind_of(a) == cnp.NPY_FLOAT, done
    with nogil:
        if narrow:
            done = first_few(<float *>source, <float *>target, at, rows, n, k, largest)
        else:
            done = first_few(<double *>source, <double *>target, at, rows, n, k, largest)
    return (values, positions) if done else None


cdef real select(real *a, Count n, Count k) noexcept nogil:
    """The element that a sort would put at place k; the row is reordered."""
    cdef Count low = 0, high = n - 1, i, j
    cdef real pivot, held
    while low < high:
        pivot = a[low + (high - low) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                held = a[i]
                a[i] = a[j]
                a[j] = held
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return a[k]


cdef Count among(const real *a, real wanted, Count n, Count place) noexcept nogil:
    """Return the position of the element equal to `wanted` that a stable sort would put at `place`.

    Return -1 - the position of the last such element if there are several and `place` is negative."""
    cdef Count j, before = 0, last = -1, equal = 0
    for j in range(n):
        before += a[j] < wanted
        if a[j] == wanted:
            equal += 1
            last = j
    if equal == 1 or place < 0:
        return last if equal == 1 else -1 - last
    for j in range(n):
        if a[j] == wanted:
            if before == place:
                return j
            before += 1
    return -1


cdef bint ranked(
    const real *a, real *values, Index *positions, real *between, Count rows, Count n, Count k, bint stable
) noexcept nogil:
    cdef Count i, j, missing
    for i in range(rows):
        missing = -1
        for j in range(n):
            if a[j] != a[j] and missing < 0:
                missing = j
            between[j] = a[j]
        if missing < 0:
            missing = among(a, select(between, n, k), n, k if stable else -1)
        elif not stable:
            return False
        if missing < 0:
            return False
        positions[i], values[i] = missing, a[missing]
        a += n
    return True


cdef inline cnp.ndarray without(cnp.ndarray a, int dim, bint keepdim, int kind):
    """For a number of each line along a dimension."""
    cdef cnp.npy_intp shape[64]
    cdef int d, left = 0
    for d in range(cnp.PyArray_NDIM(a)):
        if d != dim or keepdim:
            shape[left] = 1 if d == dim else cnp.PyArray_DIM(a, d)
            left += 1
    return cnp.PyArray_EMPTY(left, shape, kind, 0)


cdef inline bint simple(object a) noexcept:
    return kind_of(a) >= 0 and cnp.PyArray_NDIM(<cnp.ndarray>a) > 0 and cnp.PyArray_SIZE(<cnp.ndarray>a) > 0


def kth(a, Count k, bint keepdim, bint stable):
    """The element of each row that a sort would put at place k, and where it is. Of equal ones it is that of a stable
    sort, and the first that is no number stands before all, if `stable`; else None where there are such, and where the
    array is not simple."""
    if not simple(a):
        return None
    cdef int last = cnp.PyArray_NDIM(<cnp.ndarray>a) - 1, kind = kind_of(a)
    cdef cnp.npy_intp n = cnp.PyArray_DIM(<cnp.ndarray>a, last), rows = cnp.PyArray_SIZE(<cnp.ndarray>a) // n
    if n > LONG and cnp.PyArray_SIZE(<cnp.ndarray>a) > MANY:
        return None
    cdef cnp.ndarray positions = without(a, last, keepdim, cnp.NPY_INT64), values = without(a, last, keepdim, kind)
    cdef cnp.ndarray between = cnp.PyArray_EMPTY(1, &n, kind, 0)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *copy = cnp.PyArray_DATA(between)
    cdef void *to = cnp.PyArray_DATA(values)
    cdef Index *at = <Index *>cnp.PyArray_DATA(positions)
    cdef bint done
    with nogil:
        if kind == cnp.NPY_FLOAT:
            done = ranked(<float *>source, <float *>to, at, <float *>copy, rows, n, k, stable)
        else:
            done = ranked(<double *>source, <double *>to, at, <double *>copy, rows, n, k, stable)
    return (values[()], positions[()]) if done else None

# ---------------------------------------------------------------- sorted rows

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* A whole number that has the order of a float: zeros of both signs have one, what is no number has the largest. */
    static int64_t key_f(float x, int falling) {
        int32_t bits, key; x += 0.0f; memcpy(&bits, &x, 4);
        key = x != x ? INT32_MAX : bits ^ ((bits >> 31) & INT32_MAX);
        return falling ? ~key : key; }
    static int64_t key_d(double x, int falling) {
        int64_t bits, key; x += 0.0; memcpy(&bits, &x, 8);
        key = x != x ? INT64_MAX : bits ^ ((bits >> 63) & INT64_MAX);
        return falling ? ~key : key; }
    /* Of few keys: how many stand before each. */
    #define PLACES(name, whole) CLONED static void name(const whole *keys, whole *places, ptrdiff_t n) { \
        ptrdiff_t i, j; \
        for (i = 0; i < n; i++) { \
            whole own = keys[i], before = 0; \
            for (j = 0; j < i; j++) before += keys[j] <= own; \
            for (j = i + 1; j < n; j++) before += keys[j] < own; \
            places[i] = before; } }
    PLACES(places_f, int32_t)
    PLACES(places_d, int64_t)
    typedef struct { int64_t key, at; } Keyed;
    /* Runs of equal length are merged, which takes turns between both arrays; says which one has the result. */
    static Keyed *merged(Keyed *from, Keyed *to, ptrdiff_t n) {
        ptrdiff_t width, low;
        for (width = 1; width < n; width *= 2) {
            Keyed *k = to;
            for (low = 0; low < n; low += 2 * width) {
                const Keyed *a = from + low, *middle = from + (low + width < n ? low + width : n), *b = middle;
                const Keyed *end = from + (low + 2 * width < n ? low + 2 * width : n);
                while (a < middle && b < end) { int second = b->key < a->key; *k++ = *(second ? b : a); b += second; a += !second; }
                while (a < middle) *k++ = *a++;
                while (b < end) *k++ = *b++; }
            k = from; from = to; to = k; }
        return from; }
    """
    cnp.int64_t key_f(float, bint) noexcept nogil
    cnp.int64_t key_d(double, bint) noexcept nogil
    void places_f(const cnp.int32_t *, cnp.int32_t *, Count) noexcept nogil
    void places_d(const cnp.int64_t *, cnp.int64_t *, Count) noexcept nogil
    ctypedef struct Keyed:
        cnp.int64_t key
        cnp.int64_t at
    Keyed *merged(Keyed *, Keyed *, Count) noexcept nogil

cdef enum:
    SHORT = 128


cdef void sort_rows(
    const real *a, real *values, Index *positions, Keyed *room, Count rows, Count n, bint falling
) noexcept nogil:
    cdef Count i, j
    cdef cnp.int32_t *narrow = <cnp.int32_t *>room
    cdef cnp.int64_t *wide = <cnp.int64_t *>room
    cdef Keyed *found
    for i in range(rows):
        if n > SHORT:
            for j in range(n):
                room[j].key, room[j].at = key_f(a[j], falling) if real is float else key_d(a[j], falling), j
            found = merged(room, room + n, n)
            for j in range(n):
                positions[j] = found[j].at
        elif real is float:
            for j in range(n):
                narrow[j] = <cnp.int32_t>key_f(a[j], falling)
            places_f(narrow, narrow + n, n)
            for j in range(n):
                positions[narrow[n + j]] = j
        else:
            for j in range(n):
                wide[j] = key_d(a[j], falling)
            places_d(wide, wide + n, n)
            for j in range(n):
                positions[wide[n + j]] = j
        for j in range(n):
            values[j] = a[positions[j]]
        a += n
        values += n
        positions += n


def sorted_rows(a, bint falling):
    """Each row in order, equal ones as they were and what is no number last (first where they fall), and where each
    stood; None where the array is not simple."""
    if not simple(a):
        return None
    cdef int ndim = cnp.PyArray_NDIM(<cnp.ndarray>a), kind = kind_of(a)
    cdef Count n = cnp.PyArray_DIM(<cnp.ndarray>a, ndim - 1), rows = cnp.PyArray_SIZE(<cnp.ndarray>a) // n
    cdef cnp.ndarray values = cnp.PyArray_EMPTY(ndim, cnp.PyArray_DIMS(<cnp.ndarray>a), kind, 0)
    cdef cnp.ndarray positions = cnp.PyArray_EMPTY(ndim, cnp.PyArray_DIMS(<cnp.ndarray>a), cnp.NPY_INT64, 0)
    cdef cnp.npy_intp many = 4 * n  # two numbers of 64 bits for each element, twice
    cdef cnp.ndarray between = cnp.PyArray_EMPTY(1, &many, cnp.NPY_INT64, 0)
    cdef Keyed *room = <Keyed *>cnp.PyArray_DATA(between)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void *to = cnp.PyArray_DATA(values)
    cdef Index *at = <Index *>cnp.PyArray_DATA(positions)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            sort_rows(<float *>source, <float *>to, at, room, rows, n, falling)
        else:
            sort_rows(<double *>source, <double *>to, at, room, rows, n, falling)
    return values, positions


cdef bint keyed(object a, Keyed *room, Count n):
    """The keys of all elements; whether equal keys mean equal bits."""
    cdef Count i
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    cdef void *source = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef double x
    for i in range(n):
        room[i].at = i
        if kind == cnp.NPY_INT64:
            room[i].key = (<Index *>source)[i]
            continue
        x = (<float *>source)[i] if kind == cnp.NPY_FLOAT else (<double *>source)[i]
        if x != x or (x == 0 and signbit(x)):
            return False
        room[i].key = key_f(<float>x, False) if kind == cnp.NPY_FLOAT else key_d(x, False)
    return True


cdef object unique_by_value(cnp.ndarray a, Count n):
    """`unique` of int64 that lie close together, by a place for each number between; None of others."""
    cdef Index *given = <Index *>cnp.PyArray_DATA(a)
    cdef Index low = given[0], high = given[0]
    cdef Count i, different = 0
    cdef cnp.npy_intp span
    for i in range(1, n):
        low, high = min(low, given[i]), max(high, given[i])
    if <cnp.uint64_t>high - <cnp.uint64_t>low >= <cnp.uint64_t>(2 * n):
        return None
    span = high - low + 1
    cdef cnp.uint64_t last = span - 1
    cdef cnp.ndarray table = cnp.PyArray_ZEROS(1, &span, cnp.NPY_INT64, 0)
    cdef Index *place = <Index *>cnp.PyArray_DATA(table)
    for i in range(n):
        place[min(<cnp.uint64_t>once(given, i) - <cnp.uint64_t>low, last)] += 1
    for i in range(span):
        different += place[i] != 0
    span = different
    cdef cnp.ndarray values = cnp.PyArray_EMPTY(1, &span, cnp.NPY_INT64, 0)
    cdef cnp.ndarray counts = cnp.PyArray_EMPTY(1, &span, cnp.NPY_INT64, 0)
    cdef cnp.ndarray inverse = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), cnp.NPY_INT64, 0)
    cdef Index *which = <Index *>cnp.PyArray_DATA(inverse)
    different = 0
    for i in range(<Count>last + 1):
        if place[i]:
            (<Index *>cnp.PyArray_DATA(values))[different] = low + i
            (<Index *>cnp.PyArray_DATA(counts))[different] = place[i]
            place[i] = different
            different += 1
    for i in range(n):
        which[i] = place[min(<cnp.uint64_t>once(given, i) - <cnp.uint64_t>low, last)]
    return values, inverse, counts


def unique(a, dim):
    """The different elements in order, which of them each is, and how many there are of each; None along a dimension, for
    other arrays than of float32, float64 and int64 in one piece, and where one is no number or -0."""
    if dim is not None or not cnp.PyArray_CheckExact(a) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>a):
        return None
    if cnp.PyArray_TYPE(<cnp.ndarray>a) not in (cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_INT64):
        return None
    if cnp.PyArray_TYPE(<cnp.ndarray>a) == cnp.NPY_INT64 and cnp.PyArray_SIZE(<cnp.ndarray>a):
        close = unique_by_value(<cnp.ndarray>a, cnp.PyArray_SIZE(<cnp.ndarray>a))
        if close is not None:
            return close
    if cnp.PyArray_SIZE(<cnp.ndarray>a) > MANY:
        return None
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(<cnp.ndarray>a), many = 4 * n, different = 0
    cdef cnp.ndarray between = cnp.PyArray_EMPTY(1, &many, cnp.NPY_INT64, 0)
    cdef Keyed *room = <Keyed *>cnp.PyArray_DATA(between)
    cdef Keyed *found
    cdef Count i, start = 0
    if not keyed(a, room, n):
        return None
    with nogil:
        found = merged(room, room + n, n)
        for i in range(n):
            different += i == 0 or found[i].key != found[i - 1].key
    cdef cnp.ndarray firsts = cnp.PyArray_EMPTY(1, &different, cnp.NPY_INT64, 0)
    cdef cnp.ndarray counts = cnp.PyArray_EMPTY(1, &different, cnp.NPY_INT64, 0)
    cdef cnp.ndarray inverse = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), cnp.NPY_INT64, 0)
    cdef Index *first = <Index *>cnp.PyArray_DATA(firsts)
    cdef Index *number = <Index *>cnp.PyArray_DATA(counts)
    cdef Index *which = <Index *>cnp.PyArray_DATA(inverse)
    different = 0
    for i in range(n):
        if i == 0 or found[i].key != found[i - 1].key:
            first[different], number[different] = found[i].at, 0
            different += 1
        which[found[i].at] = different - 1
        number[different - 1] += 1
    return cnp.PyArray_TakeFrom(cnp.PyArray_Ravel(a, cnp.NPY_CORDER), firsts, 0, <cnp.ndarray>NULL, cnp.NPY_RAISE), inverse, counts
