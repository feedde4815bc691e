# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Products of matrices by the BLAS that NumPy has loaded, which is given what NumPy gives it, so that the bits are the same;
NumPy asks more before it and writes zeros under each result."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uintptr_t

from autograph_cli.torch._kernels.fast_arrays cimport Count, real

from .matrices import lapack

cnp.import_array()

cdef extern from *:
    """
    #include "numpy/ndarrayobject.h"
    /* The inner product of two vectors, as numpy.dot has it. */
    static void inner(PyArrayObject *a, PyArrayObject *b, void *out) {
        PyDataType_GetArrFuncs(PyArray_DESCR(a))->dotfunc(
            PyArray_DATA(a), PyArray_STRIDE(a, 0), PyArray_DATA(b), PyArray_STRIDE(b, 0), out, PyArray_DIM(a, 0), a);
    }
    """
    void inner(cnp.ndarray a, cnp.ndarray b, void *out)

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void *data, cnp.dtype kind, object base)

ctypedef void (*Narrow)(
    int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t, float, void *, int64_t
) noexcept nogil
ctypedef void (*Wide)(
    int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t, double, void *, int64_t
) noexcept nogil

ctypedef void (*NarrowVector)(
    int, int, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t, float, void *, int64_t
) noexcept nogil
ctypedef void (*WideVector)(
    int, int, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t, double, void *, int64_t
) noexcept nogil

cdef enum Order:
    ROWS = 101, COLUMNS = 102, PLAIN = 111, TRANSPOSED = 112

cdef struct Factor:
    Order order
    int64_t step
    char *data

cdef Count FEW_ROWS = lapack.FEW_ROWS, MANY_PRODUCTS = lapack.MANY_PRODUCTS
cdef Count ONE_PART = 128
cdef Narrow NARROW = NULL
cdef Wide WIDE = NULL
cdef NarrowVector NARROW_VECTOR = NULL
cdef WideVector WIDE_VECTOR = NULL
cdef bint asked = False


cdef bint known() except -1:
    """Return whether BLAS was found, when it is first asked for."""
    global asked, NARROW, WIDE, NARROW_VECTOR, WIDE_VECTOR
    cdef uintptr_t narrow, wide
    if not asked:
        asked = True
        narrow, wide = lapack.in_c("gemm")
        NARROW, WIDE = <Narrow>narrow, <Wide>wide
        narrow, wide = lapack.in_c("gemv")
        NARROW_VECTOR, WIDE_VECTOR = <NarrowVector>narrow, <WideVector>wide
    return NARROW != NULL and NARROW_VECTOR != NULL


cdef inline int read(object a, Factor *to) noexcept:
    """NPY_FLOAT or NPY_DOUBLE for matrices of NumPy's own class, of two rows and two columns at least, that BLAS can read as
    they lie; -1 for anything else."""
    cdef int kind, last
    cdef Count item, rows, columns, down, across
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2:
        return -1
    kind, last = cnp.PyArray_TYPE(<cnp.ndarray>a), cnp.PyArray_NDIM(<cnp.ndarray>a) - 1
    if kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>a):
        return -1
    rows, columns = cnp.PyArray_DIM(<cnp.ndarray>a, last - 1), cnp.PyArray_DIM(<cnp.ndarray>a, last)
    if rows < 2 or columns < 2:
        return -1
    item = cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)
    down, across = cnp.PyArray_STRIDE(<cnp.ndarray>a, last - 1), cnp.PyArray_STRIDE(<cnp.ndarray>a, last)
    to.data = <char *>cnp.PyArray_DATA(<cnp.ndarray>a)
    if across == item and down % item == 0 and down >= columns * item:
        to.order, to.step = PLAIN, down // item
    elif down == item and across % item == 0 and across >= rows * item:
        to.order, to.step = TRANSPOSED, across // item
    else:
        return -1
    return kind


cdef void multiply(
    int kind, Factor *a, Factor *b, void *out, Count rows, Count inner, Count columns, int kept=0
) noexcept nogil:
    """The product, added to what `out` has where that is `kept`."""
    if kind == cnp.NPY_FLOAT:
        NARROW(ROWS, a.order, b.order, rows, columns, inner, 1, a.data, a.step, b.data, b.step, kept, out, columns)
    else:
        WIDE(ROWS, a.order, b.order, rows, columns, inner, 1, a.data, a.step, b.data, b.step, kept, out, columns)


