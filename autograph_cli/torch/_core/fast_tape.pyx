# cython: language_level=3, binding=False
"""Plain operations and backward passes: what `forward_source.py`, `backward_source.py` and `backward_pass.py` do in Python.

Tensors and nodes stay Python's classes with `__slots__`; the code here reads and writes their slots at the places that
Python's descriptors of them name. What is not plain (modes, other arrays, casts, hooks, lists of tensors) is left to
Python: `Forward.run` answers None then, and `walk` calls the methods of `Pass`.
"""

import inspect

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.number cimport PyNumber_Add, PyNumber_Multiply
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

cdef object Tensor, View, Node, AccumulateGrad, TensorMeta, SavedResult, Versions, LEAF, INFERENCE, process_state
cdef object edge_of, expect, settled, strides_of, wrap_number, explain, opened_raw, unpack, freed, output_meta, make_view, check_versions
cdef object thread_state, next_sequence_nr, adding, CATEGORY, FLOATING, MULTIPLE, NO_GRAD

from .backward_source import recorded_order
from .dispatch import explain
from .gradients import adding
from .memory_format import settled, strides_of
from .node import INFERENCE, LEAF, AccumulateGrad, Node, Versions, View, edge_of, output_meta
from .saved_tensors import SavedResult, check_versions, expect, freed, opened_raw, unpack
from .state import next_sequence_nr, process_state, thread_state
from .tensor import Tensor, TensorMeta
from .dtypes import CATEGORY, FLOATING
from .views import MULTIPLE, NO_GRAD, make_view
from .wrapped_numbers import wrap_number

cnp.import_array()

cdef extern from *:
    """
    #include "structmember.h"
    static Py_ssize_t slot_place(PyObject *descriptor) {
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
        return ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    #define SLOT(o, place) (*(PyObject **)((char *)(o) + (place)))
    static inline void put_slot(PyObject *o, Py_ssize_t place, PyObject *value) {
        PyObject *old = SLOT(o, place);
        Py_XINCREF(value);
        SLOT(o, place) = value;
        Py_XDECREF(old);
    }
    static inline PyObject *new_of(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0); }
    static inline PyObject *type_of(PyObject *o) { return (PyObject *)Py_TYPE(o); }
    """
    Py_ssize_t slot_place(object descriptor)
    PyObject *SLOT(PyObject *o, Py_ssize_t place)
    void put_slot(PyObject *o, Py_ssize_t place, PyObject *value)
    object new_of(PyObject *type)
    PyObject *type_of(PyObject *o)
    Py_ssize_t Py_REFCNT(PyObject *o)
    bint PyTuple_CheckExact(PyObject *o)
    PyObject *PyWeakref_GetObject(PyObject *reference)
    object PyWeakref_NewRef(object o, PyObject *callback)
    object PyObject_Vectorcall(PyObject *callable, PyObject **args, size_t count, PyObject *names)
    object PyObject_CallNoArgs(PyObject *callable)
    PyObject *PyList_GET_ITEM(PyObject *o, Py_ssize_t i)
    long PyLong_AsLong(PyObject *o) except? -1
    bint PyLong_CheckExact(PyObject *o)
    bint PyFloat_CheckExact(PyObject *o)


cdef Py_ssize_t place(object cls, str name) except -1:
    cdef Py_ssize_t found = slot_place(vars(cls)[name])
    if found < 0:
        raise ImportError(f"{cls.__name__}.{name} is no slot")
    return found


cdef Py_ssize_t RAW = place(Tensor, "_raw"), EDGE = place(Tensor, "_edge")
cdef Py_ssize_t COUNTER = place(Tensor, "_counter"), META = place(Tensor, "_meta")
cdef Py_ssize_t ACCUMULATOR = place(TensorMeta, "accumulator")
cdef Py_ssize_t ACCUMULATOR_EXTRA = place(TensorMeta, "accumulator_extra"), GRADIENT = place(TensorMeta, "grad")
cdef Py_ssize_t HOOKS = place(TensorMeta, "hooks"), POST_HOOKS = place(TensorMeta, "post_hooks")
cdef Py_ssize_t VARIABLE = place(AccumulateGrad, "variable")
cdef Py_ssize_t EDGES = place(Node, "_edges"), EXTRA = place(Node, "_extra"), LIKE = place(Node, "_output_meta")
cdef Py_ssize_t SEQ = place(Node, "_seq"), SAVED = place(Node, "_saved"), KEPT = place(Node, "_kept")
cdef Py_ssize_t SAVED_RAW = place(SavedResult, "_raw"), SAVED_COUNTER = place(SavedResult, "_counter")
cdef Py_ssize_t SPECIAL = place(type(process_state), "special")
cdef Py_ssize_t WITHOUT_GRAD = place(type(process_state), "without_grad")
cdef Py_ssize_t OBSERVER = place(type(process_state), "observer"), ANOMALY = place(type(process_state), "anomaly")

cdef Py_ssize_t VIEW_BASE = place(View, "base"), VIEW_EDGE = place(View, "edge"), VIEW_PATH = place(View, "path")
cdef Py_ssize_t VIEW_VERSION = place(View, "version"), VIEW_CREATION = place(View, "creation")

cdef object ZERO = 0, EMPTY = (), NO_REASON = ""
cdef PyObject *ndarray = <PyObject *>cnp.ndarray
cdef object FLOAT32 = np.float32, FLOAT64 = np.float64, ARRAY = np.ndarray
cdef object DTYPE32 = np.dtype(np.float32), DTYPE64 = np.dtype(np.float64)

cdef object add_up = np.add.reduce

cdef set seen_as_tensors = {Tensor}


