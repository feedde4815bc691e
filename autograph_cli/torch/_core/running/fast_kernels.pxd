# cython: language_level=3
from cpython.object cimport PyObject


cdef class Kernel:
    cdef object function, careful
    cdef Kernel inner
    cdef object call(self, PyObject **args, Py_ssize_t count)
    cdef object of(self, PyObject **args, Py_ssize_t count)
