# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Products of matrices that lie in one piece: what `linear.py` asks of them before BLAS begins, and NumPy on the way to it."""

cimport numpy as cnp

from autograph_cli.torch._kernels.fast_arrays cimport Count, real

cnp.import_array()

cdef Count FEW_ROWS = 64, MANY_PRODUCTS = 10**6


cdef inline int kind_of_matrix(object a) noexcept:
    """NPY_FLOAT or NPY_DOUBLE for a matrix of NumPy's own class in one piece, of rows or of columns of two numbers at
    least; -1 for anything else."""
    cdef int kind
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_NDIM(<cnp.ndarray>a) != 2 or not cnp.PyArray_ISONESEGMENT(<cnp.ndarray>a):
        return -1
    if cnp.PyArray_DIM(<cnp.ndarray>a, 0) < 2 or cnp.PyArray_DIM(<cnp.ndarray>a, 1) < 2:
        return -1
    kind = cnp.PyArray_TYPE(<cnp.ndarray>a)
    if not cnp.PyArray_ISALIGNED(<cnp.ndarray>a) or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>a):
        return -1
    return kind if kind == cnp.NPY_FLOAT or kind == cnp.NPY_DOUBLE else -1


def product(a, b):
    """a @ b; None of what has to be looked at."""
    cdef int kind = kind_of_matrix(a)
    cdef cnp.ndarray left, right
    cdef Count rows, size
    if kind < 0 or kind_of_matrix(b) != kind:
        return None
    left, right = <cnp.ndarray>a, <cnp.ndarray>b
    if cnp.PyArray_DIM(left, 1) != cnp.PyArray_DIM(right, 0):
        return None
    rows, size = cnp.PyArray_DIM(left, 0), cnp.PyArray_SIZE(right)
    if rows <= FEW_ROWS and rows * size > MANY_PRODUCTS and cnp.PyArray_IS_C_CONTIGUOUS(left) and cnp.PyArray_IS_F_CONTIGUOUS(right):
        made = cnp.PyArray_MatrixProduct(cnp.PyArray_Transpose(right, NULL), cnp.PyArray_Transpose(left, NULL))
        return cnp.PyArray_NewCopy(cnp.PyArray_Transpose(<cnp.ndarray>made, NULL), cnp.NPY_CORDER)
    return cnp.PyArray_MatrixProduct(a, b)


def product_added(row, a, b):
    """a @ b + row, which is as long as a row of the product; None of what has to be looked at."""
    cdef cnp.ndarray made
    if not cnp.PyArray_CheckExact(row) or cnp.PyArray_NDIM(<cnp.ndarray>row) != 1 or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>row):
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
