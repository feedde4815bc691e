"""Autocast on a GPU: PyTorch's lists for CUDA, which differ from those for the CPU."""

from __future__ import annotations

from collections.abc import Mapping

SET_DTYPE = "fp32_set_opt_dtype"
"""The policy of what sums up: no tensor is cast, but the result is of float32 where no other dtype is asked for."""
LISTS = {
    "lower_precision_fp": """
        conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution
        prelu _prelu_kernel addmm addmv addr matmul einsum mm mv linalg_vecdot vecdot linear addbmm baddbmm bmm
        chain_matmul linalg_multi_dot lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _thnn_fused_lstm_cell
        _thnn_fused_gru_cell scaled_dot_product_attention""",
    "fp32": """
        acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm rms_norm
        native_layer_norm group_norm native_group_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss
        nll_loss_nd nll_loss2d nll_loss_forward nll_loss2d_forward hinge_embedding_loss kl_div l1_loss smooth_l1_loss
        huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
        multi_margin_loss binary_cross_entropy_with_logits dist pdist _pdist_forward cdist _cdist_forward renorm
        logsumexp upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
        _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d
        _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa""",
    SET_DTYPE: """
        norm prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm matrix_norm sum""",
    "promote": """
        addcdiv addcmul atan2 bilinear cat cross linalg_cross dot vdot grid_sampler index_put tensordot scatter_add
        stack""",
    "banned": "binary_cross_entropy",
}
"""The operations of each policy, by PyTorch's names."""
POLICIES: Mapping[str, str] = {name: policy for policy, names in LISTS.items() for name in names.split()}
BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)