cdef bint is_tensor(PyObject *x):
    """Whether the class of `x` has the slots of a tensor, as `Tensor` and `Parameter`, and not something in their place."""
    if type_of(x) == <PyObject *>Tensor:
        return True
    cdef object cls = <object>type_of(x)
    if cls in seen_as_tensors:
        return True
    if not issubclass(cls, Tensor):
        return False
    if all(inspect.getattr_static(cls, name) is vars(Tensor)[name] for name in ("_raw", "_edge", "_counter", "_meta")):
        seen_as_tensors.add(cls)
        return True
    return False


cdef inline PyObject *dtype_of(PyObject *raw):
    """The dtype of an array or of a NumPy scalar of 32 or 64 bits; NULL of anything else."""
    cdef PyObject *kind = type_of(raw)
    if kind == ndarray:
        return <PyObject *>cnp.PyArray_DESCR(<cnp.ndarray>raw)
    if kind == <PyObject *>FLOAT32:
        return <PyObject *>DTYPE32
    return <PyObject *>DTYPE64 if kind == <PyObject *>FLOAT64 else NULL


cdef inline bint fits(PyObject *g, PyObject *like):
    """Whether a raw gradient has the shape and dtype of `like` (see `output_meta`)."""
    cdef PyObject *kind = type_of(g)
    cdef PyObject *shape
    cdef Py_ssize_t i
    cdef cnp.npy_intp *dims
    if kind == like:
        return True
    if kind != ndarray or not PyTuple_CheckExact(like):
        return False
    if <PyObject *>cnp.PyArray_DESCR(<cnp.ndarray>g) != PyTuple_GET_ITEM(<tuple>like, 1):
        return False
    shape = <PyObject *>PyTuple_GET_ITEM(<tuple>like, 0)
    if PyTuple_GET_SIZE(<tuple>shape) != cnp.PyArray_NDIM(<cnp.ndarray>g):
        return False
    dims = cnp.PyArray_DIMS(<cnp.ndarray>g)
    for i in range(cnp.PyArray_NDIM(<cnp.ndarray>g)):
        if PyLong_AsLong(<PyObject *>PyTuple_GET_ITEM(<tuple>shape, i)) != dims[i]:
            return False
    return True

# ---------------------------------------------------------------- edges


cdef object edge_to(PyObject *tensor, PyObject *edge):
    """`edge_of`, whose common cases are a tuple, a leaf and a view as it was made."""
    cdef PyObject *meta
    cdef PyObject *node
    if edge == <PyObject *>None or PyTuple_CheckExact(edge):
        return <object>edge
    if edge == <PyObject *>LEAF:
        meta = SLOT(tensor, META)
        if meta != <PyObject *>None:
            if SLOT(meta, ACCUMULATOR) != <PyObject *>None:
                node = PyWeakref_GetObject(SLOT(meta, ACCUMULATOR))
                if node != <PyObject *>None:
                    return (<object>node, ZERO)
            if not <object>SLOT(<PyObject *>process_state, ANOMALY):
                return (accumulator(tensor, meta), ZERO)
    elif type_of(edge) == <PyObject *>View and PyTuple_CheckExact(SLOT(edge, VIEW_EDGE)):
        if SLOT(edge, VIEW_VERSION) == PyList_GET_ITEM(SLOT(tensor, COUNTER), 0):
            return <object>SLOT(edge, VIEW_EDGE)
    return edge_of(<object>tensor)


cdef object accumulator(PyObject *leaf, PyObject *meta):
    """A new AccumulateGrad of a leaf that has none."""
    node = new_of(<PyObject *>AccumulateGrad)
    like = like_of(SLOT(leaf, RAW), NULL) if dtype_of(SLOT(leaf, RAW)) != NULL else output_meta(<object>SLOT(leaf, RAW))
    number = PyObject_CallNoArgs(<PyObject *>next_sequence_nr)
    reference = PyWeakref_NewRef(node, NULL)
    put_slot(<PyObject *>node, VARIABLE, leaf)
    put_slot(<PyObject *>node, EDGES, <PyObject *>EMPTY)
    put_slot(<PyObject *>node, SAVED, <PyObject *>EMPTY)
    put_slot(<PyObject *>node, LIKE, <PyObject *>like)
    put_slot(<PyObject *>node, SEQ, <PyObject *>number)
    put_slot(<PyObject *>node, EXTRA, SLOT(meta, ACCUMULATOR_EXTRA))
    put_slot(meta, ACCUMULATOR, <PyObject *>reference)
    return node


cdef object tensor_of(object raw):
    """`make`: a tensor over an array, outside the graph."""
    made = new_of(<PyObject *>Tensor)
    put_slot(<PyObject *>made, RAW, <PyObject *>raw)
    put_slot(<PyObject *>made, COUNTER, <PyObject *>None)
    put_slot(<PyObject *>made, META, <PyObject *>None)
    put_slot(<PyObject *>made, EDGE, <PyObject *>None)
    return made


cdef object like_of(PyObject *raw, PyObject *edge):
    """`output_meta` of a result: that of an operand, where it is the same."""
    cdef PyObject *like
    if type_of(raw) != ndarray:
        return <object>type_of(raw)
    if edge != NULL and edge != <PyObject *>None:
        like = SLOT(<PyObject *>PyTuple_GET_ITEM(<tuple>edge, 0), LIKE)
        if like != NULL and fits(raw, like):
            return <object>like
    return ((<object>raw).shape, (<object>raw).dtype)


# ---------------------------------------------------------------- forward

DEF MOST = 8
DEF SAVES = 12

cdef enum Saving:
    OF_RESULT, OF_TENSOR, OF_VALUE, OF_SIZES, OF_STRIDES, OF_DTYPE, OF_RESULT_SIZES, OF_RESULT_DTYPE