cdef int read_both(object a, object b, Factor *first, Factor *second) except -2:
    """The dtype of factors that fit each other; -1 of what has to be looked at, a matrix and its transpose too: BLAS has a
    routine of its own for that."""
    cdef int d, kind = read(a, first)
    if kind < 0 or read(b, second) != kind or cnp.PyArray_NDIM(<cnp.ndarray>a) != cnp.PyArray_NDIM(<cnp.ndarray>b):
        return -1
    cdef int last = cnp.PyArray_NDIM(<cnp.ndarray>a) - 1
    for d in range(last - 1):
        if cnp.PyArray_DIM(<cnp.ndarray>a, d) != cnp.PyArray_DIM(<cnp.ndarray>b, d):
            return -1
    if cnp.PyArray_DIM(<cnp.ndarray>a, last) != cnp.PyArray_DIM(<cnp.ndarray>b, last - 1):
        return -1
    if first.data == second.data and first.order != second.order:
        return -1
    return kind if known() else -1


cdef bint is_turned(cnp.ndarray a, cnp.ndarray b) noexcept:
    """`Linear._is_turned` of two matrices."""
    cdef Count rows = cnp.PyArray_DIM(a, 0)
    if rows > FEW_ROWS or rows * cnp.PyArray_SIZE(b) <= MANY_PRODUCTS:
        return False
    return cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_F_CONTIGUOUS(b)


cdef bint begins(object a, object b) except -1:
    """Return whether these are factors of `thin_product`: of one dtype, and one batch or none."""
    if not cnp.PyArray_CheckExact(a) or not cnp.PyArray_CheckExact(b):
        return False
    cdef cnp.ndarray left = <cnp.ndarray>a, right = <cnp.ndarray>b
    cdef int kind = cnp.PyArray_TYPE(left), last = cnp.PyArray_NDIM(left) - 1
    if kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE or cnp.PyArray_TYPE(right) != kind or last < 1 or last > 2:
        return False
    if cnp.PyArray_NDIM(right) != last + 1 and (cnp.PyArray_NDIM(right) != 1 or last != 1):
        return False
    if last == 2 and cnp.PyArray_DIM(left, 0) != cnp.PyArray_DIM(right, 0):
        return False
    return cnp.PyArray_ISBEHAVED_RO(left) and cnp.PyArray_ISBEHAVED_RO(right) and known()


cdef object outer_product(cnp.ndarray a, cnp.ndarray b, Count batch):
    """A column by a row, or each of a batch: each element is the sum of one product, which begins with 0 and so is no -0."""
    cdef int last = cnp.PyArray_NDIM(a) - 1
    cdef cnp.npy_intp[3] shape
    shape[0], shape[last - 1], shape[last] = batch, cnp.PyArray_DIM(a, last - 1), cnp.PyArray_DIM(b, last)
    cdef cnp.ndarray made = cnp.PyArray_EMPTY(last + 1, shape, cnp.PyArray_TYPE(a), 0)
    cdef char *left = <char *>cnp.PyArray_DATA(a)
    cdef char *right = <char *>cnp.PyArray_DATA(b)
    cdef char *to = <char *>cnp.PyArray_DATA(made)
    cdef Count down = cnp.PyArray_STRIDE(a, last - 1), across = cnp.PyArray_STRIDE(b, last), i
    cdef Count rows = shape[last - 1], columns = shape[last]
    with nogil:
        for i in range(batch):
            if cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT:
                fill_outer[float](left, down, right, across, <float *>to, rows, columns)
            else:
                fill_outer[double](left, down, right, across, <double *>to, rows, columns)
            left, right = left + cnp.PyArray_STRIDE(a, 0), right + cnp.PyArray_STRIDE(b, 0)
            to += rows * columns * cnp.PyArray_ITEMSIZE(made)
    return made


cdef void fill_outer(
    char *left, Count down, char *right, Count across, real *out, Count rows, Count columns
) noexcept nogil:
    cdef Count i, j
    cdef real x
    for i in range(rows):
        x = (<real *>(left + i * down))[0]
        if across == <Count>sizeof(real):
            for j in range(columns):
                out[j] = 0 + x * (<real *>right)[j]
        else:
            for j in range(columns):
                out[j] = 0 + x * (<real *>(right + j * across))[0]
        out += columns


