# cython: language_level=3, binding=False
"""The compiled form of `Living.rows` (`living.py`) for nodes of plain operations; Python does the rest."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

from autograph_cli.engines.builtin.saved import ARRAYS, BRIEF, as_given, kind_of, noted_of, owner, saved_type
from autograph_cli.engines.values import saved_value
from autograph_cli.graph import Node, Output, Saved
from autograph_cli.torch._core.tape.node import AccumulateGrad, Node as Step
from autograph_cli.torch._core.tape.saved_tensors import SavedResult
from autograph_cli.torch._core.tape.tensor import Tensor

cdef extern from *:
    """
    #include "structmember.h"
    static Py_ssize_t slot_of(PyObject *member) { return ((PyMemberDescrObject *)member)->d_member->offset; }
    static inline int is_of(PyObject *o, PyObject *cls) { return PyObject_TypeCheck(o, (PyTypeObject *)cls); }
    """
    Py_ssize_t slot_of(object)
    bint is_of(PyObject *, object) noexcept
    bint PyTuple_CheckExact(PyObject *)
    PyObject *PyDict_GetItem(object, PyObject *)

cdef Py_ssize_t EDGES = slot_of(vars(Step)["_ag_edges"]), EXTRA = slot_of(vars(Step)["_ag_extra"])
cdef Py_ssize_t LIKE = slot_of(vars(Step)["_ag_output_meta"]), SAVED = slot_of(vars(Step)["_ag_saved"])
cdef Py_ssize_t SEQ = slot_of(vars(Step)["_ag_seq"])
cdef Py_ssize_t RAW = slot_of(vars(Tensor)["_ag_raw"]), RESULT_RAW = slot_of(vars(SavedResult)["_ag_raw"])
cdef object EMPTY = (), NO_TEXT = "", ZERO = 0


cdef inline object slot(PyObject *of, Py_ssize_t place):
    cdef PyObject *found = (<PyObject **>(<char *>of + place))[0]
    if found is NULL:
        raise AttributeError("a slot is empty")
    return <object>found


cdef inline tuple edges_of(PyObject *node):
    """The edges of a node, which Python may have changed."""
    cdef object edges = slot(node, EDGES) if is_of(node, Step) else None
    cdef PyObject *edge
    cdef Py_ssize_t place
    if type(edges) is not tuple:
        raise TypeError("a node of the graph has no edges")
    for place in range(PyTuple_GET_SIZE(edges)):
        edge = PyTuple_GET_ITEM(edges, place)
        if <object>edge is None:
            continue
        if not PyTuple_CheckExact(edge) or PyTuple_GET_SIZE(<object>edge) != 2 or not is_of(PyTuple_GET_ITEM(<object>edge, 0), Step):
            raise TypeError("an edge of the graph leads to no node")
    return <tuple>edges


def behind(node, dict known):
    """`behind` of `living.py`."""
    cdef list met = [node]
    cdef set unseen = {node._ag_seq}
    cdef object number, before
    cdef tuple edges
    cdef PyObject *edge
    cdef bint late = False
    cdef Py_ssize_t walked = 0, place
    while walked < len(met):
        there = met[walked]
        walked += 1
        edges = edges_of(<PyObject *>there)
        number = slot(<PyObject *>there, SEQ)
        for place in range(PyTuple_GET_SIZE(edges)):
            edge = PyTuple_GET_ITEM(edges, place)
            if <object>edge is not None:
                before = slot(PyTuple_GET_ITEM(<object>edge, 0), SEQ)
                if not late and before > number:
                    late = True
                if before not in unseen and before not in known:
                    unseen.add(before)
                    met.append(<object>PyTuple_GET_ITEM(<object>edge, 0))
    return met, late


def know(list nodes, dict known, number):
    """Have these nodes known as they are; `number` makes leaves known."""
    for node in nodes:
        if not is_of(<PyObject *>node, Step) or type(node) is AccumulateGrad:
            number(node)
        else:
            known[slot(<PyObject *>node, SEQ)] = node


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
    cdef object cls = type(node)
    cdef tuple following = leads_to(reader, edges_of(at))
    cdef object items = slot(at, SAVED)
    cdef tuple kept = None
    cdef PyObject *known = PyDict_GetItem(reader.kinds, <PyObject *>cls)
    cdef tuple kind
    if known is NULL:
        kind = reader.kinds[cls] = tuple(kind_of(cls))
    else:
        kind = <tuple>known
    if kind[0] and not kind[4] and items.__class__ is tuple:
        kept = keeps(reader, node, kind, <tuple>items, following) if items else ()
    if kept is None:
        kept = reader.living.kept(node, following)
    return cls, slot(at, LIKE), following, kept


cdef tuple leads_to(_Reader reader, tuple edges):
    cdef Py_ssize_t count = PyTuple_GET_SIZE(<object>edges), place
    cdef tuple found = PyTuple_New(count)
    cdef object edge, there, number
    cdef PyObject *position
    for place in range(count):
        edge = <object>PyTuple_GET_ITEM(edges, place)
        there = None
        if edge is not None:
            number = slot(PyTuple_GET_ITEM(edge, 0), SEQ)
            position = PyDict_GetItem(reader.positions, <PyObject *>number)
            if position is NULL or <object>PyTuple_GET_ITEM(edge, 1) != ZERO:
                there = reader.living.edge(*edge)
            else:
                there = reader.edges[<Py_ssize_t><object>position]
        Py_INCREF(there)
        PyTuple_SET_ITEM(found, place, there)
    return found


cdef tuple keeps(_Reader reader, object node, tuple kind, tuple items, tuple following):
    """Return what a node keeps whose items are all under names of their own; None where that is not plain."""
    cdef tuple labels = <tuple>kind[1], always = <tuple>kind[2], end
    cdef dict ends = <dict>kind[3], versions = None
    cdef list found = []
    cdef object item, raw, name, dtype, shape, where, size, storage, version, there, extra = slot(<PyObject *>node, EXTRA)
    cdef Py_ssize_t place
    if extra is not None:
        versions = extra.versions
    for place in range(len(items)):
        item = items[place]
        name = labels[place]
        raw = None
        if type(item) is Tensor:
            raw = slot(<PyObject *>item, RAW)
        elif type(item) is SavedResult:
            raw = slot(<PyObject *>item, RESULT_RAW)
        if raw is not None and raw.__class__ in ARRAYS:
            dtype, shape, where, size = raw.dtype, raw.shape, id(raw if raw.base is None else owner(raw)), raw.nbytes
        else:
            if item.__class__ not in BRIEF:
                item = noted_of(item)
            if item.__class__ is not list:
                if item is not None and hasattr(node.__class__, name):
                    found.append(saved_value(name, as_given(item)))
                continue
            if len(item) > 4:  # a copy from before a change in place
                return None
            dtype, shape, where, size = item
        storage = reader.storages.setdefault(where, len(reader.storages))
        version = versions.get(place, ZERO) if versions else ZERO
        found.append(Saved(name, saved_type(dtype, shape), NO_TEXT, size, storage, version))
        end = ends.get(name)
        if end is None:
            continue
        if end[1] is not None:
            put(reader, reader.positions[slot(<PyObject *>node, SEQ)], end[1], storage)
        elif end[0] is not None and <Py_ssize_t>end[0] < len(following) and following[<Py_ssize_t>end[0]] is not None:
            there = following[<Py_ssize_t>end[0]]
            put(reader, there.node, there.nr, storage)
    return tuple(found) + always if always else tuple(found)


cdef void put(_Reader reader, object position, object nr, object storage) except *:
    reader.kept_in[(position, nr) if nr else position] = storage


def nodes(builder, leaf):
    """The records of all that a builder of `living.py` has met: of a `leaf` it makes them itself, and what has names."""
    cdef dict kept_in = builder.living.kept_in, versions = builder.versions, types = {}, titles = {}
    cdef list rows = builder.rows, found = []
    cdef object key, node, cls, like, outputs, storage, made, zero = ZERO, given = builder.given, named = builder.named
    cdef tuple following, kept, title
    cdef Py_ssize_t place, position = 0
    cdef PyObject *known
    for key, node in builder.met.items():
        if node.__class__ is leaf:
            found.append(builder.leaf(position, node))
            position += 1
            continue
        cls, like, following, kept = rows.pop()
        known = PyDict_GetItem(titles, <PyObject *>cls)
        if known is NULL:
            title = titles[cls] = (*builder.title(cls), cls._ag_multiple)
        else:
            title = <tuple>known
        if title[2] or key in named:
            outputs = builder.outputs(position, key, builder.engine.types(cls, like))
        else:
            known = PyDict_GetItem(types, <PyObject *>like)
            if known is NULL:
                (made,) = types[like] = builder.engine.types(cls, like)
            else:
                made = (<list>known)[0]
            storage = kept_in.get(position)
            outputs = builder.outputs(position, key, (made,)) if storage is None else (Output(made, EMPTY, storage),)
        args = following
        for place in range(PyTuple_GET_SIZE(following)):
            if <object>PyTuple_GET_ITEM(following, place) is None:
                args = tuple([edge for edge in following if edge is not None])
                break
        for saved in kept:
            storage = saved.storage
            if storage is None:
                continue
            if saved.version != zero or versions.setdefault(storage, zero) != zero or storage in given:
                kept = builder.settled(kept, versions, given)
                break
        found.append(
            Node(position, "operation", title[0], title[1], outputs, following, args, zero, None, None, None, NO_TEXT, kept)
        )
        position += 1
    return found