cdef struct Operands:
    PyObject *given[MOST]  # the arguments, with tensors in place of numbers
    PyObject *raws[MOST]  # the same, with arrays in place of tensors; owned
    PyObject *edges[MOST]  # of the inputs; owned


@cython.internal
cdef class Forward:
    """An operation on plain tensors: its results and their node, or None where something is not plain.

    `tensors`: where they stand among the arguments, and whether each may be None. `inputs`: which of them have a
    derivative. `saving`: for each saved thing (guard, kind, argument).
    """

    cdef object op, node, kernel, defaults
    cdef int count, tensors, inputs, saved
    cdef int at[MOST]
    cdef bint optional[MOST]
    cdef int edge_at[MOST]
    cdef int guards[SAVES]
    cdef int kinds[SAVES]
    cdef int froms[SAVES]
    cdef bint counted[SAVES]
    cdef char sign
    cdef bint promotes, floating, numbers, floating_numbers, elementwise, view, multiple

    def __init__(self, op, kernel, tensors, inputs, saving):
        self.op, self.node, self.kernel = op, op.node, kernel
        self.defaults = tuple([p.default for p in op.schema.parameters[2:]])
        self.count, self.tensors, self.inputs, self.saved = len(op.schema.parameters), len(tensors), len(inputs), len(saving)
        self.sign = ord(op.sign) if op.sign else 0
        self.promotes, self.floating = bool(op.promotes), op.floating
        self.numbers, self.floating_numbers = op.promotes and not op.strict, op.promotes == "floating"
        self.elementwise, self.view, self.multiple = op.elementwise, op.view, op.multiple
        for i, (position, optional) in enumerate(tensors):
            self.at[i], self.optional[i] = position, optional
        for i, position in enumerate(inputs):
            self.edge_at[i] = position
        for i, (guard, kind, argument) in enumerate(saving):
            self.guards[i] = -1 if guard is None else guard
            self.kinds[i], self.froms[i] = kind, -1 if argument is None else argument

    def run(self, *args):
        """The result of the operation on these arguments; None where Python's code must look at them."""
        cdef Operands x
        cdef int i
        if SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO:
            return None
        for i in range(MOST):
            x.given[i] = x.raws[i] = x.edges[i] = NULL
        try:
            return self.made(&x) if self.plain(args, &x) else None
        finally:
            for i in range(MOST):
                Py_XDECREF(x.given[i])
                Py_XDECREF(x.raws[i])
                Py_XDECREF(x.edges[i])

    cdef bint plain(self, tuple args, Operands *x) except -1:
        """Whether the arguments are plain; takes them, and the arrays of the tensors."""
        cdef int i, position
        cdef PyObject *given
        cdef PyObject *raw
        cdef PyObject *kind
        if PyTuple_GET_SIZE(args) != self.count:
            return False
        for i in range(self.count):
            x.given[i] = x.raws[i] = <PyObject *>PyTuple_GET_ITEM(args, i)
            Py_XINCREF(x.given[i])
            Py_XINCREF(x.raws[i])
        for i in range(self.tensors):
            position = self.at[i]
            given = x.given[position]
            if self.optional[i] and given == <PyObject *>None:
                continue
            if not is_tensor(given):
                if not (self.numbers and i == 1 and (PyFloat_CheckExact(given) or PyLong_CheckExact(given))):
                    return False
                wrapped = wrap_number(<object>given, <object>x.given[0], self.floating_numbers)
                Py_INCREF(wrapped)
                Py_XDECREF(given)
                given = x.given[position] = <PyObject *>wrapped
            raw = SLOT(given, RAW)
            if raw == NULL or dtype_of(raw) == NULL:
                return False
            Py_XINCREF(raw)
            Py_XDECREF(x.raws[position])
            x.raws[position] = raw
        return self.has_dtype(x) if not self.view else type_of(x.raws[0]) == ndarray

    cdef bint has_dtype(self, Operands *x):
        """Whether the kernel takes the arrays without a cast."""
        cdef PyObject *first
        if not self.promotes and not self.floating:
            return True
        first = dtype_of(x.raws[self.at[0]])
        if self.promotes and first != dtype_of(x.raws[self.at[1]]):
            return False
        return not self.floating or first == <PyObject *>DTYPE32 or first == <PyObject *>DTYPE64

    cdef object computed(self, Operands *x):
        """What the kernel makes of the arrays."""
        cdef int i
        cdef bint signed = self.sign != 0
        for i in range(2, self.count):
            signed = signed and x.given[i] == PyTuple_GET_ITEM(<tuple>self.defaults, i - 2)
        try:
            if signed:
                if self.sign == c'*':
                    return PyNumber_Multiply(<object>x.raws[0], <object>x.raws[1])
                return PyNumber_Add(<object>x.raws[0], <object>x.raws[1])
            return PyObject_Vectorcall(<PyObject *>self.kernel, x.raws, self.count, NULL)
        except Exception:
            explain(self.op, self.arguments(x), tuple([<object>x.raws[self.at[i]] for i in range(self.tensors)]))
            raise

    cdef tuple arguments(self, Operands *x):
        cdef int i
        return tuple([<object>x.given[i] for i in range(self.count)])

    cdef object made(self, Operands *x):
        """The result, or all of them in a tuple, with a node where one is to be recorded."""
        cdef int i
        cdef PyObject *first
        cdef PyObject *edge
        cdef bint any_edge = False
        node = None
        found = self.computed(x)
        if self.multiple:
            outputs = tuple([tensor_of(raw) for raw in found])
        else:
            if self.elementwise and type_of(<PyObject *>found) == ndarray and cnp.PyArray_NDIM(<cnp.ndarray>found) > 1:
                first = x.raws[self.at[0]]
                if type_of(first) == ndarray and not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>first):
                    found = settled(found, *[<object>x.raws[self.at[i]] for i in range(self.tensors)])
            outputs = (tensor_of(found),)
        for i in range(self.inputs):
            edge = x.given[self.edge_at[i]]
            edge = <PyObject *>None if edge == <PyObject *>None else SLOT(edge, EDGE)
            any_edge = any_edge or edge != <PyObject *>None
        if any_edge and (SLOT(<PyObject *>process_state, WITHOUT_GRAD) == <PyObject *>ZERO or thread_state.grad):
            node = self.record(outputs, x)
        if self.view:
            for made in outputs:
                hang(made, x.given[0], self.multiple)
        if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
            if node is None:
                process_state.observer.untracked(self.op.name, self.op, self.arguments(x), outputs)
            else:
                process_state.observer.created(node, self.arguments(x), outputs)
        return outputs if self.multiple else outputs[0]

    cdef object record(self, tuple outputs, Operands *x):
        """Give the results their node; None where no input has an edge after all."""
        cdef int i
        cdef PyObject *tensor
        cdef bint any_edge = False
        # As in PyTorch before the edges: the history of a view that is worked out anew has a later number.
        number = PyObject_CallNoArgs(<PyObject *>next_sequence_nr)
        edges = PyTuple_New(self.inputs)
        for i in range(self.inputs):
            tensor = x.given[self.edge_at[i]]
            edge = None if tensor == <PyObject *>None else edge_to(tensor, SLOT(tensor, EDGE))
            any_edge = any_edge or edge is not None
            Py_INCREF(edge)
            PyTuple_SET_ITEM(edges, i, edge)
        if not any_edge and not any([
            <object>x.given[self.edge_at[i]] is not None and (<object>x.given[self.edge_at[i]]).requires_grad
            for i in range(self.inputs)
        ]):
            return None
        node = new_of(<PyObject *>self.node)
        put_slot(<PyObject *>node, EDGES, <PyObject *>edges)
        put_slot(<PyObject *>node, EXTRA, <PyObject *>None)
        put_slot(<PyObject *>node, SEQ, <PyObject *>number)
        if self.multiple:
            like = [like_of(SLOT(<PyObject *>made, RAW), NULL) for made in outputs]
        else:
            like = like_of(SLOT(<PyObject *>outputs[0], RAW), <PyObject *>PyTuple_GET_ITEM(edges, 0))
        put_slot(<PyObject *>node, LIKE, <PyObject *>like)
        self.save(node, edges, outputs, x)
        for i in range(len(outputs)):
            made = outputs[i]
            if not self.multiple or self.differentiable(i, SLOT(<PyObject *>made, RAW)):
                edge = (node, i)
                put_slot(<PyObject *>made, EDGE, <PyObject *>edge)
        return node

    cdef bint differentiable(self, int i, PyObject *raw) except -1:
        """Whether an output of several can have a gradient, by its name and its dtype."""
        names = self.op.schema.outputs
        if self.op.nondifferentiable and names[i if i < len(names) else 0] in self.op.nondifferentiable:
            return False
        return CATEGORY[(<object>raw).dtype] >= FLOATING

    cdef int save(self, object node, tuple edges, tuple outputs, Operands *x) except -1:
        """Keep with the node what its formulas name, and the versions of it that are not 0."""
        cdef int i, kind, guard
        cdef PyObject *given
        saved = PyTuple_New(self.saved)
        for i in range(self.saved):
            kind, guard = self.kinds[i], self.guards[i]
            given = x.given[self.froms[i]] if self.froms[i] >= 0 and kind != OF_RESULT else NULL
            wanted = guard < 0 or <PyObject *>PyTuple_GET_ITEM(edges, guard) != <PyObject *>None
            if kind == OF_RESULT:
                item = saved_result(<PyObject *>outputs[self.froms[i]])
            elif kind == OF_TENSOR:
                item = <object>given if wanted else None
            elif kind == OF_VALUE:
                item = <object>given
            elif kind == OF_RESULT_SIZES:
                item = (<object>SLOT(<PyObject *>outputs[0], RAW)).shape
            elif kind == OF_RESULT_DTYPE:
                item = (<object>SLOT(<PyObject *>outputs[0], RAW)).dtype
            elif given == <PyObject *>None:
                item = None
            elif not wanted:
                item = ()
            elif kind == OF_SIZES:
                item = (<object>SLOT(given, RAW)).shape
            elif kind == OF_STRIDES:
                item = strides_of(<object>SLOT(given, RAW))
            else:
                item = (<object>SLOT(given, RAW)).dtype
            Py_INCREF(item)
            PyTuple_SET_ITEM(saved, i, item)
        put_slot(<PyObject *>node, SAVED, <PyObject *>saved)
        for i in range(self.saved):
            if self.kinds[i] == OF_TENSOR:
                given = x.given[self.froms[i]]
                if given != <PyObject *>None and changed(SLOT(given, COUNTER)):
                    expect(node, i, <object>given)
        return 0


