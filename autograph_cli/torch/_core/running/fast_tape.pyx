# cython: language_level=3, binding=False
"""Plain operations and backward passes: what `dispatch.py`, `formulas.py` and `backward_pass.py` do in Python.

Tensors and nodes stay Python's classes with `__slots__`; the code here reads and writes their slots at the places that
Python's descriptors of them name. What is not plain (modes, other arrays, casts, hooks) is left to Python: `Forward.run`
and `change` answer None then, and `walk` calls the methods of `Pass`.
"""

import inspect
from types import MethodType

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.number cimport PyNumber_Add, PyNumber_Multiply
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

from autograph_cli.torch._core.running.fast_kernels cimport Kernel

# What is imported below, as variables of C.
cdef object AccumulateGrad, CATEGORY, FLOATING, INFERENCE, LEAF, MULTIPLE, NO_GRAD, Node, SavedList, SavedResult, Tensor
cdef object TensorMeta
cdef object Versions, View, adding, check_versions, edge_of, expect, explain, freed, make_view, next_sequence_nr, opened_raw
cdef object CopySlices, Indices, Packed, as_floating, check_inplace, materialize, result_dtype, check_overlap, extra_of, itself, move_retained, operations, position_in
cdef object rebase, result_for, table, tell_change, view_edge, write
cdef object REQUIRED, disabled, laid_out, output_meta, process_state, settled, strides_of, thread_state, threads, unpack, wrap_number

