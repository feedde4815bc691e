"""Writes `_core/arguments/signatures.txt`: how PyTorch reads the arguments of the functions that the engine has.

`python tests/torch/ops/record_signatures.py`, where PyTorch and PyYAML are installed. The signatures follow from PyTorch's published
schemas (`native_functions.yaml`); a few that it writes by hand are listed here.
"""

import collections
import re
from pathlib import Path

TARGET = Path(__file__).parents[3] / "autograph_cli" / "torch" / "_core" / "arguments" / "signatures.txt"
SPACES = ("torch", "nn", "fft", "linalg", "special", "Tensor")
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False"
BEHIND = tuple(
    """
    alpha_dropout feature_dropout grid_sampler affine_grid_generator poisson_nll_loss embedding_bag kl_div
    margin_ranking_loss hinge_embedding_loss cosine_embedding_loss triplet_margin_loss
    """.split()
)
"""What functions of `torch.nn.functional` hand their arguments to, whether the engine has it by that name or not."""
INNER = ("split", "stft", "_unique2", "unique_dim", "unique_consecutive", "split_with_sizes", "_lu_with_info")
"""What functions of `torch` that PyTorch has in Python hand their arguments to."""
BARE = tuple(
    """
    data_ptr detach detach_ dim element_size get_device is_inference item ndimension nelement numel retain_grad
    storage_offset tolist untyped_storage
    """.split()
)
"""Methods of Tensor that take nothing."""
BY_HAND = {
    "torch": [
        "tensor(PyObject* data, *, ScalarType dtype=None, Device? device=None, bool pin_memory=False, bool requires_grad=False, DimnameList? names=None)",
        "as_tensor(PyObject* data, *, ScalarType dtype=None, Device? device=None)",
        "nonzero(Tensor input, *, bool as_tuple=False, Tensor out=None)",
        "numel(Tensor input)",
        "frombuffer(PyObject* buffer, *, ScalarType dtype, int64_t count=-1, int64_t offset=0, bool requires_grad=False)",
    ],
    "Tensor": [
        *(f"{name}()" for name in BARE),
        "new_tensor(PyObject* data, *, ScalarType dtype=None, Device? device=None, bool requires_grad=False)",
    ],
}

PYTHON = """
F.adaptive_avg_pool2d(.size input)
F.adaptive_avg_pool3d(.size input)
F.adaptive_max_pool2d(.size input)
F.binary_cross_entropy(.size target, .size input, .size? weight)
F.binary_cross_entropy_with_logits(.size target, .size input)
F.dropout1d(.dim input)
F.dropout2d(.dim input)
F.dropout3d(.dim input)
F.embedding_bag(.dtype weight, .is_floating_point input, .size? per_sample_weights, .dim? offsets)
F.gaussian_nll_loss(.size input)
F.glu(.dim input)
F.group_norm(.dim input)
F.huber_loss(.size target, .size input)
F.instance_norm(.size input)
F.interpolate(.dim input)
F.l1_loss(.size target, .size input)
F.linear_cross_entropy(.dim input, .dim linear_weight, .shape target)
F.local_response_norm(.dim input)
F.log_softmax(.log_softmax input)
F.margin_ranking_loss(.dim input1, .dim input2, .dim target)
F.max_unpool1d(.size input, .unsqueeze indices)
F.max_unpool2d(.size input)
F.max_unpool3d(.size input)
F.mse_loss(.size target, .size input)
F.multi_head_attention_forward(.dim query, .dim key, .dim value)
F.normalize(.norm input)
F.smooth_l1_loss(.size target, .size input)
F.softmax(.softmax input)
F.softsign(.abs input)
F.tanhshrink(.tanh input)
F.upsample(.dim input)
F.upsample_bilinear(.dim input)
F.upsample_nearest(.dim input)
norm(.layout input)
split(.split input)
tensordot(.dim a, .dim b)
unravel_index(.is_complex indices)
""".strip()
"""What functions that PyTorch has in Python ask of their tensors first: of something else they say that it lacks it."""


def generated():
    """(space, name) -> signatures, in the order in which they are tried."""
    import torchgen
    from torchgen.gen import parse_native_yaml
    from torchgen.packaged.autograd import gen_python_functions as bindings

    folder = Path(torchgen.__file__).parent / "packaged"
    found, native = (
        {},
        parse_native_yaml(*(str(folder / f"ATen/native/{n}.yaml") for n in ("native_functions", "tags"))),
    )
    bound = [f for f in native.native_functions if bindings.should_generate_py_binding(f)]
    wanted = {s: getattr(bindings, f"is_py_{s}_function") for s in SPACES[:-1]} | {
        "Tensor": bindings.is_py_variable_method
    }
    for space, belongs in wanted.items():
        pairs = bindings.load_signatures(bound, str(folder / "autograd/deprecated.yaml"), method=space == "Tensor")
        groups = collections.defaultdict(list)
        for pair in pairs:
            if belongs(pair.function):
                groups[str(pair.function.func.name.name)].append(pair)
        for name, overloads in groups.items():
            found[space, name] = [g.signature.signature_str(symint=True) for g in bindings.group_overloads(overloads)]
    template = (folder / "autograd/templates/python_variable_methods.cpp").read_text()
    for line in re.findall(r'^ +"([a-z_0-9]+\(.*\)(?:\|deprecated)?)",?$', template, re.MULTILINE):
        found.setdefault(("Tensor", line.partition("(")[0]), []).append(line)
    for space, lines in BY_HAND.items():
        found |= {(space, line.partition("(")[0]): [line] for line in lines}
    return found


def compiled_there(space, name):
    """Return whether real PyTorch's function of that name reads its arguments by these signatures, and the engine has
    it."""
    import torch

    from autograph_cli import torch as ours

    public = name.removeprefix(f"{space}_")
    here = {"torch": ours, "nn": ours.nn.functional, "Tensor": ours.Tensor}.get(space) or getattr(ours, space)
    there = {"torch": torch, "nn": torch._C._nn, "Tensor": torch.Tensor}.get(space) or getattr(torch, space)
    is_builtin = type(getattr(there, public, None)).__name__ in ("builtin_function_or_method", "method_descriptor")
    return is_builtin and (space == "nn" or hasattr(here, public) or name in BEHIND)


def shortened(line):
    return line.replace(OPTIONS, "TensorOptions").replace("c10::string_view", "str").replace("int64_t", "int")


def as_method(line):
    """The signature of the method that goes with a function: without the tensor itself and `out`."""
    line = re.sub(r"\(Tensor (input|self)(, |\))", lambda m: "(" if m[2] == ", " else "()", line, count=1)
    return re.sub(r"(, )?Tensor out=None", "", line).replace(", *)", ")").replace("(*)", "()").replace("*, )", ")")


def main():
    lines = []
    found = generated()
    for space in SPACES:
        lines.append(f"[{space}]")
        for (where, name), signatures in sorted(found.items()):
            if where != space or not compiled_there(space, name) or name.startswith("_foreach_"):
                continue
            if (
                space == "Tensor"
                and [*map(as_method, found.get(("torch", name), []))] == signatures
                and compiled_there("torch", name)
            ):
                lines.append(name)
            else:
                lines += map(shortened, signatures)
    lines.append("[inner]")
    for name in INNER:
        lines += map(shortened, found["torch", name])
    TARGET.write_text("\n".join([*lines, "[python]", *PYTHON.split("\n")]) + "\n")
    print(f"{len(lines)} lines")


if __name__ == "__main__":
    main()
