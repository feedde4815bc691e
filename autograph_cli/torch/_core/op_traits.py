"""Facts about operations: which compute element by element, and which are linear in their tensors.

What is said in an operation's own record (`pointwise=`, `linear=`) counts before these tables.
"""

from __future__ import annotations

from typing import Any


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


POINTWISE = _names("""
    pow_Tensor_Scalar pow_Scalar mul_Scalar div_Scalar add_Scalar sub_Scalar rsub_Scalar remainder_Scalar fmod_Scalar
    neg abs tanh_backward sigmoid_backward relu threshold_backward floor ceil trunc round round_decimals frac sign sgn
    clone masked_fill_Scalar masked_fill_Tensor clamp clamp_min clamp_max lerp_Scalar lerp_Tensor copysign_Scalar
    heaviside ldexp_Tensor nan_to_num nan_to_num_finite signbit frexp_Tensor _conj _neg_view _conj_physical softplus
    softplus_backward leaky_relu leaky_relu_ leaky_relu_backward clone_format eq_beyond ne_beyond lt_beyond le_beyond
    gt_beyond ge_beyond isnan isinf isfinite isposinf isneginf isreal isclose logical_and logical_or logical_xor
    logical_not bitwise_not gelu gelu_backward silu mish hardtanh hardtanh_backward hardshrink hardshrink_backward
    softshrink softshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward elu elu_ elu_backward
    celu celu_ threshold threshold_ native_dropout_backward angle polygamma polygamma_ xlogy_self_scalar
    xlogy_other_scalar special_xlog1py_self_scalar special_xlog1py_other_scalar special_zeta_self_scalar
    special_zeta_other_scalar where complex polar _to_copy _to_copy_plain eq__Scalar ne__Scalar lt__Scalar le__Scalar
    gt__Scalar ge__Scalar log_sigmoid_backward rrelu_with_noise_backward floor_divide_Scalar fill_functional_Scalar
    fill_Scalar zero
""")
"""Element by element over broadcast arguments, beside all that promote their arguments or make them floating."""

NOT_POINTWISE = _names("""
    softmax log_softmax logsumexp logcumsumexp mse_loss smooth_l1_loss huber_loss _safe_softmax
""")

LINEAR = _names("""
    add sub rsub neg mul_Scalar div_Scalar clone clone_format copy _to_copy _conj _conj_physical complex where
    view_as_real view_as_complex _unsafe_view _reshape_alias view alias expand permute t transpose unsqueeze
    unsqueeze_in_place squeeze squeeze_dim squeeze_dims squeeze__dim squeeze_ squeeze__dims unsqueeze_ t_ transpose_
    as_strided_ select slice as_strided diagonal split split_with_sizes unbind unsafe_split unsafe_split_with_sizes cat
    stack block_diag select_backward slice_backward diagonal_backward flip roll tril triu repeat diag_embed rot90 index
    gather index_select masked_select take index_put index_put_impl index_add index_copy scatter_add scatter_src put
    masked_scatter masked_scatter_backward masked_fill_Tensor slice_scatter select_scatter diagonal_scatter
    as_strided_scatter sum sum_dim_IntList mean mean_dim cumsum trace narrow_copy unfold unfold_backward
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
    replication_pad2d_backward replication_pad3d_backward im2col col2im max_unpool2d max_unpool3d avg_pool2d avg_pool3d
    _adaptive_avg_pool2d _adaptive_avg_pool3d _fft_c2c _fft_r2c _fft_c2r overlap_add frames_of pixel_shuffle
    pixel_unshuffle channel_shuffle affine_grid_generator upsample_nearest1d upsample_nearest1d_backward
    upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward
    _upsample_nearest_exact1d _upsample_nearest_exact1d_backward _upsample_nearest_exact2d
    _upsample_nearest_exact2d_backward _upsample_nearest_exact3d _upsample_nearest_exact3d_backward upsample_linear1d
    upsample_linear1d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_trilinear3d
    upsample_trilinear3d_backward upsample_bicubic2d upsample_bicubic2d_backward _upsample_bilinear2d_aa
    _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward embedding
    embedding_dense_backward alias_copy view_copy expand_copy permute_copy t_copy transpose_copy unsqueeze_copy
    squeeze_copy squeeze_copy_dim squeeze_copy_dims select_copy slice_copy as_strided_copy diagonal_copy unbind_copy
    split_copy split_with_sizes_copy unfold_copy view_as_real_copy view_as_complex_copy
""")
"""Linear in all the inputs that have a derivative, taken together; beside all views."""

BY_INPUT = _names("""
    mul mm mv dot bmm vdot linalg_cross _trilinear
""")
"""Linear in each input that has a derivative, as long as the others stay."""


def pointwise(identifier: str, flags: Any) -> bool:
    """Whether each element of the result depends on the elements of the arguments at its place only."""
    if identifier in NOT_POINTWISE:
        return False
    return bool(flags.get("promotes") or flags.get("floating") or identifier in POINTWISE)


def linear(identifier: str, flags: Any) -> bool | str:
    """True: linear in its inputs together; "each": in each of them; False otherwise."""
    if flags.get("view") or identifier in LINEAR:
        return True
    return "each" if identifier in BY_INPUT else False


RANDOM = _names("""
    poisson binomial _standard_gamma _sample_dirichlet
    normal_ uniform_ exponential_ geometric_ cauchy_ log_normal_ random_ random__to random__from bernoulli__float
    bernoulli__Tensor bernoulli bernoulli_p normal_Tensor_float normal_float_Tensor normal_Tensor_Tensor
""")
"""Draw random numbers."""