cdef object thin_product(object a, object b):
    """a @ b where one is a single row or column, or a vector; None of what has to be looked at.

    It is the product of the transpose of a matrix, in C's order or in Fortran's, and a vector, as NumPy asks for it.
    """
    if not begins(a, b):
        return None
    cdef cnp.ndarray left = <cnp.ndarray>a, right = <cnp.ndarray>b, made
    cdef int kind = cnp.PyArray_TYPE(left), last = cnp.PyArray_NDIM(left) - 1, order
    cdef bint flat = cnp.PyArray_NDIM(right) == 1
    cdef Count i, inner = cnp.PyArray_DIM(left, last), rows = cnp.PyArray_DIM(left, last - 1)
    cdef Count columns = 1 if flat else cnp.PyArray_DIM(right, last), item = cnp.PyArray_ITEMSIZE(left)
    cdef Count down = cnp.PyArray_STRIDE(right, 0 if flat else last - 1), batch = cnp.PyArray_DIM(left, 0) if last == 2 else 1
    cdef Factor matrix = Factor(PLAIN, 0, NULL)
    cdef char *vector
    if inner != cnp.PyArray_DIM(right, 0 if flat else last - 1):
        return None
    if inner == 1 and not flat:
        return outer_product(left, right, batch)
    if rows == 1 and cnp.PyArray_STRIDE(left, last) == item and read(b, &matrix) == kind:
        order, vector = ROWS if matrix.order == PLAIN else COLUMNS, <char *>cnp.PyArray_DATA(left)
    elif columns == 1 and down == item and read(a, &matrix) == kind and (flat or last == 2 or not is_turned(left, right)):
        order, vector = COLUMNS if matrix.order == PLAIN else ROWS, <char *>cnp.PyArray_DATA(right)
    else:
        return None
    cdef cnp.npy_intp[3] shape
    shape[0], shape[last - 1], shape[last] = batch, rows, columns
    made = cnp.PyArray_ZEROS(1 if flat else last + 1, shape, kind, 0)
    cdef char *out = <char *>cnp.PyArray_DATA(made)
    cdef Count many = rows * columns, across = cnp.PyArray_STRIDE(left, 0), along = cnp.PyArray_STRIDE(right, 0)
    if rows != 1:
        across, along = along, across
    with nogil:
        for i in range(batch):
            if kind == cnp.NPY_FLOAT:
                NARROW_VECTOR(order, TRANSPOSED, inner, many, 1, matrix.data, matrix.step, vector, 1, 0, out, 1)
            else:
                WIDE_VECTOR(order, TRANSPOSED, inner, many, 1, matrix.data, matrix.step, vector, 1, 0, out, 1)
            matrix.data, vector, out = matrix.data + along, vector + across, out + many * item
    return made


def product(a, b):
    """a @ b of matrices, or of as many of them in a row; None of what has to be looked at."""
    cdef Factor first, second
    cdef int kind = read_both(a, b, &first, &second)
    if kind < 0:
        return thin_product(a, b)
    if cnp.PyArray_NDIM(<cnp.ndarray>a) > 3:
        return None
    cdef cnp.ndarray left = <cnp.ndarray>a, right = <cnp.ndarray>b, made
    cdef int last = cnp.PyArray_NDIM(left) - 1
    cdef Count i, batch = 1 if last == 1 else cnp.PyArray_DIM(left, 0), rows = cnp.PyArray_DIM(left, last - 1)
    cdef Count inner = cnp.PyArray_DIM(left, last), columns = cnp.PyArray_DIM(right, last)
    cdef cnp.npy_intp[3] shape
    if last == 1 and is_turned(left, right):
        shape[0], shape[1] = columns, rows
        made = cnp.PyArray_EMPTY(2, shape, kind, 0)
        first.order, second.order = TRANSPOSED, PLAIN
        with nogil:
            multiply(kind, &second, &first, cnp.PyArray_DATA(made), columns, inner, rows)
        return cnp.PyArray_NewCopy(cnp.PyArray_Transpose(made, NULL), cnp.NPY_CORDER)
    shape[0], shape[last - 1], shape[last] = batch, rows, columns
    made = cnp.PyArray_EMPTY(last + 1, shape, kind, 0)
    cdef char *out = <char *>cnp.PyArray_DATA(made)
    cdef Count step = rows * columns * cnp.PyArray_ITEMSIZE(made)
    with nogil:
        for i in range(batch):
            multiply(kind, &first, &second, out + i * step, rows, inner, columns)
            first.data += cnp.PyArray_STRIDE(left, 0)
            second.data += cnp.PyArray_STRIDE(right, 0)
    return made