from .dispatch import as_floating, cast, check_differentiable, explain, tell_change
from ..base.dtypes import CATEGORY, FLOATING, result_dtype
from .gradients import adding
from .inplace import result_for
from ..base.memory_format import laid_out, settled, strides_of
from ..tape.node import INFERENCE, LEAF, AccumulateGrad, Node, Versions, View, edge_of, extra_of, output_meta
from ..base.op_namespace import operations, table
from ..base.schema import REQUIRED
from ..tape.saved_tensors import Indices, Packed, SavedList, SavedResult, check_versions, expect, freed, opened_raw, unpack
from ..base.state import next_sequence_nr, process_state, thread_state
from ..tape.tensor import Tensor, TensorMeta, disabled, materialize
from .views import (
    MULTIPLE,
    NO_GRAD,
    CopySlices,
    check_inplace,
    check_overlap,
    itself,
    make_view,
    move_retained,
    position as position_in,
    rebase,
    view_edge,
    write,
)
from ..tape.wrapped_numbers import wrap_number
from ..._kernels import threads

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
    #ifdef _MSC_VER
    #define OF_THREAD __declspec(thread)
    #else
    #define OF_THREAD __thread
    #endif
    static OF_THREAD int computing = 0;
    /* Calls of instances are calls of the function at this place, with an instance before them as those of a method. */
    static void call_directly(PyObject *type, Py_ssize_t place) {
        PyTypeObject *kind = (PyTypeObject *)type;
        kind->tp_vectorcall_offset = place;
        kind->tp_call = PyVectorcall_Call;
        kind->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(kind);
    }
    /* `object.__new__(type)`; `nothing` is an empty tuple. */
    static inline PyObject *object_of(PyObject *type, PyObject *nothing) {
        return PyBaseObject_Type.tp_new((PyTypeObject *)type, nothing, NULL);
    }
    /* NULL for what is not there. */
    static inline PyObject *type_of(PyObject *o) { return o ? (PyObject *)Py_TYPE(o) : NULL; }
    static inline PyObject *next_of(PyObject *iterator) { return Py_TYPE(iterator)->tp_iternext(iterator); }
    #define items_of(tuple) (&PyTuple_GET_ITEM(tuple, 0))
    static inline int is_kind_of(PyObject *type, PyObject *base) {
        PyTypeObject *kind = (PyTypeObject *)type, *wanted = (PyTypeObject *)base;
        return kind && (kind == wanted || kind->tp_base == wanted || PyType_IsSubtype(kind, wanted));
    }
    """
    Py_ssize_t slot_place(object descriptor)
    PyObject *SLOT(PyObject *o, Py_ssize_t place)
    void put_slot(PyObject *o, Py_ssize_t place, PyObject *value)
    object new_of(PyObject *type)
    object object_of(PyObject *type, object nothing)
    PyObject *type_of(PyObject *o) noexcept
    object next_of(object iterator)
    PyObject **items_of(object tuple)
    int computing  # how many operations of this thread are computing that were called directly
    ctypedef object (*vectorcallfunc)(object, PyObject **, size_t, PyObject *)
    Py_ssize_t PyVectorcall_NARGS(size_t flags)
    void call_directly(PyObject *type, Py_ssize_t place)
    bint is_kind_of(PyObject *type, PyObject *base) noexcept
    Py_ssize_t Py_REFCNT(PyObject *o)
    bint PyTuple_CheckExact(PyObject *o)
    bint PyWeakref_Check(PyObject *o)
    PyObject *PyWeakref_GetObject(PyObject *reference)
    object PyWeakref_NewRef(object o, PyObject *callback)
    object PyObject_Vectorcall(PyObject *callable, PyObject **args, size_t count, PyObject *names)
    PyObject *PyList_GET_ITEM(PyObject *o, Py_ssize_t i)
    Py_ssize_t PyList_GET_SIZE(PyObject *o)
    bint PyList_CheckExact(PyObject *o)
    long PyLong_AsLong(PyObject *o) except? -1
    bint PyLong_CheckExact(PyObject *o)
    bint PyFloat_CheckExact(PyObject *o)


include "fast_slots.pxi"


cdef Py_ssize_t RAW = place(Tensor, "_ag_raw"), EDGE = place(Tensor, "_ag_edge")
cdef Py_ssize_t COUNTER = place(Tensor, "_ag_counter"), META = place(Tensor, "_ag_meta")
cdef Py_ssize_t ACCUMULATOR = place(TensorMeta, "accumulator")
cdef Py_ssize_t ACCUMULATOR_EXTRA = place(TensorMeta, "accumulator_extra"), GRADIENT = place(TensorMeta, "grad")
cdef Py_ssize_t HOOKS = place(TensorMeta, "hooks"), POST_HOOKS = place(TensorMeta, "post_hooks")
cdef Py_ssize_t VARIABLE = place(AccumulateGrad, "variable")
cdef Py_ssize_t EDGES = place(Node, "_ag_edges"), EXTRA = place(Node, "_ag_extra"), LIKE = place(Node, "_ag_output_meta")
cdef Py_ssize_t SEQ = place(Node, "_ag_seq"), SAVED = place(Node, "_ag_saved")
cdef Py_ssize_t SAVED_RAW = place(SavedResult, "_ag_raw"), SAVED_COUNTER = place(SavedResult, "_ag_counter")
cdef Py_ssize_t LIST_GIVEN = place(SavedList, "_given"), LIST_ITEMS = place(SavedList, "_items")
cdef Py_ssize_t LIST_VERSIONS = place(SavedList, "_versions")
cdef Py_ssize_t SPECIAL = place(type(process_state), "special")
cdef Py_ssize_t FUNCTION_MODES = place(type(process_state), "function_modes")
cdef Py_ssize_t TRANSFORMS = place(type(process_state), "transforms"), BORN = place(Tensor, "_ag_born")
cdef Py_ssize_t WITHOUT_GRAD = place(type(process_state), "without_grad")
cdef Py_ssize_t OBSERVER = place(type(process_state), "observer"), ANOMALY = place(type(process_state), "anomaly")

cdef Py_ssize_t VIEW_BASE = place(View, "base"), VIEW_EDGE = place(View, "edge"), VIEW_PATH = place(View, "path")
cdef Py_ssize_t VIEW_POSITION = place(View, "position")
cdef Py_ssize_t SLICES_BASE = place(CopySlices, "base"), SLICES_BITS = place(CopySlices, "bits")
cdef Py_ssize_t SLICES_DTYPE = place(CopySlices, "dtype"), SLICES_PATH = place(CopySlices, "path")
cdef Py_ssize_t SLICES_VIEW = place(CopySlices, "view")
cdef Py_ssize_t VIEW_VERSION = place(View, "version"), VIEW_CREATION = place(View, "creation")

cdef object ZERO = 0, EMPTY = (), NO_REASON = "", NEVER = -1, NO_BITS = (False, False), YES = True, NO = False
cdef PyObject *ndarray = <PyObject *>cnp.ndarray
cdef object FLOAT32 = np.float32, FLOAT64 = np.float64
cdef object DTYPE32 = np.dtype(np.float32), DTYPE64 = np.dtype(np.float64)

cdef Py_ssize_t LARGE = threads.LARGE
cdef object sequence_numbers = next_sequence_nr.__self__
cdef dict UFUNCS = {"*": np.multiply, "+": np.add}

cdef object add_up = np.add.reduce

cdef dict seen_classes = {Tensor: True}


cdef bint is_tensor(PyObject *x):
    """Return whether the class of `x` has the slots of a tensor itself, as `Tensor` and `Parameter` do."""
    if type_of(x) == <PyObject *>Tensor:
        return True
    if not is_kind_of(type_of(x), <PyObject *>Tensor):
        return False
    cdef object cls = <object>type_of(x)
    found = seen_classes.get(cls)
    if found is None:
        slots = [inspect.getattr_static(cls, name) is vars(Tensor)[name] for name in ("_ag_raw", "_ag_edge", "_ag_counter", "_ag_meta")]
        found = seen_classes[cls] = all(slots)
    return found is YES


cdef dict asked_classes = {}


cdef bint is_asked(PyObject *x):
    """Return whether an argument is of a class that is asked instead of public functions."""
    if type_of(x) == <PyObject *>Tensor or not is_kind_of(type_of(x), <PyObject *>Tensor):
        return False
    cdef object cls = <object>type_of(x)
    found = asked_classes.get(cls)
    if found is None:
        found = asked_classes[cls] = cls.__torch_function__ is not disabled
    return found is YES


cdef bint asks_nobody(PyObject **args, Py_ssize_t count):
    """Return whether no class and no mode is to be asked instead of a public function (see overrides.py)."""
    cdef Py_ssize_t i
    if SLOT(<PyObject *>process_state, FUNCTION_MODES) != <PyObject *>ZERO:
        return False
    for i in range(count):
        if type_of(args[i]) == <PyObject *>list or type_of(args[i]) == <PyObject *>tuple:
            for one in <object>args[i]:
                if is_asked(<PyObject *>one):
                    return False
        elif is_asked(args[i]):
            return False
    return True


cdef dict scalars = {kind: np.dtype(kind) for kind in (
    np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.complex64, np.complex128)}


cdef inline PyObject *dtype_of(PyObject *raw):
    """The dtype of an array or of a NumPy scalar; NULL of anything else."""
    cdef PyObject *kind = type_of(raw)
    if kind == ndarray:
        return <PyObject *>cnp.PyArray_DESCR(<cnp.ndarray>raw)
    if kind == <PyObject *>FLOAT32:
        return <PyObject *>DTYPE32
    if kind == <PyObject *>FLOAT64:
        return <PyObject *>DTYPE64
    return PyDict_GetItem(scalars, <object>kind) if kind != NULL else NULL


cdef inline bint is_floating_dtype(PyObject *dtype) noexcept:
    cdef int number = (<cnp.dtype>dtype).type_num
    return cnp.PyTypeNum_ISFLOAT(number) or cnp.PyTypeNum_ISCOMPLEX(number)


cdef inline bint is_shape_and_dtype(PyObject *like) noexcept:
    """Return whether this is `output_meta` of an array of the CPU."""
    if type_of(like) != <PyObject *>tuple or PyTuple_GET_SIZE(<tuple>like) != 2:
        return False
    return PyTuple_CheckExact(PyTuple_GET_ITEM(<tuple>like, 0))


cdef inline bint fits(PyObject *g, PyObject *like):
    """Return whether a raw gradient has the shape and dtype of `like` (see `output_meta`)."""
    cdef PyObject *kind = type_of(g)
    cdef PyObject *shape
    cdef Py_ssize_t i
    cdef cnp.npy_intp *dims
    if kind == like:
        return True
    if kind != ndarray or not is_shape_and_dtype(like):
        return False
    if <PyObject *>cnp.PyArray_DESCR(<cnp.ndarray>g) != PyTuple_GET_ITEM(<tuple>like, 1):
        return False
    shape = PyTuple_GET_ITEM(<tuple>like, 0)
    if PyTuple_GET_SIZE(<tuple>shape) != cnp.PyArray_NDIM(<cnp.ndarray>g):
        return False
    dims = cnp.PyArray_DIMS(<cnp.ndarray>g)
    for i in range(cnp.PyArray_NDIM(<cnp.ndarray>g)):
        if PyLong_AsLong(<PyObject *>PyTuple_GET_ITEM(<tuple>shape, i)) != dims[i]:
            return False
    return True

# ---------------------------------------------------------------- edges


cdef object edge_to(PyObject *tensor):
    """`edge_of`, whose common cases are a tuple, a leaf and a view as it was made."""
    cdef PyObject *edge = edge_in(tensor)
    cdef PyObject *meta
    cdef PyObject *node = NULL
    if edge == <PyObject *>None or PyTuple_CheckExact(edge):
        return <object>edge
    if edge == <PyObject *>LEAF:
        meta = meta_in(tensor)
        if meta != <PyObject *>None:
            if SLOT(meta, ACCUMULATOR) != <PyObject *>None:
                if SLOT(meta, ACCUMULATOR) != NULL and PyWeakref_Check(SLOT(meta, ACCUMULATOR)):
                    node = PyWeakref_GetObject(SLOT(meta, ACCUMULATOR))
                if node != <PyObject *>None and type_of(node) != <PyObject *>AccumulateGrad:
                    spoiled(meta, "accumulator")
                if node != <PyObject *>None:
                    return (<object>node, ZERO)
            if not is_on(SLOT(<PyObject *>process_state, ANOMALY)):
                return (accumulator(tensor, meta), ZERO)
    elif PyTuple_CheckExact(SLOT(edge, VIEW_EDGE)) and SLOT(edge, VIEW_VERSION) == version_in(tensor):
        return <object>SLOT(edge, VIEW_EDGE)
    return edge_of(<object>tensor)


cdef inline bint is_on(PyObject *setting) except -1:
    return setting != NULL and <bint><object>setting


cdef object accumulator(PyObject *leaf, PyObject *meta):
    """A new AccumulateGrad of a leaf that has none."""
    cdef PyObject *extra
    if SLOT(leaf, RAW) == NULL:
        spoiled(leaf, "_ag_raw")
    node = new_of(<PyObject *>AccumulateGrad)
    like = like_of(SLOT(leaf, RAW), NULL) if dtype_of(SLOT(leaf, RAW)) != NULL else output_meta(<object>SLOT(leaf, RAW))
    number = next_of(sequence_numbers)
    reference = PyWeakref_NewRef(node, NULL)
    put_slot(<PyObject *>node, VARIABLE, leaf)
    put_slot(<PyObject *>node, EDGES, <PyObject *>EMPTY)
    put_slot(<PyObject *>node, SAVED, <PyObject *>EMPTY)
    put_slot(<PyObject *>node, LIKE, <PyObject *>like)
    put_slot(<PyObject *>node, SEQ, <PyObject *>number)
    extra = SLOT(meta, ACCUMULATOR_EXTRA)
    put_slot(<PyObject *>node, EXTRA, <PyObject *>None if extra == NULL else extra)
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


def detached(x):
    """`Tensor.detach` of a plain tensor of an array; None of any other."""
    cdef PyObject *tensor = <PyObject *>x
    if SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO or SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
        return None
    if not asks_nobody(&tensor, 1) or not is_tensor(tensor) or type_of(SLOT(tensor, RAW)) != ndarray:
        return None
    if counter_in(tensor) == <PyObject *>None:
        counter = [0]
        put_slot(tensor, COUNTER, <PyObject *>counter)
    made = tensor_of(<object>SLOT(tensor, RAW))
    put_slot(<PyObject *>made, COUNTER, SLOT(tensor, COUNTER))
    return made


cdef object like_of(PyObject *raw, PyObject *edge):
    """`output_meta` of a result: that of an operand, where it is the same."""
    cdef PyObject *like
    if type_of(raw) != ndarray:
        return <object>type_of(raw)
    if edge != NULL and edge != <PyObject *>None:
        like = SLOT(PyTuple_GET_ITEM(<tuple>edge, 0), LIKE)
        if fits(raw, like):
            return <object>like
    return ((<object>raw).shape, (<object>raw).dtype)


include "fast_columns.pxi"
include "fast_forward.pxi"
include "fast_functions.pxi"
include "fast_changes.pxi"
include "fast_formulas.pxi"
include "fast_custom.pxi"
include "fast_walk.pxi"
