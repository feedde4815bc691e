"""Numbers near the ends of what an integer holds, and arrays that another thread changes: nothing beyond memory is read."""

import subprocess
import sys

import pytest

from autograph_cli import torch
from autograph_cli.torch._compiled import compiled

FAR = 2**63 - 1
X = torch.arange(12.0).reshape(3, 4)

# As PyTorch 2.13 answers.
ANSWERS = {
    "X.tril(FAR).equal(X)": True,
    "X.triu(FAR).equal(torch.zeros(3, 4))": True,
    "X.tril(-FAR - 1).equal(torch.zeros(3, 4))": True,
    "X.triu(-FAR - 1).equal(X)": True,
    "tuple(X.diagonal(FAR).shape)": (0,),
    "tuple(X.diagonal(-FAR - 1).shape)": (0,),
    "tuple(torch.diag(X, 2**31).shape)": (0,),
    "X[:, ::FAR // 2].tolist()": [[0.0], [4.0], [8.0]],
    "X.unfold(1, 4, 2**40).tolist()": [[[0.0, 1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0, 7.0]], [[8.0, 9.0, 10.0, 11.0]]],
    "tuple(torch.where(torch.zeros(0, dtype=torch.bool), torch.ones(0), torch.zeros(0)).shape)": (0,),
    "torch.arange(4)[torch.tensor([1, 3])].tolist()": [1, 3],
    "torch.arange(8.0).view(torch.complex64)[torch.tensor([1, 3])].tolist()": [2 + 3j, 6 + 7j],
}
REFUSED = (
    "torch.ones(4).view(2**62 + 1, 4)",
    "torch.ones(4).view(2**61 + 1, 4)",
    "torch.nn.functional.pad(torch.ones(1, 3), (5, -4))",
    "torch.tensor_split(torch.ones(3), 2**62)",
)


@pytest.mark.parametrize("code", ANSWERS)
def test_what_is_far_outside_is_as_if_it_were_just_outside(code):
    assert eval(code) == ANSWERS[code]


@pytest.mark.parametrize("code", REFUSED)
def test_what_would_be_beyond_memory_is_refused(code):
    with pytest.raises((RuntimeError, MemoryError)):
        eval(code)


RACE = """
import threading
from autograph_cli import torch
index, x, going = torch.zeros(100000, dtype=torch.int64), torch.ones(4), True
rows, grad = torch.ones(100000, 4), torch.ones(100000)

def change():
    while going:
        index.fill_(2**40)
        index.fill_(0)

thread = threading.Thread(target=change)
thread.start()
for turn in range(150):
    for read in (
        lambda: x.gather(0, index), lambda: x[index], lambda: x.scatter(0, index, grad), lambda: x.scatter_add(0, index, grad),
        lambda: x.index_add(0, index, grad), lambda: index.unique(), lambda: torch.nn.functional.nll_loss(rows, index),
        lambda: index.nonzero(),
    ):
        try:
            read()
        except (IndexError, RuntimeError):
            pass
going = False
thread.join()
print("all")
"""


@pytest.mark.skipif(compiled("_kernels.fast_indexing") is None, reason="NumPy's own indexing checks before it reads")
def test_positions_that_another_thread_changes_name_no_other_memory():
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all\n"), done.stderr[-800:]
