# Normalizations as a whole, in the steps of `normalization.py`: a part of fast_rows.pyx.

# ---------------------------------------------------------------- normalization of rows


cdef void affine_groups(
    real *a, const real *rstd, const real *weight, const real *bias, Count n, Count channels, Count each, Count plane
) noexcept nogil:
    """`a * rstd * weight + bias`, with a number in `rstd` for `each` channels and one of each channel in the last two,
    which may be NULL."""
    cdef Count i, j, k
    cdef real scale, by, plus
    for i in range(n):
        for k in range(channels):
            scale = rstd[k // each]
            by = 1 if weight == NULL else weight[k]
            plus = <real>-0.0 if bias == NULL else bias[k]  # to add it changes nothing, not even a zero
            for j in range(plane):
                a[j] = a[j] * scale * by + plus
            a += plane
        rstd += channels // each


cdef cnp.ndarray centered_rows(real kind, cnp.ndarray a, cnp.ndarray mean, cnp.ndarray rstd, double eps):
    """Return the rows less their means, and write the means and 1 / deviations into `mean` and `rstd`: a number a row."""
    cdef cnp.ndarray out = like(a)
    cdef Count i, many = cnp.PyArray_SIZE(mean), n = cnp.PyArray_SIZE(a) // many
    cdef real *means = <real *>data(mean)
    cdef real *scales = <real *>data(rstd)
    cdef real *made = <real *>data(out)
    cdef real count = <real>n
    cdef const real *source = <const real *>data(a)
    sums_of(kind, a, means, many, n)
    with nogil:
        for i in range(many):
            means[i] = means[i] / count
        subtract(source, <const real *>means, made, many, n)
    products_of(kind, out, out, scales, many, n)
    deviate(scales, count, <real>eps, many)
    return out


cdef object normalized_rows(real kind, cnp.ndarray a, cnp.ndarray mean, cnp.ndarray rstd, weight, bias, double eps):
    """`Normalization._normalized`."""
    cdef cnp.ndarray out = centered_rows(kind, a, mean, rstd, eps)
    cdef Count many = cnp.PyArray_SIZE(mean)
    cdef const real *by = <const real *>data_of(weight)
    cdef const real *plus = <const real *>data_of(bias)
    cdef const real *each = <const real *>data(rstd)
    cdef real *made = <real *>data(out)
    cdef Count n = cnp.PyArray_SIZE(a) // many
    with nogil:
        scale(made, each, by, plus, many, n)
    return out


def native_layer_norm(a, shape, weight, bias, double eps):
    cdef int kind = kind_in_rows(a), dims
    cdef Count n
    if kind < 0 or not isinstance(shape, tuple) or not cnp.PyArray_SIZE(a):
        return None
    dims = cnp.PyArray_NDIM(<cnp.ndarray>a)
    if not 0 < len(shape) <= dims:
        return None
    cdef int lead = dims - len(shape)
    n = product(a, lead, dims)
    if not beside(weight, kind, n) or not beside(bias, kind, n):
        return None
    mean, rstd = new_beside(a, lead), new_beside(a, lead)
    if kind == cnp.NPY_FLOAT:
        return normalized_rows[float](0, a, mean, rstd, weight, bias, eps), mean, rstd
    return normalized_rows[double](0, a, mean, rstd, weight, bias, eps), mean, rstd


def native_group_norm(a, weight, bias, groups, double eps):
    cdef int kind = kind_in_rows(a)
    cdef Count many, n, channels, plane
    cdef cnp.npy_intp shape[2]
    if kind < 0 or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not cnp.PyArray_SIZE(a) or not number(groups, &many):
        return None
    n, channels = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    plane = product(a, 2, cnp.PyArray_NDIM(<cnp.ndarray>a))
    if many < 1 or channels % many or not beside(weight, kind, channels) or not beside(bias, kind, channels):
        return None
    shape[0], shape[1] = n, many
    cdef cnp.ndarray out, mean = cnp.PyArray_SimpleNew(2, shape, kind), rstd = cnp.PyArray_SimpleNew(2, shape, kind)
    cdef void *by = data_of(weight)
    cdef void *plus = data_of(bias)
    many = channels // many
    if kind == cnp.NPY_FLOAT:
        out = centered_rows[float](0, a, mean, rstd, eps)
    else:
        out = centered_rows[double](0, a, mean, rstd, eps)
    cdef void *made = data(out)
    cdef void *each = data(rstd)
    with nogil:
        if kind == cnp.NPY_FLOAT:
            affine_groups(<float *>made, <float *>each, <float *>by, <float *>plus, n, channels, many, plane)
        else:
            affine_groups(<double *>made, <double *>each, <double *>by, <double *>plus, n, channels, many, plane)
    return out, mean, rstd

# ---------------------------------------------------------------- normalization of channels


cdef void add_planes(const real *each, real *out, Count n, Count channels) noexcept nogil:
    """Sums of one number of each plane over all images."""
    cdef Count i
    if channels == 1:
        out[0] = pairwise(each, n) + 0
    else:
        sum_lines(each, out, 1, n, channels)


cdef int channel_sums(
    real kind, cnp.ndarray a, cnp.ndarray b, real *out, Count n, Count channels, Count plane
) except -1:
    """`Sums.channel_sums`; `b` may be None."""
    cdef cnp.ndarray each
    cdef Count lines = n * channels
    if cnp.PyArray_NDIM(a) > 2 and by_product(a, plane):
        each = new_of(a, lines)
        if b is None:
            sums_of(kind, a, <real *>data(each), lines, plane)
        else:
            products_of(kind, a, b, <real *>data(each), lines, plane)
        add_planes(<const real *>data(each), out, n, channels)
        return 0
    a = a if b is None else a * b
    if channels == 1:
        out[0] = pairwise(<const real *>data(a), n * plane) + 0
    elif plane == 1:
        sum_lines(<const real *>data(a), out, 1, n, channels)
    else:
        each = new_of(a, lines)
        sum_rows(<const real *>data(a), <real *>data(each), lines, plane)
        sum_lines(<const real *>data(each), out, 1, n, channels)
    return 0


cdef void normalize_planes(
    const real *a, real *out, const real *mean, Count n, Count channels, Count plane
) noexcept nogil:
    """Each plane less the mean of its channel."""
    cdef Count i, j, k
    cdef real each
    for i in range(n):
        if plane == 1:
            for k in range(channels):
                out[k] = a[k] - mean[k]
        else:
            for k in range(channels):
                each = mean[k]
                for j in range(plane):
                    out[k * plane + j] = a[k * plane + j] - each
        a += channels * plane
        out += channels * plane


cdef void affine_planes(
    real *a, const real *rstd, const real *weight, const real *bias, Count n, Count channels, Count plane
) noexcept nogil:
    """`a * rstd * weight + bias`, with a number of each channel in all three; the last two may be NULL."""
    cdef Count i, j, k
    cdef real each, by, plus
    for i in range(n):
        if plane == 1 and weight != NULL and bias != NULL:
            for k in range(channels):
                a[k] = a[k] * rstd[k] * weight[k] + bias[k]
            a += channels
            continue
        for k in range(channels):
            each = rstd[k]
            by = 1 if weight == NULL else weight[k]
            plus = <real>-0.0 if bias == NULL else bias[k]
            for j in range(plane):
                a[j] = a[j] * each * by + plus
            a += plane


cdef tuple normalized_channels(
    real kind, cnp.ndarray a, weight, bias, running_mean, running_var, bint training, double eps, Count n, Count channels
):
    cdef Count k, plane = cnp.PyArray_SIZE(a) // (n * channels)
    cdef cnp.ndarray out = like(a), mean = running_mean, rstd = new_of(a, channels)
    cdef real *scales = <real *>data(rstd)
    cdef real *means
    cdef real *made = <real *>data(out)
    cdef real count = <real>(n * plane)
    cdef const real *source = <const real *>data(a)
    cdef const real *by = <const real *>data_of(weight)
    cdef const real *plus = <const real *>data_of(bias)
    if training:
        mean = new_of(a, channels)
        means = <real *>data(mean)
        channel_sums[real](kind, a, None, means, n, channels, plane)
        for k in range(channels):
            means[k] = means[k] / count
    means = <real *>data(mean)
    with nogil:
        normalize_planes(source, made, <const real *>means, n, channels, plane)
    if training:
        channel_sums(kind, out, out, scales, n, channels, plane)
        deviate(scales, count, <real>eps, channels)
    else:
        memcpy(scales, data(running_var), channels * sizeof(real))
        deviate(scales, 1, <real>eps, channels)
    with nogil:
        affine_planes(made, <const real *>scales, by, plus, n, channels, plane)
    return (out, mean, rstd) if training else (out, new_of(a, 0), new_of(a, 0))


def native_batch_norm(a, weight, bias, running_mean, running_var, training, momentum, double eps):
    cdef int kind = kind_in_rows(a)
    cdef Count n, channels
    if kind < 0 or cnp.PyArray_NDIM(<cnp.ndarray>a) < 2 or not cnp.PyArray_SIZE(a):
        return None
    n, channels = cnp.PyArray_DIM(<cnp.ndarray>a, 0), cnp.PyArray_DIM(<cnp.ndarray>a, 1)
    for part in (weight, bias) if training else (weight, bias, running_mean, running_var):
        if not beside(part, kind, channels):
            return None
    if not training and (running_mean is None or running_var is None):
        return None
    if kind == cnp.NPY_FLOAT:
        return normalized_channels[float](
            0, a, weight, bias, running_mean, running_var, training, eps, n, channels
        )
    return normalized_channels[double](0, a, weight, bias, running_mean, running_var, training, eps, n, channels)
