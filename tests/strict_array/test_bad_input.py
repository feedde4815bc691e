"""What goes wrong on a GPU is said in one sentence: no memory left, a GPU that is not there, a process that was forked."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autograph_cli import torch
from autograph_cli.cli.main import main

pytestmark = pytest.mark.usefixtures("gpu")
NOT_THERE: dict[str, Callable[[], Any]] = {
    "device=": lambda: torch.ones(1, device="cuda:7"),
    "a number": lambda: torch.ones(1, device=7),
    "to": lambda: torch.ones(1).to("cuda:7"),
    "cuda": lambda: torch.ones(1).cuda(7),
    "module": lambda: torch.nn.Linear(1, 1).to("cuda:7"),
    "set_device": lambda: torch.cuda.set_device(7),
    "with device": lambda: torch.cuda.device(7).__enter__(),
    "set_default_device": lambda: torch.set_default_device("cuda:7") or torch.ones(1),
    "Stream": lambda: torch.cuda.Stream(device=7),
    "memory": lambda: torch.cuda.memory_allocated(7),
    "properties": lambda: torch.cuda.get_device_properties(7),
    "synchronize": lambda: torch.cuda.synchronize(7),
    "seed": lambda: torch.cuda.get_rng_state(7),
    "generator": lambda: torch.Generator(device="cuda:7"),
    "map_location": lambda: torch.load(saved(), map_location="cuda:7"),
    "empty_like": lambda: torch.empty_like(torch.ones(1), device="cuda:7"),
}


def saved() -> Any:
    file = io.BytesIO()
    torch.save(torch.ones(1), file)
    file.seek(0)
    return file


@pytest.fixture
def default_device() -> Iterator[None]:
    yield
    torch.set_default_device(None)


@pytest.mark.usefixtures("default_device")
@pytest.mark.parametrize("name", NOT_THERE)
def test_a_gpu_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"invalid device ordinal: there is no 'cuda:7', only 1 device\(s\)"):
        NOT_THERE[name]()


FULL = """
import torch
x = torch.ones(1 << 18, device="cuda", requires_grad=True)
for _ in range(2):
    y = (x * 2).sum()
    y.backward()
big = x.exp() + torch.ones(1 << 22, device="cuda")[: 1 << 18]
"""


def test_the_trace_is_kept_where_memory_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = importlib.import_module("cupy").get_default_memory_pool()
    torch.ones(1, device="cuda")
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + (12 << 20))
    (tmp_path / "train.py").write_text(FULL)
    monkeypatch.chdir(tmp_path)
    try:
        answer = CliRunner().invoke(main, ["run", "train.py"])
    finally:
        pool.set_limit(size=0)
    assert answer.exit_code == 2
    assert "OutOfMemoryError: CUDA out of memory. Out of memory allocating 16,777,216 bytes" in answer.output
    assert "are held by tensors" in answer.output
    kept = CliRunner().invoke(main, ["show"])
    assert kept.exit_code == 0 and "exp(x)" in kept.output


TOUCHES: dict[str, Callable[[Any], Any]] = {
    "makes a tensor": lambda x: torch.ones(1, device="cuda"),
    "moves one there": lambda x: torch.ones(1).cuda(),
    "computes with one": lambda x: x + 1,
    "changes one": lambda x: x.add_(1),
    "reads one": lambda x: x.tolist(),
    "takes a part of one": lambda x: x[0].item(),
    "runs backward": lambda x: x.detach().requires_grad_().sum().backward(),
    "draws": lambda x: torch.rand(2, device="cuda"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("name", TOUCHES)
def test_a_forked_process_that_touches_a_gpu_is_told_to_spawn(name: str) -> None:
    x = torch.arange(3.0, device="cuda")
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            TOUCHES[name](x)
            said = "nothing"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writes, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writes)
    with os.fdopen(reads) as file:
        assert file.read().startswith("RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with")
    assert x.tolist() == [0.0, 1.0, 2.0]


class OnGpu(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        return torch.ones(1, device="cuda")


def test_a_worker_of_a_loader_that_touches_a_gpu_says_so() -> None:
    torch.ones(1, device="cuda")
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(torch.utils.data.DataLoader(OnGpu(), num_workers=1, multiprocessing_context="fork"))