cdef object saved_result(PyObject *made):
    """A result as its own node saves it."""
    if SLOT(made, COUNTER) == <PyObject *>None:
        counter = [0]
        put_slot(made, COUNTER, <PyObject *>counter)
    item = new_of(<PyObject *>SavedResult)
    put_slot(<PyObject *>item, SAVED_RAW, SLOT(made, RAW))
    put_slot(<PyObject *>item, SAVED_COUNTER, SLOT(made, COUNTER))
    return item


cdef int hang(object made, PyObject *source, bint multiple) except -1:
    """`make_view`, whose common case is a view of what is no view or one of the memory as it is, with grad mode on."""
    edge = <object>SLOT(<PyObject *>made, EDGE)
    cdef PyObject *seen = SLOT(source, EDGE)
    cdef PyObject *base = source
    cdef PyObject *versions
    cdef PyObject *creation = <PyObject *>NO_REASON
    if type_of(seen) == <PyObject *>View:
        base, creation = SLOT(seen, VIEW_BASE), SLOT(seen, VIEW_CREATION)
        if SLOT(seen, VIEW_PATH) != <PyObject *>None:
            make_view(made, <object>source, edge, multiple)
            return 0
    if multiple:
        creation = <PyObject *>(NO_GRAD if edge is None else MULTIPLE)
    versions = SLOT(base, COUNTER)
    if versions == <PyObject *>INFERENCE or SLOT(<PyObject *>process_state, WITHOUT_GRAD) != <PyObject *>ZERO:
        make_view(made, <object>source, edge, multiple)
        return 0
    if versions == <PyObject *>None:
        counter = [0]
        put_slot(base, COUNTER, <PyObject *>counter)
        versions = <PyObject *>counter
    put_slot(<PyObject *>made, COUNTER, versions)
    view = new_of(<PyObject *>View)
    put_slot(<PyObject *>view, VIEW_BASE, base)
    put_slot(<PyObject *>view, VIEW_EDGE, <PyObject *>edge)
    put_slot(<PyObject *>view, VIEW_PATH, <PyObject *>None)
    put_slot(<PyObject *>view, VIEW_VERSION, PyList_GET_ITEM(versions, 0))
    put_slot(<PyObject *>view, VIEW_CREATION, creation)
    put_slot(<PyObject *>made, EDGE, <PyObject *>view)
    return 0


