"""What scripts import from `torch.nn`, and what it says of names it lacks."""

import importlib

import pytest

from autograph_cli import torch
from autograph_cli.record.run.imports import serve

NAMES = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d AdaptiveMaxPool2d
AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d
BatchNorm3d Bilinear Buffer CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d
ConstantPad2d ConstantPad3d Container Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d DataParallel Dropout Dropout1d Dropout2d
Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU
GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss
Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell
LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear
LeakyReLU Linear LinearCrossEntropyLoss LinearCrossEntropyOptions LocalResponseNorm LogSigmoid LogSoftmax MSELoss
MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module ModuleDict
ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss MultiheadAttention NLLLoss NLLLoss2d PReLU
PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm RNN
RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin
Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder
TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss
Unflatten Unfold UninitializedBuffer UninitializedParameter Upsample UpsamplingBilinear2d UpsamplingNearest2d
ZeroPad1d ZeroPad2d ZeroPad3d attention common_types factory_kwargs functional grad init intrinsic modules parallel
parameter qat quantizable quantized utils
"""
MISSING = {"factory_kwargs", "intrinsic", "qat", "quantizable", "quantized"}

IMPORTS = """
torch.nn: Linear Module Parameter functional init
torch.nn.parameter: Parameter Buffer UninitializedParameter
torch.nn.modules.module: Module register_module_forward_hook
torch.nn.modules.conv: Conv2d _ConvNd
torch.nn.modules.batchnorm: _BatchNorm
torch.nn.modules.loss: _Loss _WeightedLoss
torch.nn.modules.utils: _pair _triple consume_prefix_in_state_dict_if_present
torch.nn.modules.transformer: TransformerEncoderLayer
torch.nn.modules.lazy: LazyModuleMixin
torch.nn.common_types: _size_2_t
torch.nn.attention: SDPBackend sdpa_kernel
torch.nn.grad: conv2d_input conv2d_weight
torch.nn.attention: SDPBackend sdpa_kernel
torch.nn.parallel: DataParallel DistributedDataParallel
torch.nn.utils: clip_grad_norm_ parameters_to_vector weight_norm spectral_norm skip_init parametrize
torch.nn.utils.rnn: pad_sequence pack_padded_sequence PackedSequence
torch.nn.utils.parametrize: register_parametrization
torch.nn.utils.prune: BasePruningMethod l1_unstructured remove
torch.nn.modules.module: _addindent
torch.nn.utils.parametrizations: orthogonal spectral_norm weight_norm
torch.nn.utils.clip_grad: clip_grad_value_
torch.nn.utils.fusion: fuse_conv_bn_eval
torch.nn.utils.stateless: functional_call
torch.func: functional_call
""".strip().splitlines()


def test_every_name_of_pytorch_is_there_but_those_listed():
    assert {name for name in NAMES.split() if not hasattr(torch.nn, name)} == MISSING


@pytest.mark.parametrize("name", sorted(MISSING))
def test_a_missing_name_is_named_in_the_error(name):
    with pytest.raises(AttributeError, match=rf"torch\.nn\.{name} is not available in autograph's engine"):
        getattr(torch.nn, name)


@pytest.mark.parametrize("line", IMPORTS)
def test_import_is_served_while_a_script_runs(line):
    module, _, names = line.partition(": ")
    with serve():
        found = importlib.import_module(module)
        assert all(hasattr(found, name) for name in names.split())


def test_gradients_of_a_convolution_are_those_that_backward_gives():
    x, w = torch.rand(1, 2, 5, 5, requires_grad=True), torch.rand(3, 2, 3, 3, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, stride=2)
    y.sum().backward()
    ones = torch.ones_like(y)
    assert torch.allclose(torch.nn.grad.conv2d_input(x.shape, w, ones, stride=2), x.grad)
    assert torch.allclose(torch.nn.grad.conv2d_weight(x, w.shape, ones, stride=2), w.grad)


def test_the_elements_of_an_uninitialized_parameter_are_not_counted():
    layer = torch.nn.LazyLinear(2)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        sum(p.numel() for p in layer.parameters())
    layer(torch.ones(1, 3))
    assert sum(p.numel() for p in layer.parameters()) == 8
