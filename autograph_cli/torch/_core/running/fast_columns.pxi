# Sums and products with a column: a part of fast_tape.pyx.

cdef extern from *:
    """
    #define BY_COLUMN(name, real, SIGN) static void name(const char *column, const char *others, char *out, ptrdiff_t rows, \\
        ptrdiff_t columns, ptrdiff_t step) { ptrdiff_t i, j; \\
        for (i = 0; i < rows; i++) { \\
            const real x = ((const real *)column)[i], *a = (const real *)others + i * step; \\
            real *to = (real *)out + i * columns; \\
            for (j = 0; j < columns; j++) to[j] = x SIGN a[j]; } }
    BY_COLUMN(times_f, float, *)
    BY_COLUMN(times_d, double, *)
    BY_COLUMN(plus_f, float, +)
    BY_COLUMN(plus_d, double, +)
    """
    void times_f(const char *, const char *, char *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    void times_d(const char *, const char *, char *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    void plus_f(const char *, const char *, char *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    void plus_d(const char *, const char *, char *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil


cdef inline bint is_column(PyObject *raw) noexcept:
    """Return whether this is a matrix of one column in one piece."""
    if type_of(raw) != ndarray or cnp.PyArray_NDIM(<cnp.ndarray>raw) != 2 or cnp.PyArray_DIM(<cnp.ndarray>raw, 1) != 1:
        return False
    return cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>raw) and cnp.PyArray_DIM(<cnp.ndarray>raw, 0) > 1


cdef object by_columns(char sign, PyObject *a, PyObject *b):
    """The sum or the product of a column and a row, or a matrix of as many rows; None of anything else."""
    cdef cnp.ndarray column, other, out
    cdef cnp.npy_intp[2] shape
    cdef Py_ssize_t step
    if not is_column(a):
        if not is_column(b):
            return None
        a, b = b, a
    if type_of(b) != ndarray or dtype_of(a) != dtype_of(b) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>b):
        return None
    column, other = <cnp.ndarray>a, <cnp.ndarray>b
    ndim, kind = cnp.PyArray_NDIM(other), cnp.PyArray_TYPE(column)
    if ndim < 1 or ndim > 2 or cnp.PyArray_DIM(other, ndim - 1) < 2 or kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE:
        return None
    shape[0], shape[1] = cnp.PyArray_DIM(column, 0), cnp.PyArray_DIM(other, ndim - 1)
    step = shape[1] if ndim == 2 and cnp.PyArray_DIM(other, 0) != 1 else 0
    if step and cnp.PyArray_DIM(other, 0) != shape[0]:
        return None
    out = cnp.PyArray_SimpleNew(2, shape, kind)
    run = times_f if sign == c'*' else plus_f
    if kind == cnp.NPY_DOUBLE:
        run = times_d if sign == c'*' else plus_d
    run(cnp.PyArray_BYTES(column), cnp.PyArray_BYTES(other), cnp.PyArray_BYTES(out), shape[0], shape[1], step)
    return out
