# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""`selection.sort` and `selection.most_frequent` step by step, on rows of float64; see there."""

cimport numpy as cnp
from libc.stdlib cimport free, malloc

from autograph_cli.torch._kernels.fast_arrays cimport Count, doubles

from autograph_cli.torch._kernels.reducing import selection

cnp.import_array()

cdef Count FEW = selection.FEW


cdef inline void swap(Count *order, Count i, Count j) noexcept nogil:
    order[i], order[j] = order[j], order[i]


cdef inline void sink(Count *order, const double *keys, Count i) noexcept nogil:
    cdef Count moved = order[i]
    while keys[moved] < keys[order[i - 1]]:
        order[i] = order[i - 1]
        i -= 1
    order[i] = moved


cdef Count partition(Count *order, const double *keys, Count first, Count last) noexcept nogil:
    cdef Count a = first + 1, b = first + (last - first) // 2, c = last - 1, i = first + 1, j = last, best
    cdef double key_a = keys[order[a]], key_b = keys[order[b]], key_c = keys[order[c]], pivot
    if key_a < key_b:
        best = b if key_b < key_c else c if key_a < key_c else a
    else:
        best = a if key_a < key_c else c if key_b < key_c else b
    swap(order, first, best)
    pivot = keys[order[first]]
    while True:
        while keys[order[i]] < pivot:
            i += 1
        j -= 1
        while pivot < keys[order[j]]:
            j -= 1
        if i >= j:
            return i
        swap(order, i, j)
        i += 1


cdef bint parted(Count *order, const double *keys, Count first, Count last, int depth) noexcept nogil:
    """Part the numbers; return true if that needed no heap."""
    cdef Count cut
    while last - first > FEW:
        if depth == 0:
            return False
        depth -= 1
        cut = partition(order, keys, first, last)
        if not parted(order, keys, cut, last, depth):
            return False
        last = cut
    return True


cdef Count most_frequent(Count *order, const double *keys, Count n) noexcept nogil:
    """-1 where a heap is needed, or an element is no number: the steps rely on an order."""
    cdef Count i, j, moved, best = 0, longest = 0, run = 0
    cdef int depth = 0
    for i in range(n):
        order[i] = i
        if keys[i] != keys[i]:
            return -1
    while n >> (depth + 1):
        depth += 1
    if not parted(order, keys, 0, n, 2 * depth):
        return -1
    for i in range(1, min(n, FEW)):
        if keys[order[i]] < keys[order[0]]:
            moved = order[i]
            for j in range(i, 0, -1):
                order[j] = order[j - 1]
            order[0] = moved
        else:
            sink(order, keys, i)
    for i in range(FEW, n):
        sink(order, keys, i)
    for i in range(n):
        run += 1
        if i + 1 == n or keys[order[i]] != keys[order[i + 1]]:
            if run > longest:
                best, longest = order[i], run
            run = 0
    return best


def modes(cnp.ndarray rows):
    """Return the element of each row that `mode` gives, as an array; None where Python's steps are needed."""
    cdef double *keys = doubles(rows)
    cdef cnp.npy_intp many = cnp.PyArray_DIM(rows, 0)
    cdef Count i, n = cnp.PyArray_DIM(rows, 1)
    cdef cnp.ndarray out = cnp.PyArray_SimpleNew(1, &many, cnp.NPY_INT64)
    cdef cnp.int64_t *found = <cnp.int64_t *>cnp.PyArray_DATA(out)
    cdef Count *order = <Count *>malloc(max(n, 1) * sizeof(Count))
    if order == NULL or not n:
        free(order)
        return None
    with nogil:
        for i in range(many):
            found[i] = most_frequent(order, keys + i * n, n)
            if found[i] < 0:
                break
    free(order)
    return None if many and found[i] < 0 else out
