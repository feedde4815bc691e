# Convolutions as a whole, which `Convolution.convolution` puts together: a part of fast_convolution.pyx.

DEF PART = 1 << 22

cdef object matmul = np.matmul, add_up = np.add.reduce
cdef tuple NEITHER = (None, None)


cdef struct Sizes:
    Count n  # images
    Count c  # channels of the larger images, whose windows are taken or added up
    Count o  # channels of the others
    Count groups
    Count kernel  # elements of the kernel
    Count windows


cdef bint sized(cnp.ndarray a, cnp.ndarray weight, stride, padding, dilation, extra, Geometry *g, Sizes *s):
    """The sizes of a convolution, of a transposed one where there is an `extra`; False where something is unusual."""
    cdef Count i, first, span, dims = cnp.PyArray_NDIM(a) - 2
    cdef Count more[2]
    cdef bint transposed = extra is not None
    if not 1 <= dims <= 2 or cnp.PyArray_NDIM(weight) != dims + 2 or not cnp.PyArray_SIZE(a) or not cnp.PyArray_SIZE(weight):
        return False
    first = 2 - dims
    g.size[0] = g.kernel[0] = g.stride[0] = g.dilation[0] = g.out[0] = 1
    g.padding[0] = 0
    if not (
        numbers(stride, dims, g.stride + first)
        and numbers(padding, dims, g.padding + first)
        and numbers(dilation, dims, g.dilation + first)
        and (not transposed or numbers(extra, dims, more + first))
    ):
        return False
    for i in range(first, 2):
        g.kernel[i] = cnp.PyArray_DIM(weight, i + dims)
        if g.stride[i] < 1 or g.padding[i] < 0 or g.dilation[i] < 1:
            return False
        span = g.dilation[i] * (g.kernel[i] - 1) - 2 * g.padding[i]
        if transposed:
            g.out[i] = cnp.PyArray_DIM(a, i + dims)
            g.size[i] = (g.out[i] - 1) * g.stride[i] + span + more[i] + 1
        else:
            g.size[i] = cnp.PyArray_DIM(a, i + dims)
            g.out[i] = (g.size[i] - span - 1) // g.stride[i] + 1 if g.size[i] > span else 0
        if g.out[i] < 1 or g.size[i] < 1:
            return False
    bounded(g)
    s.n, s.o, s.c = cnp.PyArray_DIM(a, 0), cnp.PyArray_DIM(weight, 0), cnp.PyArray_DIM(weight, 1) * s.groups
    s.kernel, s.windows = g.kernel[0] * g.kernel[1], g.out[0] * g.out[1]
    return s.groups > 0 and s.o % s.groups == 0 and cnp.PyArray_DIM(a, 1) == (s.o if transposed else s.c)


cdef cnp.ndarray shaped(cnp.ndarray a, Count n, Count m, Count k, Count l):
    """The elements of an array in four dimensions; in the last three without `n`."""
    cdef cnp.npy_intp[4] shape = [n, m, k, l]
    cdef cnp.PyArray_Dims dims
    dims.ptr, dims.len = shape + (n == 0), 4 - (n == 0)
    return cnp.PyArray_Newshape(a, &dims, cnp.NPY_CORDER)


cdef cnp.ndarray images_like(cnp.ndarray a, Count channels, Count *size):
    """New images, as many as `a` has."""
    cdef cnp.npy_intp[4] shape = [cnp.PyArray_DIM(a, 0), channels, size[0], size[1]]
    if cnp.PyArray_NDIM(a) == 3:
        shape[2] = size[1]
    return cnp.PyArray_SimpleNew(cnp.PyArray_NDIM(a), shape, cnp.PyArray_TYPE(a))


cdef void each_plane(void *image, void *weight, void *other, int kind, bint back, Geometry *g, Sizes *s) noexcept:
    """The images correlated with a plane of the weight for each channel; or, `back`, made of what is so."""
    with nogil:
        if kind == cnp.NPY_FLOAT and back:
            spread[float](<float *>image, <float *>weight, <float *>other, s.n, s.c, g)
        elif kind == cnp.NPY_FLOAT:
            correlate[float](<float *>image, <float *>weight, <float *>other, s.n, s.c, g)
        elif back:
            spread[double](<double *>image, <double *>weight, <double *>other, s.n, s.c, g)
        else:
            correlate[double](<double *>image, <double *>weight, <double *>other, s.n, s.c, g)