cdef inline bint changed(PyObject *counter):
    """Whether a version must be looked at: it is not 0, or nobody counts."""
    return counter != <PyObject *>None and (
        counter == <PyObject *>INFERENCE or PyList_GET_ITEM(counter, 0) != <PyObject *>ZERO
    )


def forward_of(op, kernel):
    """`Forward(...).run` of an operation, or None where its arguments are of another sort."""
    parameters = op.schema.parameters
    tensors = [(i, p.type == "Tensor?") for i, p in op.positions]
    kinds = {"sizes": OF_SIZES, "strides": OF_STRIDES, "dtype": OF_DTYPE}
    saving = []
    for name, (guard, output, argument, what) in zip(op.saved_names, op.saving, strict=True):
        if output is not None:
            kind, argument = OF_RESULT, output
        elif what == "":
            kind = OF_TENSOR if parameters[argument].is_tensor else OF_VALUE
        elif argument is None:
            kind = {"sizes": OF_RESULT_SIZES, "dtype": OF_RESULT_DTYPE}.get(what)
        else:
            kind = kinds.get(what)
        if kind is None:
            return None
        saving.append((guard, kind, argument))
    if op.promotes and len(tensors) != 2 or op.floating and not op.promotes and len(tensors) != 1:
        return None
    if op.takes_lists or op.moves or op.rereads or op.output_mask is not None or not op.inputs or len(parameters) > MOST or len(saving) > SAVES or not op.has_derivative:
        return None
    return Forward(op, kernel, tensors, [i for i, _ in op.input_positions], saving).run


# ---------------------------------------------------------------- backward

cdef enum Need:
    GRAD, ONLY_GRAD, SAVED_TENSOR, SAVED_VALUE, WANTED


@cython.internal
cdef class Formula:
    """A formula of an operation: the numbers of the inputs whose gradients it gives, and where its arguments come from."""

    cdef object function
    cdef tuple targets
    cdef bint joint
    cdef int count
    cdef int kinds[MOST]
    cdef int numbers[MOST]

    def __init__(self, derivative, targets, needs):
        self.function, self.joint, self.targets = derivative.formula, derivative.joint, tuple(targets)
        self.count = len(needs)
        for i, (kind, number) in enumerate(needs):
            self.kinds[i], self.numbers[i] = kind, number

    cdef object run(self, Facts facts, object node, object f, object grad, object saved, tuple edges, bint recorded):
        """What the formula gives for a node, on tensors if it is `recorded`."""
        cdef int i
        cdef PyObject *args[MOST + 1]
        cdef list held = []
        args[0] = <PyObject *>f
        for i in range(self.count):
            if self.kinds[i] == GRAD:
                args[i + 1] = <PyObject *>grad
                continue
            if self.kinds[i] == SAVED_TENSOR:
                item = unpacked(facts, node, saved, self.numbers[i]) if recorded else opened(node, saved, self.numbers[i])
            elif self.kinds[i] == SAVED_VALUE:
                item = saved[self.numbers[i]]
            elif self.kinds[i] == ONLY_GRAD:
                item = grad[0]
            else:
                item = tuple([edges[j] is not None for j in self.targets])
            held.append(item)
            args[i + 1] = <PyObject *>item
        return PyObject_Vectorcall(<PyObject *>self.function, args, self.count + 1, NULL)


cdef bint unchanged(object node, Py_ssize_t index, PyObject *counter) except -1:
    """Whether a saved tensor has the version that it was saved at."""
    cdef PyObject *extra
    if counter == <PyObject *>None:
        return True
    extra = SLOT(<PyObject *>node, EXTRA)
    if extra == <PyObject *>None:
        return PyList_GET_ITEM(counter, 0) == <PyObject *>ZERO
    if type_of(extra) != <PyObject *>Versions:
        return False
    return (<object>extra).versions.get(index, ZERO) == <object>PyList_GET_ITEM(counter, 0)


