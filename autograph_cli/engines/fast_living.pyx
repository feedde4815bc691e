# cython: language_level=3, binding=False
"""What `Living.rows` of `builtin_living.py` does in Python, for the nodes of plain operations; the rest it does itself."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

from autograph_cli.engines.builtin_saved import ARRAYS, BRIEF, as_given, kind_of, noted_of, owner, saved_type
from autograph_cli.engines.protocol import saved_value
from autograph_cli.graph import Saved
from autograph_cli.torch._core.node import Node
from autograph_cli.torch._core.saved_tensors import SavedResult
from autograph_cli.torch._core.tensor import Tensor

cdef extern from *:
    """
    #include "structmember.h"
    static Py_ssize_t slot_of(PyObject *member) { return ((PyMemberDescrObject *)member)->d_member->offset; }
    #define SLOT(o, place) (*(PyObject **)((char *)(o) + (place)))
    """
    Py_ssize_t slot_of(object)
    PyObject *SLOT(PyObject *, Py_ssize_t)
    PyObject *PyDict_GetItem(object, PyObject *)

cdef Py_ssize_t EDGES = slot_of(vars(Node)["_edges"]), EXTRA = slot_of(vars(Node)["_extra"])
cdef Py_ssize_t LIKE = slot_of(vars(Node)["_output_meta"]), SAVED = slot_of(vars(Node)["_saved"])
cdef Py_ssize_t SEQ = slot_of(vars(Node)["_seq"])
cdef Py_ssize_t RAW = slot_of(vars(Tensor)["_raw"]), RESULT_RAW = slot_of(vars(SavedResult)["_raw"])
cdef object NO_TEXT = "", ZERO = 0


cdef class _Reader:
    """The parts of one `Living`."""

    cdef object living
    cdef dict positions, storages, kept_in, kinds
    cdef list edges


def rows(living, list nodes):
    """The rows of these nodes."""
    cdef _Reader reader = _Reader()
    cdef list found = []
    cdef object node
    reader.living, reader.positions, reader.storages = living, living.positions, living.storages
    reader.kept_in, reader.edges, reader.kinds = living.kept_in, living.edges, {}
    for node in nodes:
        found.append(row(reader, node))
    return found


cdef tuple row(_Reader reader, object node):
    cdef PyObject *at = <PyObject *>node
    cdef object cls = node.__class__
    cdef tuple following = leads_to(reader, <tuple>SLOT(at, EDGES))
    cdef object items = <object>SLOT(at, SAVED)
    cdef tuple kept = None
    cdef PyObject *known = PyDict_GetItem(reader.kinds, <PyObject *>cls)
    cdef tuple kind
    if known is NULL:
        kind = reader.kinds[cls] = tuple(kind_of(cls))
    else:
        kind = <tuple>known
    if kind[0] and items.__class__ is tuple:
        kept = keeps(reader, node, kind, <tuple>items, following) if items else ()
    if kept is None:
        kept = reader.living.kept(node, following)
    return cls, <object>SLOT(at, LIKE), following, kept


cdef tuple leads_to(_Reader reader, tuple edges):
    cdef Py_ssize_t count = PyTuple_GET_SIZE(<object>edges), place
    cdef tuple found = PyTuple_New(count)
    cdef object edge, there
    cdef PyObject *position
    for place in range(count):
        edge = <object>PyTuple_GET_ITEM(edges, place)
        there = None
        if edge is not None:
            position = PyDict_GetItem(reader.positions, SLOT(PyTuple_GET_ITEM(edge, 0), SEQ))
            if position is NULL or <object>PyTuple_GET_ITEM(edge, 1) != ZERO:
                there = reader.living.edge(*edge)
            else:
                there = reader.edges[<Py_ssize_t><object>position]
        Py_INCREF(there)
        PyTuple_SET_ITEM(found, place, there)
    return found


cdef tuple keeps(_Reader reader, object node, tuple kind, tuple items, tuple following):
    """What is kept by a node all of whose items are under names of their own; None where that is not plain."""
    cdef tuple labels = <tuple>kind[1], always = <tuple>kind[2], end
    cdef dict ends = <dict>kind[3], versions = None
    cdef list found = []
    cdef object item, raw, name, storage, version, where, there, extra = <object>SLOT(<PyObject *>node, EXTRA)
    cdef Py_ssize_t place
    if extra is not None:
        versions = extra.versions
    for place in range(len(items)):
        item = items[place]
        name = labels[place]
        raw = None
        if item.__class__ is Tensor:
            raw = <object>SLOT(<PyObject *>item, RAW)
        elif item.__class__ is SavedResult:
            raw = <object>SLOT(<PyObject *>item, RESULT_RAW)
        if raw is None or raw.__class__ not in ARRAYS:
            if item.__class__ not in BRIEF:
                item = noted_of(item)
                if item.__class__ is list:
                    return None
            if item is not None and hasattr(node.__class__, name):
                found.append(saved_value(name, as_given(item)))
            continue
        where = id(raw if raw.base is None else owner(raw))
        storage = reader.storages.setdefault(where, len(reader.storages))
        version = versions.get(place, ZERO) if versions else ZERO
        found.append(Saved(name, saved_type(raw.dtype, raw.shape), NO_TEXT, raw.nbytes, storage, version))
        end = ends.get(name)
        if end is None:
            continue
        if end[1] is not None:
            put(reader, reader.positions[<object>SLOT(<PyObject *>node, SEQ)], end[1], storage)
        elif end[0] is not None and <Py_ssize_t>end[0] < len(following) and following[<Py_ssize_t>end[0]] is not None:
            there = following[<Py_ssize_t>end[0]]
            put(reader, there.node, there.nr, storage)
    return tuple(found) + always if always else tuple(found)


cdef void put(_Reader reader, object position, object nr, object storage) except *:
    reader.kept_in[(position, nr) if nr else position] = storage