cdef void each_window(void *image, void *columns, int kind, bint back, Geometry *g, Sizes *s) noexcept:
    """The windows of the images copied out; or, `back`, added up."""
    with nogil:
        if kind == cnp.NPY_FLOAT and back:
            add_windows[float](<float *>image, <float *>columns, s.n * s.c, g)
        elif kind == cnp.NPY_FLOAT:
            copy_windows[float](<float *>image, <float *>columns, s.n * s.c, g)
        elif back:
            add_windows[double](<double *>image, <double *>columns, s.n * s.c, g)
        else:
            copy_windows[double](<double *>image, <double *>columns, s.n * s.c, g)


cdef void add_shifts(
    void *image, void *columns, void *wide, Count many, int kind, Count length, Count line, Geometry *g, Sizes *s
) noexcept:
    with nogil:
        if kind == cnp.NPY_FLOAT:
            add_shifted[float](<float *>image, <float *>columns, <float *>wide, many, s.n * s.c, length, line, g)
        else:
            add_shifted[double](<double *>image, <double *>columns, <double *>wide, many, s.n * s.c, length, line, g)


cdef object correlated(cnp.ndarray a, cnp.ndarray weight, int kind, Geometry *g, Sizes *s):
    """The images at hand of each window; None where they are put together in parts."""
    cdef cnp.ndarray made, columns
    cdef cnp.npy_intp[4] shape
    cdef cnp.ndarray rows = shaped(weight, 0, s.groups, s.o // s.groups, s.c // s.groups * s.kernel)
    cdef Count width = cnp.PyArray_DIM(rows, 2)
    if s.groups == s.o > 1 and s.groups == s.c:
        if not cnp.PyArray_IS_C_CONTIGUOUS(weight):
            return None
        made = images_like(a, s.o, g.out)
        each_plane(data(a), data(weight), data(made), kind, False, g, s)
        return made
    if width == 1 or too_large(a, s) or repeats(rows):
        return None
    if s.kernel > 1:
        shape[0], shape[1], shape[2], shape[3] = s.n, s.groups, width, s.windows
        columns = cnp.PyArray_SimpleNew(4, shape, kind)
        each_window(data(a), data(columns), kind, False, g, s)
    elif each_alone(g):
        columns = shaped(a, s.n, s.groups, width, s.windows)
    else:
        return None
    made = matmul(rows, columns)
    return in_images(made, a, s.o, g.out)


cdef object spread_out(cnp.ndarray a, cnp.ndarray weight, int kind, Geometry *g, Sizes *s):
    """The sum of the windows that each element stands for; None where it is put together otherwise."""
    cdef cnp.ndarray made, columns
    if s.groups == s.o > 1 and s.groups == s.c:
        if not cnp.PyArray_IS_C_CONTIGUOUS(weight):
            return None
        made = images_like(a, s.c, g.size)
        each_plane(data(made), data(weight), data(a), kind, True, g, s)
        return made
    columns = shaped(weight, 0, s.groups, s.o // s.groups, s.c // s.groups * s.kernel)
    if g.stride[0] == g.stride[1] == 1 or s.o == s.groups or too_large(a, s) or repeats(columns):
        return None
    columns = matmul(cnp.PyArray_SwapAxes(columns, 1, 2), shaped(a, s.n, s.groups, s.o // s.groups, s.windows))
    made = images_like(a, s.c, g.size)
    each_window(data(made), data(columns), kind, True, g, s)
    return made


cdef inline bint repeats(cnp.ndarray rows) noexcept:
    """Return whether elements of matrices are the same in memory, of which products are made of a copy."""
    return cnp.PyArray_STRIDE(rows, 1) == 0 or cnp.PyArray_STRIDE(rows, 2) == 0


cdef inline bint each_alone(Geometry *g) noexcept:
    """Return whether the windows of a kernel of one element are the elements of the images."""
    return g.stride[0] == g.stride[1] == 1 and g.padding[0] == g.padding[1] == 0


cdef inline bint too_large(cnp.ndarray a, Sizes *s) noexcept:
    """Return whether some images at a time are computed (see `_by_parts`)."""
    cdef Count each = cnp.PyArray_ITEMSIZE(a) * s.c * s.kernel * s.windows
    return s.kernel > 1 and s.n > max(PART // each, 1)


cdef cnp.ndarray in_images(cnp.ndarray made, cnp.ndarray a, Count channels, Count *size):
    if cnp.PyArray_NDIM(a) == 4:
        return shaped(made, cnp.PyArray_DIM(a, 0), channels, size[0], size[1])
    return shaped(made, 0, cnp.PyArray_DIM(a, 0), channels, size[1])


cdef inline void *data(cnp.ndarray a) noexcept:
    return cnp.PyArray_DATA(a)


cdef void add_each(real *a, const real *by, Count n, Count channels, Count plane) noexcept nogil:
    cdef Count i, j, k
    cdef real each
    for i in range(n):
        for k in range(channels):
            each = by[k]
            for j in range(plane):
                a[j] = a[j] + each
            a += plane


def convolution(a, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution of images of one or two dimensions, or a transposed one; None for other arguments than the
    engine's, or where it is put together in parts."""
    cdef Geometry g
    cdef Sizes s
    cdef int kind = kind_in_rows(a)
    cdef Count channels
    if kind < 0 or not number(groups, &s.groups) or (kind_in_rows(weight) != kind and not lines_of(weight, kind)):
        return None
    if not sized(a, weight, stride, padding, dilation, output_padding if transposed else None, &g, &s):
        return None
    channels = s.c if transposed else s.o
    if bias is not None and (
        kind_of(bias) != kind or cnp.PyArray_NDIM(<cnp.ndarray>bias) != 1 or cnp.PyArray_SIZE(<cnp.ndarray>bias) != channels
    ):
        return None
    made = spread_out(a, weight, kind, &g, &s) if transposed else correlated(a, weight, kind, &g, &s)
    if made is not None and bias is not None:
        if kind == cnp.NPY_FLOAT:
            add_each[float](<float *>data(made), <float *>data(bias), s.n, channels, planar(made))
        else:
            add_each[double](<double *>data(made), <double *>data(bias), s.n, channels, planar(made))
    return made


cdef cnp.ndarray lines_apart(cnp.ndarray a, int kind, Count line, Geometry *g, Sizes *s):
    """The lines of images beside each other in matrices of each group, each as wide as `line`, the rest of it full of 0."""
    cdef cnp.npy_intp[4] shape = [s.n, s.groups, s.o // s.groups, g.out[0] * line]
    cdef cnp.ndarray made = cnp.PyArray_ZEROS(4, shape, kind, 0)
    cdef Count item = cnp.PyArray_ITEMSIZE(a), bytes = g.out[1] * item
    cdef void *to = data(made)
    cdef void *source = data(a)
    with nogil:
        copy_runs(<char *>to, line * item, <char *>source, bytes, bytes, s.n * s.o * g.out[0])
    return made


cdef object spread_densely(cnp.ndarray a, cnp.ndarray weight, int kind, Geometry *g, Sizes *s):
    """`spread_out` for strides of 1, by shifts of whole planes (see `_spread_densely`)."""
    cdef Count line = g.size[1] + 2 * g.padding[1] if cnp.PyArray_NDIM(a) == 4 else g.out[1], length = g.out[0] * line
    cdef Count reach = (g.kernel[0] - 1) * g.dilation[0] * line + (g.kernel[1] - 1) * g.dilation[1]
    cdef cnp.npy_intp many = max(length + reach, (g.size[0] + 2 * g.padding[0]) * (g.size[1] + 2 * g.padding[1]))
    cdef cnp.ndarray rows = shaped(weight, 0, s.groups, s.o // s.groups, s.c // s.groups * s.kernel)
    cdef cnp.ndarray columns, made, wide
    if s.o == s.groups or too_large(a, s) or repeats(rows):
        return None
    columns = matmul(cnp.PyArray_SwapAxes(rows, 1, 2), lines_apart(a, kind, line, g, s))
    made, wide = images_like(a, s.c, g.size), cnp.PyArray_SimpleNew(1, &many, kind)
    add_shifts(data(made), data(columns), data(wide), many, kind, length, line, g, s)
    return made


cdef object weights(cnp.ndarray larger, cnp.ndarray other, cnp.ndarray weight, int kind, Geometry *g, Sizes *s):
    """The gradient of a weight, the sum over images of windows times what each stands for; None where it is put together
    otherwise."""
    cdef Count width = s.c // s.groups * s.kernel
    cdef cnp.npy_intp[4] shape = [s.n, s.groups, width, s.windows]
    cdef cnp.ndarray columns, made
    if s.windows == 1 or too_large(larger, s):
        return None
    if s.kernel > 1:
        columns = cnp.PyArray_SimpleNew(4, shape, kind)
        each_window(data(larger), data(columns), kind, False, g, s)
    elif each_alone(g):
        columns = shaped(larger, s.n, s.groups, width, s.windows)
    else:
        return None
    made = matmul(columns, cnp.PyArray_SwapAxes(shaped(other, s.n, s.groups, s.o // s.groups, s.windows), 2, 3))
    made = cnp.PyArray_SwapAxes(add_up(made, 0), 1, 2)
    made = cnp.PyArray_GETCONTIGUOUS(made)
    if cnp.PyArray_NDIM(weight) == 4:
        return shaped(made, s.o, s.c // s.groups, g.kernel[0], g.kernel[1])
    return shaped(made, 0, s.o, s.c // s.groups, g.kernel[1])


def gradients(grad, a, weight, stride, padding, dilation, transposed, groups, mask):
    """The gradients of images and weight; None for each that `mask` does not ask for or that is put together otherwise."""
    cdef Geometry g
    cdef Sizes s
    cdef int d, kind = kind_in_rows(a)
    if kind < 0 or kind_in_rows(weight) != kind or not number(groups, &s.groups) or not cnp.PyArray_CheckExact(grad):
        return NEITHER
    if cnp.PyArray_TYPE(<cnp.ndarray>grad) != kind or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>grad):
        return NEITHER
    if cnp.PyArray_NDIM(<cnp.ndarray>grad) != cnp.PyArray_NDIM(<cnp.ndarray>a):
        return NEITHER
    lines = <cnp.ndarray>cnp.PyArray_GETCONTIGUOUS(<cnp.ndarray>grad)
    cdef cnp.ndarray larger = lines if transposed else a, other = a if transposed else lines
    if not sized(larger, weight, stride, padding, dilation, None, &g, &s) or s.groups == s.o > 1 and s.groups == s.c:
        return NEITHER
    if cnp.PyArray_DIM(other, 0) != s.n or cnp.PyArray_DIM(other, 1) != s.o or transposed and s.kernel == 1:
        return NEITHER
    for d in range(2, cnp.PyArray_NDIM(other)):
        if cnp.PyArray_DIM(other, d) != g.out[d + 2 - cnp.PyArray_NDIM(other)]:
            return NEITHER
    image = by_weight = None
    if mask[0]:
        if transposed:
            image = correlated(larger, weight, kind, &g, &s)
        else:
            image = (
                spread_densely(other, weight, kind, &g, &s)
                if g.stride[0] == g.stride[1] == 1
                else spread_out(other, weight, kind, &g, &s)
            )
    if mask[1]:
        by_weight = weights(larger, other, weight, kind, &g, &s)
    return image, by_weight


cdef inline bint lines_of(object weight, int kind) noexcept:
    """Return whether these are lines of such numbers, of which it does not matter how they are laid out."""
    return (
        cnp.PyArray_CheckExact(weight)
        and cnp.PyArray_TYPE(<cnp.ndarray>weight) == kind
        and cnp.PyArray_NDIM(<cnp.ndarray>weight) == 3
        and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>weight)
    )


cdef inline Count planar(cnp.ndarray a) noexcept:
    """The elements of each of its planes."""
    return cnp.PyArray_SIZE(a) // (cnp.PyArray_DIM(a, 0) * cnp.PyArray_DIM(a, 1))