cdef object opened(object node, object saved, Py_ssize_t index):
    """The array of a saved tensor, whose version is checked."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *raw
    cdef PyObject *counter
    if item == <PyObject *>None:
        return None
    if type_of(item) == <PyObject *>SavedResult:
        raw, counter = SLOT(item, SAVED_RAW), SLOT(item, SAVED_COUNTER)
    elif is_tensor(item):
        raw, counter = SLOT(item, RAW), SLOT(item, COUNTER)
    else:
        return (<object>item)._raw if (<object>item)._counter is None else opened_raw(node, index)
    if counter == <PyObject *>None or dtype_of(raw) != NULL and unchanged(node, index, counter):
        return <object>raw
    return opened_raw(node, index)


cdef object unpacked(Facts facts, object node, object saved, Py_ssize_t index):
    """`unpack`, whose common cases are a result and a tensor that has the history it had."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *edge
    cdef PyObject *then
    if type_of(item) == <PyObject *>SavedResult:
        if unchanged(node, index, SLOT(item, SAVED_COUNTER)):
            made = tensor_of(<object>SLOT(item, SAVED_RAW))
            put_slot(<PyObject *>made, COUNTER, SLOT(item, SAVED_COUNTER))
            number = facts.results[index]
            if number in facts.differentiable:
                own = (node, number)
                put_slot(<PyObject *>made, EDGE, <PyObject *>own)
            return made
    elif is_tensor(item) and unchanged(node, index, SLOT(item, COUNTER)):
        edge = SLOT(item, EDGE)
        if facts.edges[index] is None or edge == <PyObject *>LEAF:
            return <object>item
        then = <PyObject *>PyTuple_GET_ITEM(<tuple>SLOT(<PyObject *>node, EDGES), facts.edges[index])
        if edge == then or PyTuple_CheckExact(edge) and PyTuple_CheckExact(then) and <object>edge == <object>then:
            return <object>item
    return unpack(node, index)


@cython.internal
cdef class Facts:
    """What `walk` asks of the class of an operation's nodes; without `formulas`, Python's code computes gradients."""

    cdef object frees
    cdef bint takes_none, saves
    cdef Py_ssize_t inputs
    cdef tuple formulas, in_recorded_order
    cdef tuple edges, results
    """For each saved thing, the number of the input or of the result that it is."""
    cdef object differentiable

    def __init__(self, cls):
        op = cls._operation
        self.frees, self.takes_none, self.differentiable = cls._frees, cls._takes_none, cls._differentiable
        self.edges, self.results = cls._item_edges, cls._item_results
        self.inputs, self.saves = len(op.inputs), bool(op.saved_names)
        self.formulas = formulas_of(op, op.derivatives)
        self.in_recorded_order = formulas_of(op, recorded_order(op))

    cdef object gradients(self, object node, object f, object grad, tuple edges, bint recorded):
        """The gradients of the inputs, as `Node._run_raw` or `Node._run_recorded` gives them."""
        cdef Formula formula
        cdef Py_ssize_t i
        cdef bint wanted
        cdef object saved = <object>SLOT(<PyObject *>node, SAVED)
        if not self.formulas or (saved is not None and type(saved) is not tuple):
            return node._run_recorded(f, grad, edges) if recorded else node._run_raw(f, grad, edges)
        if self.saves and saved is None:
            raise freed()
        grads = [None] * self.inputs
        for formula in self.in_recorded_order if recorded else self.formulas:
            wanted = False
            for i in formula.targets:
                wanted = wanted or <PyObject *>PyTuple_GET_ITEM(edges, i) != <PyObject *>None
            if not wanted:
                continue
            found = formula.run(self, node, f, grad, saved, edges, recorded)
            if formula.joint:
                for i, one in zip(formula.targets, found, strict=True):
                    grads[i] = one
            else:
                grads[formula.targets[0]] = found
        return tuple(grads)


cdef tuple formulas_of(op, derivatives):
    """The formulas of an operation; none where they are given lists."""
    if op.flattens or op.takes_lists or not op.has_derivative:
        return ()
    positions = {p.name: i for i, p in enumerate(op.inputs)}
    made = []
    for derivative in derivatives:
        needs = []
        for name in derivative.needs:
            if name == "mask" and "mask" not in op.saved_names:
                needs.append((WANTED, 0))
            elif name in ("grad", "grads"):
                needs.append((ONLY_GRAD if op.multiple and name == "grad" else GRAD, 0))
            else:
                needs.append((SAVED_TENSOR if op.is_tensor(name) else SAVED_VALUE, op.saved_names.index(name)))
        if len(needs) > MOST:
            return ()
        made.append(Formula(derivative, [positions[name] for name in derivative.inputs], needs))
    return tuple(made)


cdef dict known_facts = {}


cdef Facts facts_of(PyObject *node):
    """The facts of an operation's node; None of any other."""
    cdef PyObject *cls = type_of(node)
    found = known_facts.get(<object>cls)
    if found is None and (<object>cls)._operation is not None:
        found = known_facts[<object>cls] = Facts(<object>cls)
    return found


def collect(list stack, dict pending, dict leaves):
    """All nodes that can be reached from those of `stack`: each waits in `pending`, leaves are counted in `leaves`."""
    cdef list order = []
    cdef tuple edges
    cdef PyObject *edge
    cdef Py_ssize_t i
    while stack:
        node = stack.pop()
        order.append(node)
        edges = <tuple>SLOT(<PyObject *>node, EDGES)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge == <PyObject *>None:
                continue
            target = <object>PyTuple_GET_ITEM(<tuple>edge, 0)
            if type_of(<PyObject *>target) == <PyObject *>AccumulateGrad:
                leaves[target] = leaves.get(target, ZERO) + 1
            elif target not in pending:
                pending[target] = None
                stack.append(target)
    return order


def leading(list order, captures):
    """The nodes that lead to one of those of `captures`, out of all in the order in which they run."""
    cdef set found = set()
    cdef tuple edges
    cdef PyObject *edge
    cdef Py_ssize_t i
    for node in reversed(order):
        if node in captures:
            found.add(node)
            continue
        edges = <tuple>SLOT(<PyObject *>node, EDGES)
        for i in range(PyTuple_GET_SIZE(edges)):
            edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
            if edge == <PyObject *>None:
                continue
            target = <object>PyTuple_GET_ITEM(<tuple>edge, 0)
            if target in found or target in captures:
                found.add(node)
                break
    return found


