"""The choice among equal elements: the algorithms by which PyTorch orders a row on the CPU, step by step.

PyTorch calls `std::nth_element`, `std::partial_sort` and `std::sort`, and has a quickselect of its own for `kthvalue`.
None of them keeps equal elements in order, so where there are some only their steps (here those of libstdc++) tell
which index is given, and so to which of them a gradient goes. A row is a list of `keys`; their numbers are moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array

Order = list[int]
FEW = 16
"""The most elements that are sorted by insertion."""
MANY = 1 << 15
"""The number of elements from which the steps in Python would take too long: the first or the last of equal ones is
given."""


def nth_element(order: Order, keys: list[Any], nth: int) -> None:
    """Bring the element to place `nth` that a sort would put there, with no larger ones before it."""
    first, last = 0, len(order)
    depth = 2 * _log2(last)
    while last - first > 3:
        if depth == 0:
            _heap_select(order, keys, first, nth + 1, last)
            order[first], order[nth] = order[nth], order[first]
            return
        depth -= 1
        cut = _partition(order, keys, first, last)
        first, last = (cut, last) if cut <= nth else (first, cut)
    _insert(order, keys, first, last)


def sort(order: Order, keys: list[Any], last: int) -> None:
    """Sort the elements before `last`."""
    _quicksort(order, keys, 0, last, 2 * _log2(last))
    _insert(order, keys, 0, min(last, FEW))
    for i in range(FEW, last):
        _sink(order, keys, i)


def partial_sort(order: Order, keys: list[Any], middle: int) -> None:
    """Bring the smallest elements, sorted, before `middle`."""
    _heap_select(order, keys, 0, middle, len(order))
    _sort_heap(order, keys, 0, middle)


def quickselect(order: Order, keys: list[Any], k: int) -> None:
    """Bring the element to place `k` that a sort would put there, as `kthvalue` does it."""
    low, high = 0, len(order) - 1

    def swap_larger(i: int, j: int) -> None:
        if keys[order[i]] > keys[order[j]]:
            order[i], order[j] = order[j], order[i]

    while high > low + 1:
        middle = low + (high - low) // 2
        order[middle], order[low + 1] = order[low + 1], order[middle]
        swap_larger(low + 1, high)
        swap_larger(low, high)
        swap_larger(low + 1, low)
        i, j, pivot = low + 1, high, keys[order[low]]
        while True:
            i += 1
            while pivot > keys[order[i]]:
                i += 1
            j -= 1
            while keys[order[j]] > pivot:
                j -= 1
            if j < i:
                break
            order[i], order[j] = order[j], order[i]
        order[low], order[j] = order[j], order[low]
        low, high = (i if j <= k else low), (j - 1 if j >= k else high)
    if high == low + 1:
        swap_larger(low, high)


def _log2(n: int) -> int:
    return n.bit_length() - 1


def _insert(order: Order, keys: list[Any], first: int, last: int) -> None:
    for i in range(first + 1, last):
        if keys[order[i]] < keys[order[first]]:
            order.insert(first, order.pop(i))
        else:
            _sink(order, keys, i)


def _sink(order: Order, keys: list[Any], i: int) -> None:
    """Move element `i` before those that are larger; one that is not is known to stand before it."""
    moved = order[i]
    key = keys[moved]
    while key < keys[order[i - 1]]:
        order[i] = order[i - 1]
        i -= 1
    order[i] = moved


def _partition(order: Order, keys: list[Any], first: int, last: int) -> int:
    """Part the elements by the median of three, which goes first; where the larger ones begin."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    key_a, key_b, key_c = keys[order[a]], keys[order[b]], keys[order[c]]
    if key_a < key_b:
        best = b if key_b < key_c else c if key_a < key_c else a
    else:
        best = a if key_a < key_c else c if key_b < key_c else b
    order[first], order[best] = order[best], order[first]
    pivot, i, j = keys[order[first]], first + 1, last
    while True:
        while keys[order[i]] < pivot:
            i += 1
        j -= 1
        while pivot < keys[order[j]]:
            j -= 1
        if i >= j:
            return i
        order[i], order[j] = order[j], order[i]
        i += 1


