# cython: language_level=3, binding=False
"""Kernels around which something is looked at (`device_dispatch.bound`): what is as it mostly is goes straight through, the rest
to Python's code, which is `careful`."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE

cdef extern from *:
    """
    #define ITEMS(tuple) (((PyTupleObject *)(tuple))->ob_item)
    """
    PyObject **ITEMS(object tuple)
    object PyObject_Vectorcall(PyObject *callable, PyObject **args, size_t count, PyObject *names)
    bint PyTuple_CheckExact(object o)
    bint PyList_CheckExact(object o)

cnp.import_array()


cdef inline bint is_array(PyObject *x) noexcept:
    return cnp.PyArray_CheckExact(<object>x)


cdef inline bint in_rows(object raw) noexcept:
    """Whether this array lies row by row, with no dimension of size 1, whose stride may be any."""
    cdef int d
    if not cnp.PyArray_CheckExact(raw) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw):
        return False
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>raw)):
        if cnp.PyArray_DIM(<cnp.ndarray>raw, d) == 1:
            return False
    return True


cdef inline bint all_in_rows(object found):
    """Whether a result, or each of several, is a number or lies row by row."""
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
        """What the function makes of the arguments as they are."""
        if self.inner is not None:
            return self.inner.of(args, count)
        return PyObject_Vectorcall(<PyObject *>self.function, args, count, NULL)

    cdef object of(self, PyObject **args, Py_ssize_t count):
        """What the kernel makes of the arguments."""
        return PyObject_Vectorcall(<PyObject *>self.careful, args, count, NULL)


@cython.internal
cdef class Either(Kernel):
    """A kernel that is asked only where another answers None."""

    cdef object whole

    def __init__(self, whole, function):
        Kernel.__init__(self, function, None)
        self.whole = whole

    cdef object of(self, PyObject **args, Py_ssize_t count):
        found = PyObject_Vectorcall(<PyObject *>self.whole, args, count, NULL)
        return self.call(args, count) if found is None else found


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
        """Whether the result lies as it should."""
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


def either(whole, function):
    return Either(whole, function)


def arranged(function, careful, lay, layout):
    return Arranged(function, careful, lay, layout)