def add_product(total, a, b):
    """Return whether a @ b could be added to `total`, which is row by row, in the bits of a product and a sum.

    BLAS adds each part of the inner dimension to what is there, and a short one is a single part."""
    cdef Factor first, second
    cdef cnp.ndarray to
    cdef Count rows, inner, columns
    cdef int kind = read_both(a, b, &first, &second)
    if kind < 0 or cnp.PyArray_NDIM(<cnp.ndarray>a) != 2 or not cnp.PyArray_CheckExact(total):
        return False
    to = <cnp.ndarray>total
    rows, inner = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    columns = cnp.PyArray_DIM(<cnp.ndarray>b, 1)
    if inner > ONE_PART or is_turned(<cnp.ndarray>a, <cnp.ndarray>b) or cnp.PyArray_TYPE(to) != kind or cnp.PyArray_NDIM(to) != 2:
        return False
    if not cnp.PyArray_ISCARRAY(to) or cnp.PyArray_DIM(to, 0) != rows or cnp.PyArray_DIM(to, 1) != columns:
        return False
    with nogil:
        multiply(kind, &first, &second, cnp.PyArray_DATA(to), rows, inner, columns, 1)
    return True


def product_added(row, a, b):
    """a @ b + row, which is as long as a row of the product; None of what has to be looked at."""
    cdef cnp.ndarray made
    if not cnp.PyArray_CheckExact(row) or cnp.PyArray_NDIM(<cnp.ndarray>row) != 1 or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>row):
        return None
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) != 2:
        return None
    found = product(a, b)
    if found is None:
        return None
    made = <cnp.ndarray>found
    if cnp.PyArray_TYPE(<cnp.ndarray>row) != cnp.PyArray_TYPE(made) or cnp.PyArray_DIM(<cnp.ndarray>row, 0) != cnp.PyArray_DIM(made, 1):
        made += row
        return made
    if cnp.PyArray_TYPE(made) == cnp.NPY_FLOAT:
        add_row[float](<float *>cnp.PyArray_DATA(made), <float *>cnp.PyArray_DATA(<cnp.ndarray>row), cnp.PyArray_DIM(made, 0), cnp.PyArray_DIM(made, 1))
    else:
        add_row[double](<double *>cnp.PyArray_DATA(made), <double *>cnp.PyArray_DATA(<cnp.ndarray>row), cnp.PyArray_DIM(made, 0), cnp.PyArray_DIM(made, 1))
    return made


cdef void add_row(real *table, real *row, Count rows, Count columns) noexcept nogil:
    cdef Count i, j
    for i in range(rows):
        for j in range(columns):
            table[i * columns + j] += row[j]


cdef inline bint is_vector(object a, int kind) noexcept:
    """Return whether this is a vector of `kind` whose elements lie one after the other."""
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) != 1 or cnp.PyArray_TYPE(<cnp.ndarray>a) != kind:
        return False
    return cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>a) and cnp.PyArray_STRIDE(<cnp.ndarray>a, 0) == cnp.PyArray_ITEMSIZE(<cnp.ndarray>a)


def dot(a, b):
    """The inner product of two vectors; None of what has to be looked at."""
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>a) if cnp.PyArray_CheckExact(a) else -1
    cdef double found = 0  # or a float in its place
    if kind != cnp.NPY_FLOAT and kind != cnp.NPY_DOUBLE or not is_vector(a, kind) or not is_vector(b, kind):
        return None
    if cnp.PyArray_DIM(<cnp.ndarray>a, 0) != cnp.PyArray_DIM(<cnp.ndarray>b, 0):
        return None
    inner(<cnp.ndarray>a, <cnp.ndarray>b, &found)
    return PyArray_Scalar(&found, <cnp.dtype>cnp.PyArray_DESCR(<cnp.ndarray>a), None)
