"""The plain arguments of an operation in a picture: short, and without what goes without saying."""

from __future__ import annotations

import pytest

from autograph_cli.graph import Node, Saved
from autograph_cli.graph.arguments import arguments_text

SHAPES = ((2, 3, 8, 8), (4, 3, 5, 5))


@pytest.mark.parametrize(
    ("op", "saved", "text"),
    [
        ("pow", {"exponent": "2"}, "2"),
        ("pow", {"exponent": "0.5"}, "0.5"),
        ("mul", {"other": "3"}, "× 3"),
        ("mul", {}, ""),
        ("div", {"other": "2.0"}, "÷ 2"),
        ("add", {"alpha": "1"}, ""),
        ("transpose", {"dim0": "0", "dim1": "-1"}, "0, -1"),
        ("native_batch_norm", {"training": "False", "eps": "1e-05"}, "training False"),
        ("mkldnn_rnn_layer", {"reverse": "False", "train": "True"}, ""),
        ("sub", {"alpha": "2"}, "alpha 2"),
        ("sum", {"self_sym_sizes": "(3, 4)", "dim": "(1,)", "keepdim": "False"}, "dim 1"),
        ("mean", {"dim": "(-1, -2)", "keepdim": "True"}, "dim -1, -2, keepdim"),
        ("cat", {"dim": "1", "tensors_args_scalartypes": "()"}, "dim 1"),
        ("convolution", {"stride": "(2, 2)", "padding": "(1, 1)", "dilation": "(1, 1)", "groups": "1"}, "5×5 s2 p1"),
        (
            "convolution",
            {"stride": "(1, 1)", "padding": "(0, 2)", "transposed": "True", "groups": "4"},
            "5×5 p0×2 g4 transposed",
        ),
        ("max_pool2d_with_indices", {"kernel_size": "(2, 2)", "stride": "(2, 2)", "padding": "(0, 0)"}, "2×2"),
        ("max_pool2d_with_indices", {"kernel_size": "(3, 3)", "stride": "(2, 2)", "padding": "(1, 1)"}, "3×3 s2 p1"),
        ("slice", {"dim": "0", "start": "0", "end": "2", "step": "1"}, "dim 0, :2"),
        ("slice", {"dim": "1", "start": "1", "end": "9223372036854775807", "step": "2"}, "dim 1, 1::2"),
        ("select", {"dim": "0", "index": "-1"}, "dim 0, index -1"),
        ("leaky_relu", {"negative_slope": "0.01"}, "negative_slope 0.01"),
        ("nll_loss_forward", {"reduction": "2", "ignore_index": "-100"}, "sum"),
        ("addmm", {"mat1": "packed by a hook", "alpha": "1"}, ""),
        ("mul", {"other": "packed by a hook"}, ""),
        ("index", {"indices": "not Python: <x>"}, "indices not Python: <x>"),
    ],
)
def test_arguments_are_told_as_a_person_would(op: str, saved: dict[str, str], text: str) -> None:
    kept = tuple(Saved(f"_saved_{name}", value=value) for name, value in saved.items())
    assert arguments_text(Node(0, "operation", "", op, (), saved=kept), SHAPES) == text


def test_of_a_long_list_the_first_arguments_are_told_whole() -> None:
    kept = tuple(Saved(f"_saved_option{number}", value="12345") for number in range(9))
    node = Node(0, "operation", "", "anything", (), saved=kept)
    assert arguments_text(node) == "option0 12345, …"
    assert arguments_text(node, room=20) == "option0 12345, …"
    assert arguments_text(node, room=5) == ""
