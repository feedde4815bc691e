# cython: language_level=3, binding=False
"""Arguments that are as they mostly are: the types of a call before (`arg_check.py`), dimensions and sizes (`dims.py`)."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1
    bint PyLong_CheckExact(object o)
    bint PyTuple_CheckExact(object o)
    PyObject *PyDict_GetItemWithError(object d, object key) except? NULL


cdef inline object type_in_key(object x):
    """The type of an argument, with that of the first element for a list."""
    kind = type(x)
    if kind is tuple or kind is list:
        return (kind, type(x[0]) if x else None)
    return kind


def taken(dict known, tuple args, dict kwargs):
    """Return whether `known` has the types of these arguments, and their integers have at most 64 bits."""
    cdef Py_ssize_t i, many = PyTuple_GET_SIZE(args), named = len(kwargs)
    cdef int beyond = 0
    cdef PyObject *found
    key = PyTuple_New(many + 2 * named)
    for i in range(many):
        kind = type_in_key(<object>PyTuple_GET_ITEM(args, i))
        Py_INCREF(kind)
        PyTuple_SET_ITEM(key, i, kind)
    i = many
    for name, x in kwargs.items():
        Py_INCREF(name)
        PyTuple_SET_ITEM(key, i, name)
        kind = type_in_key(x)
        Py_INCREF(kind)
        PyTuple_SET_ITEM(key, i + named, kind)
        i += 1
    found = PyDict_GetItemWithError(known, key)
    if found == NULL:
        return False
    values = None
    for i in <tuple>found:
        if i >= many and values is None:
            values = tuple(kwargs.values())
        x = args[i] if i < many else values[i - many - named]
        PyLong_AsLongLongAndOverflow(x, &beyond)
        if beyond:
            return False
    return True


def wrapping(known, other):
    """`dims.wrap`, which leaves integers that are not counted from the front already to `known`, all else to `other`."""

    def wrap(dim, ndim, scalar_ok=True):
        cdef int beyond = 0
        cdef long long at
        if PyLong_CheckExact(dim) and PyLong_CheckExact(ndim):
            at = PyLong_AsLongLongAndOverflow(dim, &beyond)
            if at >= 0 and not beyond and at < <long long>ndim:
                return dim
            return known(dim, ndim, scalar_ok)
        return other(dim, ndim, scalar_ok)

    return wrap


def reading_sizes(other):
    """`dims.sizes`, which leaves to `other` what is neither a tuple of integers nor integers one by one."""

    def sizes(args):
        cdef Py_ssize_t i
        given = args
        if PyTuple_CheckExact(args) and PyTuple_GET_SIZE(args) == 1 and PyTuple_CheckExact(args[0]):
            given = args[0]
        if not PyTuple_CheckExact(given):
            return other(args)
        for i in range(PyTuple_GET_SIZE(given)):
            if not PyLong_CheckExact(<object>PyTuple_GET_ITEM(given, i)):
                return other(args)
        return given

    return sizes


cdef inline bint is_bound(object x) noexcept:
    return x is None or PyLong_CheckExact(x)


def reading_windows(cut, other):
    """`getitem._window`, which leaves to `cut` a slice with integers and None for bounds, all else to `other`."""

    def window(slice item, n):
        if is_bound(item.start) and is_bound(item.stop) and is_bound(item.step):
            return cut(item.start, item.stop, item.step, n)
        return other(item, n)

    return window
