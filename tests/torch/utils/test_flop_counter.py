"""FlopCounterMode counts what PyTorch's does (record_flop_counter.py wrote it down)."""

import json

from autograph_cli import torch
from autograph_cli.torch.utils.flop_counter import FlopCounterMode
from autograph_cli.torch.utils.module_tracker import ModuleTracker
from tests.cases import for_each
from tests.torch.utils.record_flop_counter import EXPECTED, counted

RECORDED = json.loads(EXPECTED.read_text())


@for_each("code", RECORDED)
def test_counts_are_those_of_pytorch(code):
    assert counted(torch, code) == RECORDED[code]


def test_a_formula_of_ones_own():
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.exp: lambda x, out_shape: 7 * x[0]}) as counter:
        torch.ones(3).exp()
    assert counter.get_flop_counts() == {"Global": {torch.ops.aten.exp: 21}}


def test_the_table_names_modules_down_to_a_depth(capsys):
    inner = torch.nn.Sequential(torch.nn.Linear(30, 20))
    with FlopCounterMode(depth=2):
        torch.nn.Sequential(inner, torch.nn.Linear(20, 10))(torch.ones(50, 30))
    assert capsys.readouterr().out.splitlines() == [
        "Module             FLOP    % Total",
        "--------------  -------  ---------",
        "Sequential      80.000K    100.00%",
        " - aten.addmm   80.000K    100.00%",
        " Sequential.0   60.000K     75.00%",
        "  - aten.addmm  60.000K     75.00%",
        " Sequential.1   20.000K     25.00%",
        "  - aten.addmm  20.000K     25.00%",
    ]


def test_without_modules_the_table_has_all():
    with FlopCounterMode(display=False) as counter:
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert counter.get_table().splitlines() == [
        "Module        FLOP    % Total",
        "----------  ------  ---------",
        "Global          48    100.00%",
        " - aten.mm      48    100.00%",
    ]


def test_the_tracker_tells_which_modules_run_backward():
    seen = []
    x = torch.ones(2, requires_grad=True)
    with ModuleTracker() as tracker:
        inner = torch.nn.Identity()
        inner.register_forward_hook(lambda *_: None)
        y = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())(x)
        y.grad_fn.register_prehook(lambda _: seen.append((sorted(tracker.parents), tracker.is_bw)))
        y.sum().backward()
        assert tracker.parents == {"Global"}
        assert not tracker.is_bw
    assert seen == [(["Global", "Sequential", "Sequential.1"], True)]
