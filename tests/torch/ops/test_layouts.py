"""A part of the functions of the engine on tensors that lie in memory in every way; `make sanitize` runs a larger one."""

import os

from tests.torch.ops.layouts import shown, swept

EVERY = int(os.environ.get("AUTOGRAPH_LAYOUTS", "89"))


def test_where_elements_lie_changes_no_result():
    assert [f"{shown(*case)}: {said}" for _, case, said in swept(1, 5, EVERY) if said] == []
