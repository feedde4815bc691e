# Gradients of normalizations as a whole, in the steps of `normalization.py`: a part of fast_rows.pyx.


cdef void normal_rows(
    const real *a, const real *mean, const real *rstd, real *out, Count many, Count n
) noexcept nogil:
    """Rows less their mean, times 1 / deviation."""
    cdef Count i, j
    cdef real middle, each
    for i in range(many):
        middle, each = mean[i], rstd[i]
        for j in range(n):
            out[j] = (a[j] - middle) * each
        a += n
        out += n


cdef void times_each(
    const real *a, const real *by, real *out, Count n, Count channels, Count plane
) noexcept nogil:
    """`a` times the number that each channel, or with a `plane` of 1 each column, has in `by`."""
    cdef Count i, j, k
    for i in range(n):
        if plane == 1:
            for k in range(channels):
                out[k] = a[k] * by[k]
        else:
            for k in range(channels):
                for j in range(plane):
                    out[k * plane + j] = a[k * plane + j] * by[k]
        a += channels * plane
        out += channels * plane


cdef void multiply(const real *a, real *b, Count many) noexcept nogil:
    """`b *= a`."""
    cdef Count i
    for i in range(many):
        b[i] = a[i] * b[i]


cdef cnp.ndarray rows_back(
    real kind, cnp.ndarray scaled, cnp.ndarray normal, cnp.ndarray rstd, cnp.ndarray like_it, Count many, Count n
):
    """`Normalization._normalized_back`."""
    cdef cnp.ndarray out = like(like_it), sums = new_of(normal, 2 * many)
    cdef real *products = <real *>data(sums)
    cdef const real *a = <const real *>data(scaled)
    cdef const real *b = <const real *>data(normal)
    cdef const real *each = <const real *>data(rstd)
    cdef real *made = <real *>data(out)
    products_of(kind, scaled, normal, products, many, n)
    sums_of(kind, scaled, products + many, many, n)
    with nogil:
        back(a, b, <const real *>products, <const real *>(products + many), each, made, <real>n, many, n)
    return out


cdef cnp.ndarray column_sums(real kind, cnp.ndarray a, tuple shape, Count many, Count n):
    """`Sums.column_sums` of `many` rows, in that shape."""
    cdef cnp.ndarray made
    if by_product(a, many) and many > 1 and n > 1 and known():
        made = new_of(a, n)
        added_up(<const real *>data(a), <real *>data(made), many, n, True)
    elif by_product(a, many):
        made = matmul(ones(many, a.dtype), in_rows(a, many, n))
    else:
        made = new_of(a, n)
        if n == 1:
            (<real *>data(made))[0] = pairwise(<const real *>data(a), many) + 0
        else:
            sum_lines(<const real *>data(a), <real *>data(made), 1, many, n)
    return made if len(shape) == 1 else made.reshape(shape)


cdef tuple layer_back(
    real kind, cnp.ndarray grad, cnp.ndarray a, tuple shape, cnp.ndarray mean, cnp.ndarray rstd, weight, mask, Count n
):
    cdef Count many = cnp.PyArray_SIZE(a) // n
    cdef cnp.ndarray normal = like(a), scaled = grad
    cdef real *made = <real *>data(normal)
    cdef const real *source = <const real *>data(a)
    cdef const real *middle = <const real *>data(mean)
    cdef const real *each = <const real *>data(rstd)
    image = by_weight = by_bias = None
    with nogil:
        normal_rows(source, middle, each, made, many, n)
    if mask[0]:
        if weight is not None:
            scaled = like(a)
            times_each(<const real *>data(grad), <const real *>data(weight), <real *>data(scaled), many, n, 1)
        image = rows_back(kind, scaled, normal, rstd, a, many, n)
    if mask[1]:
        multiply(<const real *>data(grad), made, many * n)
        by_weight = column_sums(kind, normal, shape, many, n)
    if mask[2]:
        by_bias = column_sums(kind, grad, shape, many, n)
    return or_nothing(a, image, by_weight, by_bias)


cdef inline object in_order(object a):
    """The same array, or a copy that lies in one piece."""
    if not cnp.PyArray_CheckExact(a) or cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a):
        return a
    return cnp.PyArray_NewCopy(<cnp.ndarray>a, cnp.NPY_CORDER)


