"""A list is the index that PyTorch takes it for: a tuple, or positions along the first dimension."""

import json
import warnings

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.running.record_list_indices import EXPECTED, answers, indices

KNOWN = json.loads(EXPECTED.read_text())


@for_each("index", indices())
def test_an_index_selects_and_writes_what_it_does_in_pytorch(index: str) -> None:
    assert answers(index, torch) == KNOWN[index]


def test_the_warning_names_the_line_of_the_script() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        torch.zeros(2, 2)[[[0], [1]]]
        torch.zeros(2, 2)[[[0], [1]]] = 1
    assert [w.filename for w in given] == [__file__, __file__]
