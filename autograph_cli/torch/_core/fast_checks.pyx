# cython: language_level=3, binding=False
"""Whether a public function was called with arguments of these types before: what `taken` in `arg_check.py` does."""

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1
    PyObject *PyDict_GetItemWithError(object d, object key) except? NULL


cdef inline object type_in_key(object x):
    """The type of an argument, with that of the first element for a list."""
    kind = type(x)
    if kind is tuple or kind is list:
        return (kind, type(x[0]) if x else None)
    return kind


def taken(dict known, tuple args, dict kwargs):
    """Whether `known` has the types of these arguments, and their integers have at most 64 bits."""
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