cdef tuple wanted_edges(run, object node, Facts facts, tuple edges, set only, dict captures):
    """The edges that lead to one of the inputs (see `Pass.wanted_edges`)."""
    cdef Py_ssize_t i
    cdef bint fewer = False
    if facts is None:
        return run.wanted_edges(node) or edges
    wanted = []
    for i in range(PyTuple_GET_SIZE(edges)):
        edge = <object>PyTuple_GET_ITEM(edges, i)
        if edge is not None and (<tuple>edge)[0] not in only and (<tuple>edge)[0] not in captures:
            edge, fewer = None, True
        wanted.append(edge)
    if not fewer:
        return edges
    if not all_unchanged(node):
        check_versions(node)  # of what the others need, too
    return tuple(wanted)


cdef bint all_unchanged(object node) except -1:
    """Whether all that a node saved are plain things at the versions that they were saved at."""
    cdef Py_ssize_t i
    cdef PyObject *item
    cdef PyObject *saved = SLOT(<PyObject *>node, SAVED)
    if not PyTuple_CheckExact(saved):
        return False
    for i in range(PyTuple_GET_SIZE(<tuple>saved)):
        item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, i)
        if type_of(item) == <PyObject *>SavedResult:
            if not unchanged(node, i, SLOT(item, SAVED_COUNTER)):
                return False
        elif item != <PyObject *>None and not PyTuple_CheckExact(item):
            if not is_tensor(item) or not unchanged(node, i, SLOT(item, COUNTER)):
                return False
    return True


cdef bint misfits(tuple edges, object grads) except -1:
    """Whether a recorded gradient has not the shape and dtype of what it goes to."""
    cdef Py_ssize_t i
    cdef PyObject *edge
    for i in range(min(PyTuple_GET_SIZE(edges), len(grads))):
        edge = <PyObject *>PyTuple_GET_ITEM(edges, i)
        t = grads[i]
        if t is None or edge == <PyObject *>None:
            continue
        raw = SLOT(<PyObject *>t, RAW) if is_tensor(<PyObject *>t) else NULL
        if raw == NULL or not fits(raw, SLOT(<PyObject *>PyTuple_GET_ITEM(<tuple>edge, 0), LIKE)):
            return True
    return False


cdef object gradients(run, object node, Facts facts, object f, object g, tuple edges, bint recorded):
    """What a node without hooks gives; `facts` are those of an operation."""
    targets = <tuple>SLOT(<PyObject *>node, EDGES)
    if facts is not None:
        grads = facts.gradients(node, f, g, edges, recorded)
    else:
        compute = node._run_recorded if recorded else node._run_raw
        grads = compute(f, g) if edges is targets else compute(f, g, edges)
    return run.fitted(node, grads) if recorded and misfits(targets, grads) else grads


cdef int let_go(object node, Facts facts) except -1:
    """Let go of what a node saved."""
    frees = node._frees if facts is None else facts.frees
    if frees:
        if frees is not True:
            node._kept = frees(node._saved)
        put_slot(<PyObject *>node, SAVED, <PyObject *>None)
    return 0


cdef object summed(object g, PyObject *like):
    """A gradient of rows added up, where `like` is one row of it; None where it is not so simple."""
    cdef cnp.ndarray array, made
    cdef cnp.npy_intp rows, columns
    cdef PyObject *shape
    if type_of(<PyObject *>g) != ndarray or not PyTuple_CheckExact(like):
        return None
    array = <cnp.ndarray>g
    shape = <PyObject *>PyTuple_GET_ITEM(<tuple>like, 0)
    if cnp.PyArray_NDIM(array) < 2 or PyTuple_GET_SIZE(<tuple>shape) != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return None
    columns = PyLong_AsLong(<PyObject *>PyTuple_GET_ITEM(<tuple>shape, 0))
    if columns == 1 and cnp.PyArray_NDIM(array) == 2 and cnp.PyArray_SIZE(array):
        return add_up(g, ZERO)  # in pairs
    if columns < 2 or cnp.PyArray_DIM(array, cnp.PyArray_NDIM(array) - 1) != columns or not cnp.PyArray_SIZE(array):
        return None
    if <PyObject *>cnp.PyArray_DESCR(array) != PyTuple_GET_ITEM(<tuple>like, 1):
        return None
    rows = cnp.PyArray_SIZE(array) // columns
    if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT:
        made = cnp.PyArray_SimpleNew(1, &columns, cnp.NPY_FLOAT)
        add_rows[float](<float *>cnp.PyArray_DATA(array), <float *>cnp.PyArray_DATA(made), rows, columns)
    elif cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE:
        made = cnp.PyArray_SimpleNew(1, &columns, cnp.NPY_DOUBLE)
        add_rows[double](<double *>cnp.PyArray_DATA(array), <double *>cnp.PyArray_DATA(made), rows, columns)
    else:
        return None
    return made


cdef fused real:
    float
    double


cdef void add_rows(real *table, real *total, cnp.npy_intp rows, cnp.npy_intp columns) noexcept nogil:
    """One row after the other, as NumPy adds them up."""
    cdef cnp.npy_intp i, j
    for j in range(columns):
        total[j] = table[j]
    for i in range(1, rows):
        for j in range(columns):
            total[j] += table[i * columns + j]