def _quicksort(order: Order, keys: list[Any], first: int, last: int, depth: int) -> None:
    while last - first > FEW:
        if depth == 0:
            _heap_select(order, keys, first, last, last)
            _sort_heap(order, keys, first, last)
            return
        depth -= 1
        cut = _partition(order, keys, first, last)
        _quicksort(order, keys, cut, last, depth)
        last = cut


def _heap_select(order: Order, keys: list[Any], first: int, middle: int, last: int) -> None:
    count = middle - first
    for parent in range((count - 2) // 2, -1, -1):
        _sift(order, keys, first, parent, count, order[first + parent])
    for i in range(middle, last):
        if keys[order[i]] < keys[order[first]]:
            moved, order[i] = order[i], order[first]
            _sift(order, keys, first, 0, count, moved)


def _sort_heap(order: Order, keys: list[Any], first: int, last: int) -> None:
    while last - first > 1:
        last -= 1
        moved, order[last] = order[last], order[first]
        _sift(order, keys, first, 0, last - first, moved)


def _sift(order: Order, keys: list[Any], first: int, hole: int, count: int, moved: int) -> None:
    """Fill the hole in a heap: down to its end by the larger children, then up again to where `moved` belongs."""
    top, child = hole, hole
    while child < (count - 1) // 2:
        child = 2 * (child + 1)
        if keys[order[first + child]] < keys[order[first + child - 1]]:
            child -= 1
        order[first + hole] = order[first + child]
        hole = child
    if count % 2 == 0 and child == (count - 2) // 2:
        child = 2 * (child + 1)
        order[first + hole] = order[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and keys[order[first + parent]] < keys[moved]:
        order[first + hole] = order[first + parent]
        hole, parent = parent, (parent - 1) // 2
    order[first + hole] = moved


# ---------------------------------------------------------------- of PyTorch's functions


def ordered(a: Array) -> Any:
    """An array whose elements NumPy puts in order: of bfloat16 it does not know that nan comes last."""
    return a.astype("float32") if a.dtype.kind == "V" else a


def follows(a: Array) -> bool:
    """Return whether the steps are taken for an array."""
    return a.__class__ is np.ndarray and 0 < a.size <= MANY


def ranks(a: Array, dim: int) -> Any:
    """Return what is compared of each element, as rows: equal ones (nan too, which is the largest) have the same
    rank."""
    found = np.unique(ordered(a), return_inverse=True)[1].reshape(a.shape)
    return np.moveaxis(found, dim, -1).reshape(-1, a.shape[dim])


def rejoined(rows: list[Any], a: Array, dim: int) -> Any:
    """Indices found in each row, as they are along `dim` of the array."""
    others = [n for d, n in enumerate(a.shape) if d != dim % a.ndim]
    return np.ascontiguousarray(np.moveaxis(np.array(rows, "int64").reshape(*others, -1), -1, dim))


def largest_few(keys: list[Any], k: int, ordered: bool) -> Order:
    """Return which elements `topk` gives, of keys that are the smaller the earlier they come."""
    order = list(range(len(keys)))
    if k * 64 <= len(keys):
        partial_sort(order, keys, k)
    elif k:
        nth_element(order, keys, k - 1)
        if ordered:
            sort(order, keys, k - 1)
    return order[:k]


def most_frequent(keys: list[Any]) -> int:
    """Return which element `mode` gives: the last of the longest run in a sorted row, in which nan equals nothing."""
    order = list(range(len(keys)))
    sort(order, keys, len(keys))
    best, longest, run = 0, 0, 0
    for i, element in enumerate(order):
        run += 1
        if i + 1 == len(order) or keys[element] != keys[order[i + 1]]:
            best, longest = (element, run) if run > longest else (best, longest)
            run = 0
    return best


def kth(keys: list[Any], k: int) -> int:
    """Return which element `kthvalue` gives."""
    order = list(range(len(keys)))
    quickselect(order, keys, k)
    return order[k]


def first_of_equal(n: int) -> int:
    """Return which of `n` elements that compare as equal `std::nth_element` puts first."""
    order = list(range(n))
    nth_element(order, [0] * n, 0)
    return order[0]
