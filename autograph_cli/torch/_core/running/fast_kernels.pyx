# cython: language_level=3, binding=False
"""Kernels around which something is looked at (`device_dispatch.bound`): what is as it mostly is goes straight through, the rest
to Python's code, which is `careful`. `Either` chooses between a kernel and its compiled variant (`_kernels/variants.py`)."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE

from autograph_cli.torch._kernels.fast_arrays cimport kind_of

cdef extern from *:
    """
    #define ITEMS(tuple) (((PyTupleObject *)(tuple))->ob_item)
    """
    PyObject **ITEMS(object tuple)
    object PyObject_Vectorcall(PyObject *callable, PyObject **args, size_t count, PyObject *names)
    bint PyTuple_CheckExact(object o)
    bint PyList_CheckExact(object o)

cnp.import_array()

import numpy as np

cdef object FLOAT32 = np.float32, FLOAT64 = np.float64


cdef inline bint is_array(PyObject *x) noexcept:
    return cnp.PyArray_CheckExact(<object>x)


cdef inline bint in_rows(object raw) noexcept:
    """Return whether this array lies row by row, with no dimension of size 1, whose stride may be any."""
    cdef int d
    if not cnp.PyArray_CheckExact(raw) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw):
        return False
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>raw)):
        if cnp.PyArray_DIM(<cnp.ndarray>raw, d) == 1:
            return False
    return True


cdef inline bint all_in_rows(object found):
    """Return whether a result, or each of several, is a number or lies row by row."""
    if not PyTuple_CheckExact(found):
        return in_rows(found) or cnp.PyArray_CheckScalar(found)
    for each in <tuple>found:
        if not in_rows(each):
            return False
    return True


cdef class Kernel:
    """A kernel of arrays; `careful` is Python's way to run it."""

    def __init__(self, function, careful):
        self.function, self.careful = function, careful
        self.inner = function if isinstance(function, Kernel) else None

    def __call__(self, *args):
        return self.of(ITEMS(args), PyTuple_GET_SIZE(args))

    cdef object call(self, PyObject **args, Py_ssize_t count):
        """Call the function with the arguments as they are."""
        if self.inner is not None:
            return self.inner.of(args, count)
        return PyObject_Vectorcall(<PyObject *>self.function, args, count, NULL)

    cdef object of(self, PyObject **args, Py_ssize_t count):
        """Call the kernel with the arguments."""
        return PyObject_Vectorcall(<PyObject *>self.careful, args, count, NULL)


DEF MOST = 6
cdef bint asked = True


def ask(bint on):
    """Have compiled variants asked, or not: for comparisons."""
    global asked
    asked = on


@cython.internal
cdef class Either(Kernel):
    """A kernel and its compiled variant, which is asked first where it takes the arguments, and may still answer None.

    `arrays`: which arguments it takes as arrays of float32 or float64 in one piece, of one dtype and of one dimension at
    least; `alike`: and of one shape. `laid`: its results lie in memory as PyTorch's do.
    """

    cdef readonly object variant, kernel
    cdef readonly bint laid
    cdef object places
    cdef bint alike
    cdef int arrays
    cdef int at[MOST]

    def __init__(self, variant, kernel, arrays, alike, laid):
        Kernel.__init__(self, kernel, None)
        self.variant, self.kernel, self.alike, self.laid = variant, kernel, alike, laid
        self.places, self.arrays = arrays, len(arrays)
        for i, place in enumerate(arrays):
            self.at[i] = place

    def before(self, kernel):
        """The variant before another kernel."""
        return Either(self.variant, kernel, self.places, self.alike, self.laid)

    cdef object of(self, PyObject **args, Py_ssize_t count):
        if self.takes(args, count):
            found = PyObject_Vectorcall(<PyObject *>self.variant, args, count, NULL)
            if found is not None:
                return found
        return self.call(args, count)

    cdef bint takes(self, PyObject **args, Py_ssize_t count):
        cdef int i, kind = -1
        cdef object first, one
        if not asked:
            return False
        for i in range(self.arrays):
            if self.at[i] >= count:
                return False
            one = <object>args[self.at[i]]
            if not i:
                first, kind = one, kind_of(one)
                if kind < 0:
                    return False
            elif kind_of(one) != kind or self.alike and not cnp.PyArray_SAMESHAPE(<cnp.ndarray>first, <cnp.ndarray>one):
                return False
            if not cnp.PyArray_NDIM(<cnp.ndarray>one):
                return False
        return True


@cython.internal
cdef class Straight(Kernel):
    """A kernel for a first array in float32 or float64; `careful` runs it on what is in other dtypes."""

    cdef readonly object unwidened

    def __init__(self, function, careful):
        Kernel.__init__(self, function, careful)
        self.unwidened = function

    cdef object of(self, PyObject **args, Py_ssize_t count):
        cdef int kind
        if is_array(args[0]):
            kind = cnp.PyArray_TYPE(<cnp.ndarray>args[0])
            if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE:
                return self.call(args, count)
        elif type(<object>args[0]) is FLOAT32 or type(<object>args[0]) is FLOAT64:
            return self.call(args, count)
        return Kernel.of(self, args, count)


cdef enum Layout:
    OTHER, ANY, ROWS, IMAGES, LIKE, CHANNELS


LAYOUTS = {"own": ANY, "contiguous": ROWS, "images": IMAGES, "preserve": LIKE, "channels_last": CHANNELS}


@cython.internal
cdef class Arranged(Kernel):
    """A kernel that is given a number for an array of one, but where channels may come last; and what is asked how its
    result is to lie, where it may not lie so: row by row, so but for images, or like the first argument."""

    cdef object lay
    cdef int layout

    def __init__(self, function, careful, lay, layout):
        Kernel.__init__(self, function, careful)
        self.lay, self.layout = lay, LAYOUTS.get(layout, OTHER)

    cdef object of(self, PyObject **args, Py_ssize_t count):
        cdef bint many
        if is_array(args[0]):
            many = cnp.PyArray_NDIM(<cnp.ndarray>args[0]) > 0 or self.layout == CHANNELS
        else:
            many = cnp.PyArray_CheckScalar(<object>args[0]) or PyList_CheckExact(<object>args[0])
        if not many:
            return Kernel.of(self, args, count)
        found = self.call(args, count)
        if self.fits(found, <object>args[0]):
            return found
        return self.lay(found, *[<object>args[i] for i in range(count)])

    cdef bint fits(self, object found, object first):
        """Return whether the result lies as it should."""
        cdef int ndim
        if self.layout == ANY or self.layout == OTHER:
            return self.layout == ANY
        if self.layout == LIKE:
            return not is_array(<PyObject *>first) or cnp.PyArray_NDIM(first) < 2 or cnp.PyArray_IS_C_CONTIGUOUS(first)
        if self.layout == ROWS:
            return all_in_rows(found)
        if self.layout == CHANNELS:
            return in_rows(first) and all_in_rows(found)
        ndim = cnp.PyArray_NDIM(found) if is_array(<PyObject *>found) else 0
        return ndim != 4 and ndim != 5 and in_rows(found)


def either(variant, kernel, arrays=(), alike=False, laid=False):
    return Either(variant, kernel, arrays, alike, laid)


def straight(function, careful):
    return Straight(function, careful)


def arranged(function, careful, lay, layout):
    return Arranged(function, careful, lay, layout)