cdef bint accumulated(run, PyObject *leaf, object g, bint shared, bint own) except -1:
    """Whether a gradient could be given to a leaf at once: no hooks, an array laid out as the leaf is."""
    cdef PyObject *variable = SLOT(leaf, VARIABLE)
    cdef PyObject *meta = SLOT(variable, META)
    cdef PyObject *raw
    cdef PyObject *have
    if meta == <PyObject *>None or SLOT(variable, EDGE) != <PyObject *>LEAF or SLOT(leaf, EXTRA) != <PyObject *>None:
        return False
    if SLOT(meta, HOOKS) != <PyObject *>None or SLOT(meta, POST_HOOKS) != <PyObject *>None or shared:
        return False
    if not is_tensor(variable) or not fits(<PyObject *>g, SLOT(leaf, LIKE)) or id(g) in run.given_ids or adding.locked():
        return False
    raw, have = SLOT(variable, RAW), SLOT(meta, GRADIENT)
    if type_of(<PyObject *>g) == ndarray:
        if type_of(raw) != ndarray or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw):
            return False
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>g):
            return False
    if have != <PyObject *>None:
        return added(have, g)
    if type_of(<PyObject *>g) == ndarray and not (own and cnp.PyArray_BASE(<cnp.ndarray>g) == NULL):
        g = cnp.PyArray_NewCopy(<cnp.ndarray>g, cnp.NPY_CORDER)
    made = tensor_of(g)
    put_slot(meta, GRADIENT, <PyObject *>made)
    return True


cdef bint added(PyObject *have, object g) except -1:
    """Whether a gradient could be added to the one that is there."""
    cdef PyObject *raw = SLOT(have, RAW) if type_of(have) == <PyObject *>Tensor else NULL
    if raw == NULL or dtype_of(raw) == NULL:
        return False
    held = <object>raw
    if type_of(raw) == ndarray:
        held += g
    else:
        held = held + g
        put_slot(have, RAW, <PyObject *>held)
    if SLOT(have, COUNTER) == <PyObject *>None:
        counter = [1]
        put_slot(have, COUNTER, <PyObject *>counter)
    else:
        (<object>SLOT(have, COUNTER))[0] += 1
    return True


def walk(run, list order, f, bint plain, bint quick):
    """Run the nodes in order: `_walk` of backward_pass.py, which see."""
    cdef dict pending = run.pending, leaves = run.leaves, captures = run.captures
    cdef set only = run.only
    cdef bint keep = run.call.keeps_graph, recorded = run.recorded, is_leaf, straight
    cdef set sums = set()
    cdef tuple edges, targets, edge
    cdef Facts facts
    cdef PyObject *extra
    cdef PyObject *like
    cdef Py_ssize_t i, count
    watch = run.call.watch
    ran = None if process_state.observer is None else run.call.ran
    straight = plain and only is None and ran is None
    for node in order:
        g = pending.pop(node)
        if only is not None and (node not in only or node in captures):
            runs, g = run.passed(node, g)
            if not runs:
                continue
        facts = facts_of(<PyObject *>node)
        if g is None and not (node._takes_none if facts is None else facts.takes_none):
            run.run_undefined(node)
            continue
        if ran is not None:
            ran.append(node)
            thread_state.current = node
            if watch is not None:
                watch(node, g)
        extra = SLOT(<PyObject *>node, EXTRA)
        targets = <tuple>SLOT(<PyObject *>node, EDGES)
        if quick and (extra == <PyObject *>None or type_of(extra) == <PyObject *>Versions):
            edges = targets
            if only is not None:
                edges = wanted_edges(run, node, facts, targets, only, captures)
            grads = gradients(run, node, facts, f, g, edges, recorded)
        else:
            grads = run.run_node(node, g)
        if not keep:
            let_go(node, facts)
        count = min(PyTuple_GET_SIZE(targets), len(grads))
        for i in range(count):
            if <PyObject *>PyTuple_GET_ITEM(targets, i) == <PyObject *>None:
                continue
            edge = <tuple>PyTuple_GET_ITEM(targets, i)
            target = <object>PyTuple_GET_ITEM(edge, 0)
            is_leaf = type_of(<PyObject *>target) == <PyObject *>AccumulateGrad
            g = grads[i]
            if g is None:
                if is_leaf:
                    run.deliver(target, 0, None)
                continue
            like = SLOT(<PyObject *>target, LIKE)
            if type_of(like) == <PyObject *>list:
                if plain and not fits(<PyObject *>g, <PyObject *>(<list>like)[edge[1]]):
                    g = run.fitting(node, grads, edge, g)
                    quick = quick and not run.elsewhere
                waiting = pending[target]
                if waiting is None:
                    waiting = pending[target] = [None] * len(<list>like)
                waiting[edge[1]] = g if waiting[edge[1]] is None else waiting[edge[1]] + g
                continue
            if plain and not fits(<PyObject *>g, like):
                fitted = summed(g, like)
                if fitted is None:
                    fitted = run.fitting(node, grads, edge, g)
                    quick = quick and not run.elsewhere  # the nodes that follow look at what they are given
                g, fitted = fitted, None
            old = pending.get(target)
            if old is None:
                pending[target] = g
            elif target in sums:
                old += g
                pending[target] = old
            else:
                pending[target] = old + g
                if type_of(<PyObject *>old) == ndarray:
                    sums.add(target)
            if is_leaf:
                left = leaves[target] - 1
                leaves[target] = left
                if not left:
                    old = None
                    whole = pending.pop(target)
                    # Held by `grads`, `g` and `whole`: only the pass has it.
                    own = whole is not g or Py_REFCNT(<PyObject *>g) <= 3
                    shared = g is grads[-1] and edge is not <object>PyTuple_GET_ITEM(targets, PyTuple_GET_SIZE(targets) - 1)
                    if not (straight and accumulated(run, <PyObject *>target, whole, shared, own)):
                        run.finish_leaf(target, whole, shared, own)
                    whole = None
