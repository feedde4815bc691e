"""Every node shows what it saved under PyTorch's names, with PyTorch's values, also when the graph was freed."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.tape.record_saved import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@for_each("code", RECORDED)
def test_nodes_show_what_pytorchs_show(code):
    found = observe(torch, code)
    assert {name: found.get(name) for name in RECORDED[code]} == RECORDED[code]


def test_dir_of_a_node_is_pytorchs():
    x = torch.ones(2, requires_grad=True)
    assert (
        [name for name in dir((x * x).grad_fn) if not name.startswith("__")]
        == """
            _input_metadata _raw_saved_other _raw_saved_self _saved_other _saved_self _sequence_nr _set_sequence_nr
            metadata name next_functions register_hook register_prehook requires_grad
        """.split()
    )


def test_an_item_of_a_saved_list_takes_hooks():
    x = torch.arange(4.0).requires_grad_()
    y = x[torch.tensor([0, 1]),]
    seen = []
    y.grad_fn._raw_saved_indices[0].register_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t + 1)
    y.sum().backward()
    assert seen == [[0, 1]] and x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]
