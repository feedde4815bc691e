# Slots read in place, each checked: Python may put anything there, or nothing. A part of fast_tape.pyx.


cdef dict read_in_place = {}
"""The slots that the code here reads in place, by class."""


cdef Py_ssize_t place(object cls, str name) except -1:
    cdef Py_ssize_t found = slot_place(vars(cls)[name])
    if found < 0:
        raise ImportError(f"{cls.__name__}.{name} is no slot")
    read_in_place.setdefault(cls, []).append(name)
    return found


def slots_in_place():
    """The slots that compiled code reads in place, by class."""
    return {cls: tuple(names) for cls, names in read_in_place.items()}


cdef int spoiled(PyObject *o, str name) except -1:
    """The error of a slot that holds what the engine did not put there."""
    cls = type(<object>o).__name__
    raise RuntimeError(f"{cls}.{name}: autograph's engine keeps its own state under this name, which something else changed")


cdef inline bint is_node(PyObject *o) noexcept:
    return is_kind_of(type_of(o), <PyObject *>Node)


cdef inline bint is_edge(PyObject *o) noexcept:
    """Return whether this is a pair that begins with a node."""
    return type_of(o) == <PyObject *>tuple and PyTuple_GET_SIZE(<tuple>o) == 2 and is_node(PyTuple_GET_ITEM(<tuple>o, 0))


cdef inline bint is_counter(PyObject *o) noexcept:
    return o == <PyObject *>None or type_of(o) == <PyObject *>list and PyList_GET_SIZE(o) > 0


cdef bint is_view(PyObject *o) noexcept:
    """Return whether this is a `View` with all that it is made with."""
    cdef PyObject *edge
    if type_of(o) != <PyObject *>View or not is_kind_of(type_of(SLOT(o, VIEW_BASE)), <PyObject *>Tensor):
        return False
    edge = SLOT(o, VIEW_EDGE)
    if edge != <PyObject *>None and edge != <PyObject *>LEAF and not is_edge(edge):
        return False
    return SLOT(o, VIEW_PATH) != NULL and SLOT(o, VIEW_VERSION) != NULL and SLOT(o, VIEW_CREATION) != NULL


cdef inline PyObject *edge_in(PyObject *tensor) except NULL:
    """`Tensor._ag_edge`: None, an edge, LEAF, or a `View`."""
    cdef PyObject *edge = SLOT(tensor, EDGE)
    if edge != <PyObject *>None and edge != <PyObject *>LEAF and not is_edge(edge) and not is_view(edge):
        spoiled(tensor, "_ag_edge")
    return edge


cdef inline PyObject *counter_in(PyObject *tensor) except NULL:
    """`Tensor._ag_counter`: None, or a list of a number."""
    cdef PyObject *counter = SLOT(tensor, COUNTER)
    if not is_counter(counter):
        spoiled(tensor, "_ag_counter")
    return counter


cdef inline PyObject *version_in(PyObject *tensor) except NULL:
    """The version of a tensor whose versions are counted."""
    cdef PyObject *counter = counter_in(tensor)
    if counter == <PyObject *>None:
        spoiled(tensor, "_ag_counter")
    return PyList_GET_ITEM(counter, 0)


cdef inline int count_change(PyObject *tensor) except -1:
    """Count a change of a tensor."""
    counter = <object>counter_in(tensor)
    if counter is None:
        counter = [0]
        put_slot(tensor, COUNTER, <PyObject *>counter)
    (<list>counter)[0] += 1
    return 0


cdef inline PyObject *meta_in(PyObject *tensor) except NULL:
    """`Tensor._ag_meta`: None or a `TensorMeta`."""
    cdef PyObject *meta = SLOT(tensor, META)
    if meta != <PyObject *>None and type_of(meta) != <PyObject *>TensorMeta:
        spoiled(tensor, "_ag_meta")
    return meta


cdef inline tuple edges_in(PyObject *node):
    """`Node._ag_edges`, each of which is None or an edge."""
    cdef PyObject *edges
    cdef Py_ssize_t i
    if not is_node(node):
        raise TypeError(f"'{type(<object>node).__name__}' object is no node of a graph")
    edges = SLOT(node, EDGES)
    if type_of(edges) != <PyObject *>tuple:
        spoiled(node, "_ag_edges")
    for i in range(PyTuple_GET_SIZE(<tuple>edges)):
        if PyTuple_GET_ITEM(<tuple>edges, i) != <PyObject *>None and not is_edge(PyTuple_GET_ITEM(<tuple>edges, i)):
            spoiled(node, "_ag_edges")
    return <tuple>edges
