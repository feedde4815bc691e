"""Datasets, samplers and loaders; orders and batches against what PyTorch gave (record_data.py writes it)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch.utils import data
from tests.conftest import ROOT
from tests.processes import PATIENCE
from tests.torch.utils.record_data import EXPECTED, observe

RECORDED = json.loads(EXPECTED.read_text())
Pair = namedtuple("Pair", "x y")
pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore:This process .* is multi-threaded"
)


@pytest.fixture(scope="module")
def observed():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return observe(torch)


@pytest.mark.parametrize("name", RECORDED)
def test_order_and_batches_are_those_of_pytorch(name, observed):
    assert observed[name] == RECORDED[name]


class Made(data.Dataset):
    """A dataset of one function."""

    def __init__(self, length, function):
        self.length, self.function = length, function

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.function(i)


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(3))


def fails(i):
    if i == 3:
        raise ValueError(f"sample {i} is bad")
    return i


# ---------------------------------------------------------------- collating


@pytest.mark.parametrize(
    "batch, expected",
    [
        ([torch.ones(2), torch.zeros(2)], torch.tensor([[1.0, 1.0], [0.0, 0.0]])),
        ([1, 2], torch.tensor([1, 2])),
        ([1.0, 2.0], torch.tensor([1.0, 2.0], dtype=torch.float64)),
        ([True, False], torch.tensor([True, False])),
        ([np.float32(1), np.float32(2)], torch.tensor([1.0, 2.0])),
        ([np.ones(2), np.zeros(2)], torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64)),
    ],
)
def test_samples_become_one_tensor(batch, expected):
    found = data.default_collate(batch)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)


def test_containers_are_collated_part_by_part():
    assert repr(data.default_collate([Pair(1, "a"), Pair(2, "b")])) == "Pair(x=tensor([1, 2]), y=('a', 'b'))"
    assert repr(data.default_collate([[1, 2], [3, 4]])) == "[tensor([1, 3]), tensor([2, 4])]"
    assert repr(data.default_collate([{"x": (1, b"a")}, {"x": (2, b"b")}])) == "{'x': [tensor([1, 2]), (b'a', b'b')]}"


@pytest.mark.parametrize(
    "batch, kind, text",
    [
        (
            [None],
            TypeError,
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>",
        ),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([torch.ones(2), torch.ones(3)], RuntimeError, "stack expects each tensor to be equal size"),
    ],
)
def test_what_cannot_be_collated_is_named(batch, kind, text):
    with pytest.raises(kind, match=text):
        data.default_collate(batch)


def test_without_batches_arrays_become_tensors():
    found = list(data.DataLoader([{"a": np.ones(2), "b": "x"}], batch_size=None))
    assert repr(found) == "[{'a': tensor([1., 1.], dtype=torch.float64), 'b': 'x'}]"


# ---------------------------------------------------------------- datasets


def test_datasets_are_joined_and_cut():
    joined = data.TensorDataset(torch.arange(3)) + data.TensorDataset(torch.arange(10, 12))
    assert (
        [int(x[0]) for x in joined]
        if hasattr(joined, "__iter__")
        else [int(joined[i][0]) for i in range(5)] == [0, 1, 2, 10, 11]
    )
    assert (len(joined), int(joined[-1][0])) == (5, 11)
    assert data.Subset("abcde", [1, 3])[1] == "d"
    assert data.StackDataset(x="ab", y=[1, 2])[1] == {"x": "b", "y": 2}
    assert list(data.ChainDataset([Stream(), Stream()])) == [0, 1, 2, 0, 1, 2]


def test_a_dataset_may_give_a_batch_at_once():
    class Many(Made):
        def __getitems__(self, indices):
            return [10 * i for i in indices]

    assert [b.tolist() for b in data.DataLoader(Many(3, None), batch_size=2)] == [[0, 10], [20]]


REFUSED = [
    (lambda: data.DataLoader([1], num_workers=-1), ValueError, "num_workers option should be non-negative"),
    (lambda: data.DataLoader([1], timeout=-1), ValueError, "timeout option should be non-negative"),
    (
        lambda: data.DataLoader([1], prefetch_factor=2),
        ValueError,
        "prefetch_factor option could only be specified in multiprocessing",
    ),
    (
        lambda: data.DataLoader([1], persistent_workers=True),
        ValueError,
        "persistent_workers option needs num_workers > 0",
    ),
    (
        lambda: data.DataLoader([1], batch_sampler=[[0]], shuffle=True),
        ValueError,
        "batch_sampler option is mutually exclusive with",
    ),
    (
        lambda: data.DataLoader([1], batch_size=None, drop_last=True),
        ValueError,
        "batch_size=None option disables auto-batching",
    ),
    (
        lambda: data.DataLoader([1], sampler=[0], shuffle=True),
        ValueError,
        "sampler option is mutually exclusive with shuffle",
    ),
    (
        lambda: data.DataLoader([1], batch_size=0),
        ValueError,
        "batch_size should be a positive integer value, but got batch_size=0",
    ),
    (
        lambda: data.DataLoader(Stream(), shuffle=True),
        ValueError,
        "DataLoader with IterableDataset: expected unspecified shuffle option",
    ),
    (
        lambda: setattr(data.DataLoader([1]), "batch_size", 2),
        ValueError,
        "batch_size attribute should not be set after DataLoader is initialized",
    ),
    (
        lambda: data.DataLoader([1], num_workers=1, multiprocessing_context="x"),
        ValueError,
        "should specify a valid start method",
    ),
    (
        lambda: data.RandomSampler([]),
        ValueError,
        "num_samples should be a positive integer value, but got num_samples=0",
    ),
    (
        lambda: data.random_split([1, 2], [3]),
        ValueError,
        "Sum of input lengths does not equal the length of the input dataset!",
    ),
    (lambda: data.TensorDataset(torch.ones(2), torch.ones(3)), AssertionError, "Size mismatch between tensors"),
    (lambda: data.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
    (lambda: data.ConcatDataset([Stream()]), AssertionError, "ConcatDataset does not support IterableDataset"),
    (lambda: data.Dataset()[0], NotImplementedError, "Subclasses of Dataset should implement __getitem__."),
    (lambda: data.DistributedSampler([1]), ValueError, "Default process group has not been initialized"),
]


@pytest.mark.parametrize("make, kind, text", REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals_are_in_the_words_of_pytorch(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_pin_memory_warns_that_there_is_nothing_to_pin_for():
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        list(data.DataLoader([1], pin_memory=True))


# ---------------------------------------------------------------- workers


def test_workers_know_themselves():
    def ask(i):
        info = data.get_worker_info()
        return info.id, info.num_workers, len(info.dataset), info.seed, os.getpid()

    rows = [[int(x) for x in row] for row in data.DataLoader(Made(4, ask), num_workers=2)]
    assert [row[:3] for row in rows] == [[0, 2, 4], [1, 2, 4], [0, 2, 4], [1, 2, 4]]
    assert rows[1][3] == rows[0][3] + 1
    assert len({row[4] for row in rows} | {os.getpid()}) == 3
    assert data.get_worker_info() is None


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_in_a_sample_is_raised_where_the_batch_is_taken(workers):
    batches = iter(data.DataLoader(Made(6, fails), batch_size=2, num_workers=workers))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(ValueError, match="sample 3 is bad") as caught:
        next(batches)
    if workers:
        assert str(caught.value).startswith(
            "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):"
        )
        assert 'raise ValueError(f"sample {i} is bad")' in str(caught.value)
    assert next(batches).tolist() == [4, 5]


class Fussy(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def test_an_exception_that_cannot_be_made_from_text_becomes_a_runtime_error():
    def fail(i):
        raise Fussy(1, 2)

    with pytest.raises(RuntimeError, match=r"Caught Fussy in DataLoader worker process 0."):
        list(data.DataLoader(Made(1, fail), num_workers=1))


def test_worker_init_fn_runs_first_and_may_fail():
    def init(number):
        os.environ["NUMBER"] = str(number + 5)

    found = list(data.DataLoader(Made(2, lambda i: int(os.environ["NUMBER"])), num_workers=2, worker_init_fn=init))
    assert [x.item() for x in found] == [5, 6]
    with pytest.raises(ZeroDivisionError, match=r"Caught ZeroDivisionError in DataLoader worker process 0."):
        list(data.DataLoader([1], num_workers=1, worker_init_fn=lambda number: 1 // number))


def test_a_worker_that_dies_is_reported():
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(data.DataLoader(Made(2, lambda i: os._exit(3)), num_workers=1))


def test_a_slow_worker_runs_out_of_time():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.1 seconds"):
        list(data.DataLoader(Made(2, lambda i: time.sleep(3600)), num_workers=1, timeout=0.1))


def test_what_cannot_be_sent_is_reported():
    with pytest.raises(AttributeError, match="Caught AttributeError in DataLoader worker process 0"):
        list(data.DataLoader(Made(1, lambda i: lambda: i), num_workers=1, collate_fn=list))


def test_tasks_larger_than_a_pipe_do_not_block():
    loader = data.DataLoader(Made(120_000, int), batch_size=40_000, num_workers=1)
    assert [len(batch) for batch in loader] == [40_000] * 3


def test_persistent_workers_stay_the_same_processes():
    loader = data.DataLoader(Made(2, lambda i: os.getpid()), num_workers=1, persistent_workers=True)
    assert len({pid.item() for _ in range(2) for pid in loader}) == 1


def test_workers_end_with_their_epoch():
    import multiprocessing

    for loader in (data.DataLoader(range(4), num_workers=2), data.DataLoader(range(100), num_workers=2)):
        before = set(multiprocessing.active_children())
        batches = iter(loader)
        next(batches)
        if loader.dataset == range(4):
            list(batches)
        del batches
        assert set(multiprocessing.active_children()) <= before


def test_batches_may_come_in_any_order(tmp_path):
    """The first item waits for the last one, which the other worker makes after it has given another."""

    def made(i):
        if i == 3:
            (tmp_path / "3").touch()
        while i == 0 and not (tmp_path / "3").exists():
            time.sleep(0.1)
        return i

    loader = data.DataLoader(Made(4, made), num_workers=2, in_order=False)
    found = [x.item() for x in loader]
    assert sorted(found) == [0, 1, 2, 3]
    assert found[0] != 0


SCRIPT = """
import time, torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, i):
        if i == 2:
            time.sleep(3600)
        return i

for batch in DataLoader(Slow(), num_workers=2):
    print(batch.item(), flush=True)
"""


def test_ctrl_c_ends_the_script_and_its_workers(tmp_path):
    (tmp_path / "slow.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "autograph_cli", "run", "slow.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() + process.stdout.readline() == "0\n1\n"
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_class_may_have_a_function_of_its_own_that_makes_its_batches():
    from autograph_cli.torch.utils.data._utils.collate import collate, default_collate_fn_map

    class Word(str):
        pass

    joins = {Word: lambda batch, *, collate_fn_map=None: "+".join(batch), **default_collate_fn_map}
    assert repr(collate([{"w": Word("a"), "x": 1.0}, {"w": Word("b"), "x": 2.0}], collate_fn_map=joins)) == (
        "{'w': 'a+b', 'x': tensor([1., 2.], dtype=torch.float64)}"
    )
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collate([1, 2])
