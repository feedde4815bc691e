# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records of `quick.py` made and changed without a line of Python: each field is put where its slot is."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF

cdef extern from *:
    """
    #include "structmember.h"
    static Py_ssize_t slot_of(PyObject *member) { return ((PyMemberDescrObject *)member)->d_member->offset; }
    """
    Py_ssize_t slot_of(object)

cdef extern from "Python.h":
    ctypedef PyObject *(*Call)(PyObject *, PyObject *const *, size_t, PyObject *) except NULL
    ctypedef struct Class "PyTypeObject":
        Call tp_vectorcall
    Py_ssize_t PyVectorcall_NARGS(size_t)
    PyObject *PyDict_GetItem(object, PyObject *)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    object PyType_GenericAlloc(PyTypeObject *, Py_ssize_t)
    ctypedef PyObject *(*PyCFunction)(PyObject *, PyObject *)
    ctypedef struct PyMethodDef:
        const char *ml_name
        PyCFunction ml_meth
        int ml_flags
        const char *ml_doc
    int METH_FASTCALL, METH_KEYWORDS
    object PyCFunction_New(PyMethodDef *, object)


cdef class Layout:
    """Where the fields of a class are in its records, and what each is unless told."""

    cdef Py_ssize_t count
    cdef Py_ssize_t *slots
    cdef PyObject **defaults
    cdef tuple names
    cdef dict places, kept
    cdef object general

    def __dealloc__(self):
        PyMem_Free(self.slots)
        PyMem_Free(self.defaults)


cdef dict layouts = {}


def prepare(cls, names, defaults):
    """Have calls of a class make its records here; what is wrong with a call its `__new__` says."""
    cdef Layout layout = Layout()
    cdef Py_ssize_t place
    layout.names, layout.kept, layout.general = tuple(names), dict(defaults), cls.__new__
    layout.places = {name: place for place, name in enumerate(layout.names)}
    layout.count = len(layout.names)
    layout.slots = <Py_ssize_t *>PyMem_Malloc(layout.count * sizeof(Py_ssize_t))
    layout.defaults = <PyObject **>PyMem_Malloc(layout.count * sizeof(PyObject *))
    if not layout.slots or not layout.defaults:
        raise MemoryError
    for place, name in enumerate(layout.names):
        layout.slots[place] = slot_of(cls.__dict__[name])
        layout.defaults[place] = <PyObject *>layout.kept[name] if name in layout.kept else NULL
    layouts[cls] = layout
    (<Class *><PyObject *>cls).tp_vectorcall = made


cdef PyObject *with_changes(PyObject *self, PyObject *const *args, size_t given, PyObject *words) except NULL:
    """The record `args[0]` with other values in the fields that `words` name."""
    if given != 1:
        raise TypeError(f"changed() takes one record, not {given}")
    cdef object record = <object>args[0]
    cdef Py_ssize_t named = 0 if words is NULL else PyTuple_GET_SIZE(words), left = named, place
    cdef PyObject *found = PyDict_GetItem(layouts, <PyObject *>record.__class__)
    cdef PyObject *value
    if found is NULL:
        return by_name(record, args + 1, words)
    cdef Layout layout = <Layout>found
    cdef object other = PyType_GenericAlloc(<PyTypeObject *><PyObject *>record.__class__, 0)
    for place in range(layout.count):
        value = said(<PyObject *>layout.names[place], args + 1, words, named) if left else NULL
        left -= value is not NULL
        put(other, layout.slots[place], field_of(record, layout.slots[place]) if value is NULL else value)
    if left:
        return by_name(record, args + 1, words)
    Py_INCREF(other)
    return <PyObject *>other


cdef PyObject *by_name(object record, PyObject *const *values, PyObject *words) except NULL:
    """The same by the method of the class, which says what is wrong."""
    cdef tuple names = () if words is NULL else <tuple>words
    found = record._changed(**{name: <object>values[place] for place, name in enumerate(names)})
    Py_INCREF(found)
    return <PyObject *>found


cdef PyMethodDef changing = PyMethodDef(
    "changed", <PyCFunction>with_changes, METH_FASTCALL | METH_KEYWORDS, "A record with other values in these fields."
)
changed = PyCFunction_New(&changing, None)


cdef inline PyObject *field_of(object record, Py_ssize_t slot) noexcept:
    return (<PyObject **>(<char *><PyObject *>record + slot))[0]


cdef inline void put(object record, Py_ssize_t slot, PyObject *value) noexcept:
    cdef PyObject **at = <PyObject **>(<char *><PyObject *>record + slot)
    cdef PyObject *before = at[0]
    Py_INCREF(<object>value)
    at[0] = value
    if before is not NULL:
        Py_DECREF(<object>before)


cdef PyObject *made(PyObject *cls, PyObject *const *args, size_t flags, PyObject *words) except NULL:
    """A call of the class."""
    cdef Layout layout = <Layout>PyDict_GetItem(layouts, cls)
    cdef Py_ssize_t given = PyVectorcall_NARGS(flags), place
    cdef Py_ssize_t named = 0 if words is NULL else PyTuple_GET_SIZE(words)
    cdef Py_ssize_t left = named
    cdef PyObject *value
    if given > layout.count:
        return general(layout, cls, args, given, words)
    record = PyType_GenericAlloc(<PyTypeObject *>cls, 0)
    for place in range(given):
        put(record, layout.slots[place], args[place])
    for place in range(given, layout.count):
        value = NULL
        if left:
            value = said(<PyObject *>layout.names[place], args + given, words, named)
            left -= value is not NULL
        if value is NULL:
            value = layout.defaults[place]
        if value is NULL:
            return general(layout, cls, args, given, words)
        put(record, layout.slots[place], value)
    if left:
        return general(layout, cls, args, given, words)
    Py_INCREF(record)
    return <PyObject *>record


cdef inline PyObject *said(PyObject *name, PyObject *const *values, PyObject *words, Py_ssize_t named) noexcept:
    """What is given by this name, if anything."""
    cdef Py_ssize_t place
    for place in range(named):
        if PyTuple_GET_ITEM(words, place) == name:
            return values[place]
    return NULL


cdef PyObject *general(
    Layout layout, PyObject *cls, PyObject *const *args, Py_ssize_t given, PyObject *words
) except NULL:
    """The same by the `__new__` of the class."""
    cdef Py_ssize_t place
    cdef list values = [<object>args[place] for place in range(given)]
    cdef tuple names = () if words is NULL else <tuple>words
    named = {name: <object>args[given + place] for place, name in enumerate(names)}
    record = layout.general(<object>cls, *values, **named)
    Py_INCREF(record)
    return <PyObject *>record
