"""Published methods of Tensor (`registry.methods`), declared for type checkers; nothing here runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Tensor


def _other(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError


_tensor: Callable[..., Tensor] = _other
_tensors: Callable[..., tuple[Tensor, ...]] = _other
_iterator: Callable[..., Iterator[Tensor]] = _other
_bool: Callable[..., bool] = _other
_int: Callable[..., int] = _other
_float: Callable[..., float] = _other
_complex: Callable[..., complex] = _other
_str: Callable[..., str] = _other
_none: Callable[..., None] = _other


class Methods:
    """Methods by their results; an argument of the wrong kind is refused when a script runs, in PyTorch's words."""

    H: Tensor
    T: Tensor
    imag: Tensor
    mH: Tensor
    mT: Tensor
    real: Tensor

    _conj = _conj_physical = _indices = _neg_view = _values = abs = abs_ = absolute = absolute_ = acos = acos_ = _tensor
    acosh = acosh_ = add = add_ = addbmm = addbmm_ = addcdiv = addcdiv_ = addcmul = addcmul_ = addmm = addmm_ = _tensor
    addmv = addmv_ = addr = addr_ = adjoint = all = amax = amin = angle = any = apply_ = arccos = arccos_ = _tensor
    arccosh = arccosh_ = arcsin = arcsin_ = arcsinh = arcsinh_ = arctan = arctan2 = arctan2_ = arctan_ = _tensor
    arctanh = arctanh_ = argmax = argmin = argsort = argwhere = as_strided = as_strided_ = as_strided_scatter = _tensor
    asin = asin_ = asinh = asinh_ = atan = atan2 = atan2_ = atan_ = atanh = atanh_ = baddbmm = baddbmm_ = _tensor
    bernoulli = bernoulli_ = bfloat16 = bincount = bitwise_and = bitwise_and_ = bitwise_left_shift = _tensor
    bitwise_left_shift_ = bitwise_not = bitwise_not_ = bitwise_or = bitwise_or_ = bitwise_right_shift = _tensor
    bitwise_right_shift_ = bitwise_xor = bitwise_xor_ = bmm = bool = broadcast_to = byte = cauchy_ = cdouble = _tensor
    ceil = ceil_ = cfloat = char = cholesky = cholesky_inverse = cholesky_solve = clamp = clamp_ = clamp_max = _tensor
    clamp_max_ = clamp_min = clamp_min_ = clip = clip_ = clone = coalesce = col_indices = combinations = conj = _tensor
    conj_physical = conj_physical_ = contiguous = copy_ = copysign = copysign_ = corrcoef = cos = cos_ = cosh = _tensor
    cosh_ = count_nonzero = cov = cpu = cross = crow_indices = cuda = cumprod = cumprod_ = cumsum = cumsum_ = _tensor
    detach = _tensor
    deg2rad = deg2rad_ = det = diag = diag_embed = diagflat = diagonal = diagonal_scatter = diff = digamma = _tensor
    digamma_ = dist = div = div_ = divide = divide_ = dot = double = eq = eq_ = erf = erf_ = erfc = erfc_ = _tensor
    erfinv = erfinv_ = exp = exp2 = exp2_ = exp_ = expand = expand_as = expm1 = expm1_ = exponential_ = fill_ = _tensor
    fill_diagonal_ = fix = fix_ = flatten = flip = fliplr = flipud = float = float_power = float_power_ = _tensor
    floor = floor_ = floor_divide = floor_divide_ = fmax = fmin = fmod = fmod_ = frac = frac_ = gather = gcd = _tensor
    gcd_ = ge = ge_ = geometric_ = ger = greater = greater_ = greater_equal = greater_equal_ = gt = gt_ = half = _tensor
    hardshrink = hash_tensor = heaviside = heaviside_ = histc = hypot = hypot_ = i0 = i0_ = igamma = igamma_ = _tensor
    igammac = igammac_ = index_add = index_add_ = index_copy = index_copy_ = index_fill = index_fill_ = _tensor
    index_put = index_put_ = index_reduce = index_reduce_ = index_select = indices = inner = int = inverse = _tensor
    isclose = isfinite = isinf = isnan = isneginf = isposinf = isreal = istft = kron = lcm = lcm_ = ldexp = _tensor
    ldexp_ = le = le_ = lerp = lerp_ = less = less_ = less_equal = less_equal_ = lgamma = lgamma_ = log = _tensor
    log10 = log10_ = log1p = log1p_ = log2 = log2_ = log_ = log_normal_ = log_softmax = logaddexp = logaddexp2 = _tensor
    logcumsumexp = logdet = logical_and = logical_and_ = logical_not = logical_not_ = logical_or = logical_or_ = _tensor
    logical_xor = logical_xor_ = logit = logit_ = logsumexp = long = lt = lt_ = lu_solve = map2_ = map_ = _tensor
    masked_fill = masked_fill_ = masked_scatter = masked_scatter_ = masked_select = matmul = matrix_exp = _tensor
    matrix_power = maximum = mean = minimum = mm = moveaxis = movedim = msort = mul = mul_ = multigammaln = _tensor
    multigammaln_ = multinomial = multiply = multiply_ = mv = mvlgamma = mvlgamma_ = nan_to_num = nan_to_num_ = _tensor
    nanmean = nanquantile = nansum = narrow = narrow_copy = ne = ne_ = neg = neg_ = negative = negative_ = _tensor
    new_empty = new_empty_strided = new_full = new_ones = new_tensor = new_zeros = nextafter = nextafter_ = _tensor
    nonzero_static = norm = normal_ = not_equal = not_equal_ = orgqr = ormqr = outer = permute = pin_memory = _tensor
    pinverse = polygamma = polygamma_ = positive = pow = pow_ = prelu = prod = put = put_ = quantile = rad2deg = _tensor
    rad2deg_ = random_ = ravel = reciprocal = reciprocal_ = relu = relu_ = remainder = remainder_ = renorm = _tensor
    renorm_ = repeat = repeat_interleave = reshape = reshape_as = resize_ = resize_as_ = resolve_conj = _tensor
    resolve_neg = roll = rot90 = round = round_ = rsqrt = rsqrt_ = scatter = scatter_ = scatter_add = _tensor
    scatter_add_ = scatter_reduce = scatter_reduce_ = select = select_scatter = set_ = sgn = sgn_ = _tensor
    share_memory_ = short = sigmoid = sigmoid_ = sign = sign_ = signbit = sin = sin_ = sinc = sinc_ = sinh = _tensor
    sinh_ = slice_scatter = softmax = sparse_mask = sqrt = sqrt_ = square = square_ = squeeze = squeeze_ = std = _tensor
    stft = sub = sub_ = subtract = subtract_ = sum = sum_to_size = swapaxes = swapaxes_ = swapdims = swapdims_ = _tensor
    t = t_ = take = take_along_dim = tan = tan_ = tanh = tanh_ = tile = to = to_dense = to_sparse = _tensor
    to_sparse_coo = to_sparse_csr = trace = transpose = transpose_ = tril = tril_ = triu = triu_ = true_divide = _tensor
    true_divide_ = trunc = trunc_ = type_as = unflatten = unfold = uniform_ = unsqueeze = unsqueeze_ = values = _tensor
    var = vdot = view = view_as = view_as_complex = view_as_real = where = xlogy = xlogy_ = zero_ = __abs__ = _tensor
    __add__ = __and__ = __deepcopy__ = __floordiv__ = __ge__ = __getitem__ = __gt__ = __iadd__ = __iand__ = _tensor
    __ifloordiv__ = __ilshift__ = __imod__ = __imul__ = __invert__ = __ior__ = __ipow__ = __irshift__ = _tensor
    __isub__ = __itruediv__ = __ixor__ = __le__ = __lshift__ = __lt__ = __matmul__ = __mod__ = __mul__ = _tensor
    __neg__ = __or__ = __pos__ = __pow__ = __radd__ = __rand__ = __rdiv__ = __rfloordiv__ = __rlshift__ = _tensor
    __rmatmul__ = __rmod__ = __rmul__ = __ror__ = __rpow__ = __rrshift__ = __rshift__ = __rsub__ = _tensor
    __rtruediv__ = __rxor__ = __sub__ = __truediv__ = __xor__ = _tensor
    chunk = dsplit = hsplit = split = split_with_sizes = tensor_split = unbind = unsafe_chunk = unsafe_split = _tensors
    unsafe_split_with_sizes = vsplit = _tensors
    allclose = equal = is_coalesced = is_complex = is_conj = is_contiguous = is_floating_point = is_neg = _bool
    is_nonzero = is_pinned = is_same_size = is_set_to = is_shared = is_signed = __bool__ = __contains__ = _bool
    _nnz = data_ptr = dense_dim = dim = element_size = get_device = ndimension = nelement = numel = sparse_dim = _int
    storage_offset = __index__ = __int__ = __len__ = _int
    __format__ = __repr__ = __str__ = _str
    _make_subclass = _make_wrapper_subclass = aminmax = as_subclass = cummax = cummin = dim_order = frexp = _other
    geqrf = histogram = histogramdd = item = kthvalue = lu = max = median = min = mode = nanmedian = new = _other
    nonzero = numpy = qr = size = slogdet = sort = storage = stride = svd = svd_lowrank = tolist = topk = _other
    triangular_solve = type = unique = unique_consecutive = untyped_storage = __array__ = __array_wrap__ = _other
    __dlpack__ = __dlpack_device__ = __eq__ = __ne__ = __reduce_ex__ = _other
    __float__ = _float
    __complex__ = _complex
    __iter__ = _iterator
    __setitem__ = record_stream = _none