cdef bint alike(object a, object grad, int kind) noexcept:
    """Return whether this is a gradient in the shape of `a`, which has an element and is of that kind."""
    return (
        kind >= 0
        and kind_of(grad) == kind
        and cnp.PyArray_SIZE(a) > 0
        and cnp.PyArray_SAMESHAPE(<cnp.ndarray>a, <cnp.ndarray>grad)
    )


cdef tuple or_nothing(cnp.ndarray a, image, by_weight, by_bias):
    """An empty array for each that is not asked for."""
    return tuple([new_of(a, 0) if x is None else x for x in (image, by_weight, by_bias)])


def native_layer_norm_backward(grad, a, shape, mean, rstd, weight, bias, mask):
    cdef int kind = kind_in_rows(a), lead
    cdef Count n
    grad = in_order(grad)
    if not isinstance(shape, tuple) or not alike(a, grad, kind):
        return None
    lead = cnp.PyArray_NDIM(<cnp.ndarray>a) - len(shape)
    if lead < 0 or not len(shape):
        return None
    n = product(a, lead, cnp.PyArray_NDIM(<cnp.ndarray>a))
    if mean is None or rstd is None or not beside(weight, kind, n):
        return None
    if not beside(mean, kind, cnp.PyArray_SIZE(a) // n) or not beside(rstd, kind, cnp.PyArray_SIZE(a) // n):
        return None
    if kind == cnp.NPY_FLOAT:
        return layer_back[float](0, grad, a, shape, mean, rstd, weight, mask, n)
    return layer_back[double](0, grad, a, shape, mean, rstd, weight, mask, n)


cdef tuple group_back(
    real kind, cnp.ndarray grad, cnp.ndarray a, cnp.ndarray mean, cnp.ndarray rstd, weight, mask, Count n, Count channels
):
    cdef Count many = cnp.PyArray_SIZE(mean), plane = cnp.PyArray_SIZE(a) // (n * channels)
    cdef cnp.ndarray normal = like(a), scaled = grad, by_weight, by_bias
    cdef real *made = <real *>data(normal)
    cdef const real *source = <const real *>data(a)
    cdef const real *middle = <const real *>data(mean)
    cdef const real *each = <const real *>data(rstd)
    image = weights = biases = None
    with nogil:
        normal_rows(source, middle, each, made, many, n * channels * plane // many)
    if mask[0]:
        if weight is not None:
            scaled = like(a)
            times_each(<const real *>data(grad), <const real *>data(weight), <real *>data(scaled), n, channels, plane)
        image = rows_back(kind, scaled, normal, rstd, a, many, n * channels * plane // many)
    if mask[1]:
        weights = by_weight = new_of(a, channels)
        channel_sums(kind, grad, normal, <real *>data(by_weight), n, channels, plane)
    if mask[2]:
        biases = by_bias = new_of(a, channels)
        channel_sums[real](kind, grad, None, <real *>data(by_bias), n, channels, plane)
    return image, weights, biases


def native_group_norm_backward(grad, a, mean, rstd, weight, groups, mask):
    cdef int kind = kind_in_rows(a)
    cdef Count many, n, channels
    grad = in_order(grad)
    if not alike(a, grad, kind) or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not number(groups, &many):
        return None
    n, channels = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    if many < 1 or channels % many or mean is None or rstd is None or not beside(weight, kind, channels):
        return None
    if not beside(mean, kind, n * many) or not beside(rstd, kind, n * many):
        return None
    if kind == cnp.NPY_FLOAT:
        return group_back[float](0, grad, a, mean, rstd, weight, mask, n, channels)
    return group_back[double](0, grad, a, mean, rstd, weight, mask, n, channels)

# ---------------------------------------------------------------- normalization of channels


cdef void channels_back(
    const real *grad, const real *normal, const real *along, const real *across, const real *slope, real *out,
    Count n, Count channels, Count plane
) noexcept nogil:
    """`back`, with numbers of each channel, that were divided by how many elements it has."""
    cdef Count i, j, k
    for i in range(n):
        if plane == 1:
            for k in range(channels):
                out[k] = (grad[k] - (normal[k] * along[k] + across[k])) * slope[k]
        else:
            for k in range(channels):
                for j in range(k * plane, (k + 1) * plane):
                    out[j] = (grad[j] - (normal[j] * along[k] + across[k])) * slope[k]
        grad += channels * plane
        normal += channels * plane
        out += channels * plane


cdef cnp.ndarray normal_channels(real kind, cnp.ndarray a, const real *mean, const real *rstd, Count n, Count channels):
    """Each plane less the mean of its channel, times 1 / deviation."""
    cdef cnp.ndarray out = like(a)
    cdef real *made = <real *>data(out)
    cdef const real *source = <const real *>data(a)
    cdef Count plane = cnp.PyArray_SIZE(a) // (n * channels)
    with nogil:
        normalize_planes(source, made, mean, n, channels, plane)
        times_each(<const real *>made, rstd, made, n, channels, plane)
    return out


cdef tuple batch_back(
    real kind, cnp.ndarray grad, cnp.ndarray a, weight, cnp.ndarray mean, cnp.ndarray rstd, bint training, mask,
    Count n, Count channels
):
    cdef Count plane = cnp.PyArray_SIZE(a) // (n * channels)
    cdef bint of_image = mask[0], of_weight = mask[1], of_bias = mask[2]
    cdef cnp.ndarray by_weight = None, by_bias = None, image = None, normal, means, slope = rstd
    cdef const real *each
    cdef real *along
    cdef Count k
    cdef const real *values = <const real *>data(grad)
    cdef real *made
    if weight is not None:
        slope = new_of(a, channels)
        times_each(<const real *>data(rstd), <const real *>data(weight), <real *>data(slope), 1, channels, 1)
    each = <const real *>data(slope)
    if of_bias or of_image and training:
        by_bias = new_of(a, channels)
        channel_sums[real](kind, grad, None, <real *>data(by_bias), n, channels, plane)
    if of_weight or of_image and training:
        normal = normal_channels(kind, a, <const real *>data(mean), <const real *>data(rstd), n, channels)
        by_weight = new_of(a, channels)
        channel_sums(kind, grad, normal, <real *>data(by_weight), n, channels, plane)
    if of_image:
        image = like(a)
        made = <real *>data(image)
        if training:
            means = new_of(a, 2 * channels)
            along = <real *>data(means)
            for k in range(channels):
                along[k] = (<real *>data(by_weight))[k] / <real>(n * plane)
                along[channels + k] = (<real *>data(by_bias))[k] / <real>(n * plane)
            channels_back(values, <const real *>data(normal), along, along + channels, each, made, n, channels, plane)
        else:
            times_each(values, each, made, n, channels, plane)
    return or_nothing(a, image, by_weight if of_weight else None, by_bias if of_bias else None)


cdef cnp.ndarray deviation_of(cnp.ndarray variance, int kind, double eps):
    """1 / deviation, of variances."""
    cdef cnp.ndarray made = cnp.PyArray_NewCopy(variance, cnp.NPY_CORDER)
    if kind == cnp.NPY_FLOAT:
        deviate(<float *>data(made), 1, <float>eps, cnp.PyArray_SIZE(made))
    else:
        deviate(<double *>data(made), 1, eps, cnp.PyArray_SIZE(made))
    return made


def native_batch_norm_backward(grad, a, weight, running_mean, running_var, mean, rstd, training, double eps, mask):
    cdef int kind = kind_in_rows(a)
    cdef Count n, channels
    if kind < 0:
        return None
    grad = in_order(grad)
    if not alike(a, grad, kind) or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2:
        return None
    n, channels = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    if not training:
        mean, rstd = running_mean, running_var
    if mean is None or rstd is None or not beside(weight, kind, channels):
        return None
    if not beside(mean, kind, channels) or not beside(rstd, kind, channels):
        return None
    if not training:
        rstd = deviation_of(rstd, kind, eps)
    if kind == cnp.NPY_FLOAT:
        return batch_back[float](0, grad, a, weight, mean, rstd, training, mask, n, channels)
    return batch_back[double](0, grad, a, weight, mean, rstd, training, mask, n, channels)
