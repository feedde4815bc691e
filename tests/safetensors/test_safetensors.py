"""safetensors files: the same bytes as the package writes, and nothing else is taken for one."""

import json
import os
import stat
import struct
import time

import numpy as np
import pytest

from autograph_cli import safetensors, torch
from autograph_cli.safetensors import SafetensorError, numpy as arrays, safe_open
from autograph_cli.safetensors.torch import load, load_file, load_model, save, save_file, save_model
from tests.safetensors.record_file import EXPECTED, METADATA, tensors


def same(ours, theirs):
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and torch.equal(ours, theirs)


# ---------------------------------------------------------------- both directions


def test_what_the_package_wrote_is_read():
    found, wanted = load_file(EXPECTED), tensors(torch)
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if not same(found[name], wanted[name])] == []


def test_the_bytes_are_those_of_the_package(tmp_path):
    assert save(tensors(torch), METADATA) == EXPECTED.read_bytes()
    save_file(tensors(torch), tmp_path / "x.safetensors", METADATA)
    assert (tmp_path / "x.safetensors").read_bytes() == EXPECTED.read_bytes()


def test_the_package_itself_agrees(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    data = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True, False]), "n": torch.tensor(3)}
    save_file(data, tmp_path / "ours", {"note": "ü"})
    found = package.load_file(tmp_path / "ours")
    assert {name: array.tolist() for name, array in found.items()} == {
        name: tensor.tolist() for name, tensor in data.items()
    }
    package.save_file({"z": np.arange(4)[::2].copy()}, tmp_path / "theirs")
    assert load_file(tmp_path / "theirs")["z"].tolist() == [0, 2]


def test_loaded_tensors_are_free_to_change():
    data = save({"a": torch.zeros(2), "b": torch.ones(2)})
    found = load(data)
    found["a"].add_(5)
    assert found["b"].tolist() == [1, 1]
    assert load(data)["a"].tolist() == [0, 0]


def test_parameters_and_slices_that_do_not_overlap_may_be_written():
    x = torch.arange(6.0).reshape(2, 3)
    found = load(save({"p": torch.nn.Parameter(torch.ones(2)), "first": x[0], "second": x[1]}))
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "p": [1, 1],
        "first": [0, 1, 2],
        "second": [3, 4, 5],
    }
    assert not found["p"].requires_grad


def test_arrays_have_the_same_files(tmp_path):
    data = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.float64(2.5)}
    arrays.save_file(data, tmp_path / "x", {"k": "v"})
    assert (tmp_path / "x").read_bytes() == save(
        {"w": torch.arange(6.0).reshape(2, 3), "n": torch.tensor(2.5).double()}, {"k": "v"}
    )
    assert {name: array.tolist() for name, array in arrays.load_file(tmp_path / "x").items()} == {
        "w": [[0, 1, 2], [3, 4, 5]],
        "n": 2.5,
    }
    assert arrays.load(arrays.save(data))["n"].shape == ()


# ---------------------------------------------------------------- opened files


@pytest.fixture
def opened(tmp_path):
    save_file({"b": torch.arange(4), "a": torch.arange(6.0).reshape(2, 3)}, tmp_path / "x", {"format": "pt"})
    with safe_open(tmp_path / "x", framework="pt") as file:
        yield file


def test_an_open_file_says_what_is_in_it(opened):
    assert (opened.keys(), opened.offset_keys(), opened.metadata()) == (["a", "b"], ["b", "a"], {"format": "pt"})
    assert opened.get_tensor("b").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "index", [0, -1, slice(1, None), (slice(None), slice(1, 2)), (0, 1), ..., (slice(None), slice(None, None, 2))]
)
def test_a_slice_reads_a_part(opened, index):
    part = opened.get_slice("a")
    assert (part.get_shape(), part.get_dtype()) == ([2, 3], "F32")
    assert same(part[index], torch.arange(6.0).reshape(2, 3)[index])


def test_slices_of_arrays_are_arrays(tmp_path):
    save_file({"a": torch.arange(4), "none": torch.zeros(0)}, tmp_path / "x")
    with safe_open(tmp_path / "x", framework="numpy") as file:
        assert isinstance(file.get_slice("a")[1:], np.ndarray)
        assert file.get_tensor("a").tolist() == [0, 1, 2, 3]
        assert file.get_slice("none")[:].shape == (0,)


@pytest.mark.parametrize(
    "act, kind, text",
    [
        (lambda f: f.get_tensor("c"), SafetensorError, "File does not contain tensor c"),
        (lambda f: f.get_slice("c"), SafetensorError, "File does not contain tensor c"),
        (lambda f: f.get_slice("a")[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (lambda f: (f.__exit__(None, None, None), f.keys()), SafetensorError, "File is closed"),
    ],
)
def test_what_is_not_in_an_open_file(opened, act, kind, text):
    with pytest.raises(kind, match=text):
        act(opened)


def test_files_frameworks_and_devices_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file or directory: /nowhere/x"):
        load_file("/nowhere/x")
    save_file({}, tmp_path / "x")
    with pytest.raises(SafetensorError, match="framework flax is invalid"):
        safe_open(tmp_path / "x", framework="flax")
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        load_file(tmp_path / "x", device="cuda:0")


# ---------------------------------------------------------------- damaged files


def made(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def told(dtype="F32", shape=(2,), position=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(position), **more}


ONE = {"a": told()}
TWIN = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
MALFORMED = {
    "nothing": (b"", "header too small"),
    "less than a length": (bytes(5), "header too small"),
    "no header": (bytes(8), "invalid JSON in header"),
    "a header of a terabyte": (made(ONE, bytes(8), 1 << 40), "header too large"),
    "a header just too long": (made(ONE, bytes(8), 100_000_001), "header too large"),
    "a header beyond the file": (made(ONE, bytes(8), 500), "invalid header length"),
    "no JSON": (made(b"hello!!!"), "invalid JSON in header"),
    "no UTF-8": (made(b'{"\xff":1}'), "invalid UTF-8 in header"),
    "half a letter": (
        made(b'{"\\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        "invalid JSON in header",
    ),
    "a list": (made([1]), "invalid JSON in header"),
    "more after the header": (made(json.dumps(ONE).encode() + b"x", bytes(8)), "invalid JSON in header"),
    "a deep nest": (made(b'{"a":' + b"[" * 99999 + b"]" * 99999 + b"}"), "invalid JSON in header"),
    "no number": (made(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,8]}}', bytes(8)), "NaN is not JSON"),
    "a tensor cut off": (made(ONE, bytes(4)), "file not fully covered"),
    "bytes of no tensor": (made(ONE, bytes(12)), "file not fully covered"),
    "bytes without tensors": (made({}, bytes(8)), "file not fully covered"),
    "a hole": (made({"a": told(), "b": told(position=(12, 20))}, bytes(20)), "invalid offset for tensor `b`"),
    "an overlap": (made({"a": told(), "b": told(position=(4, 12))}, bytes(12)), "invalid offset for tensor `b`"),
    "the same bytes twice": (made({"a": told(), "b": told()}, bytes(8)), "invalid offset for tensor"),
    "an end before its beginning": (made({"a": told(position=(8, 0))}, bytes(8)), "invalid offset for tensor `a`"),
    "a first gap": (made({"a": told(position=(4, 12))}, bytes(12)), "invalid offset for tensor `a`"),
    "another shape": (made({"a": told(shape=(3,))}, bytes(8)), "invalid shape, data type, or offset"),
    "a dtype of no kind": (made({"a": told("F128")}, bytes(8)), "unknown variant `F128`"),
    "a dtype that is no text": (made({"a": told(["F32"])}, bytes(8)), "unknown variant"),
    "a negative length": (made({"a": told(shape=(-2,))}, bytes(8)), "should be numbers from 0 on"),
    "half a length": (made({"a": told(shape=(2.0,))}, bytes(8)), "should be numbers from 0 on"),
    "a length of true": (made({"a": told(shape=(True,), position=(0, 4))}, bytes(4)), "should be numbers from 0 on"),
    "a length beyond all memory": (made({"a": told(shape=(1 << 70,))}, bytes(8)), "should be numbers from 0 on"),
    "lengths beyond all memory": (
        made({"a": told(shape=(1 << 40, 1 << 40))}, bytes(8)),
        "overflow computing buffer size",
    ),
    "a shape that is a number": (made({"a": {**told(), "shape": 2}}, bytes(8)), "should be numbers from 0 on"),
    "three offsets": (made({"a": told(position=(0, 8, 9))}, bytes(8)), "should be numbers from 0 on"),
    "no dtype": (made({"a": {"shape": [2], "data_offsets": [0, 8]}}, bytes(8)), "missing field `dtype`"),
    "a tensor that is text": (made({"a": "b"}), "is not described by an object"),
    "a name twice": (made(TWIN, bytes(8)), "duplicate name `a`"),
    "a field twice": (
        made(b'{"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        "duplicate name `shape`",
    ),
    "notes that are no text": (made({"__metadata__": {"a": 1}, **ONE}, bytes(8)), "__metadata__ should hold text"),
    "notes without names": (made({"__metadata__": ["a"], **ONE}, bytes(8)), "__metadata__ should hold text"),
    **{
        f"an empty shape {shape}": (made({"a": told(kind, shape, (0, 0))}), "no array has the shape ")
        for kind in ("F32", "BOOL", "BF16")
        for shape in ((0, 1 << 63), (0, (1 << 64) - 1), (0, 1 << 62, 1 << 62))
    },
    "a dtype of elsewhere": (
        made({"a": told("F6_E2M3", (8,))}, bytes(8)),
        "dtype F6_E2M3 is not available in autograph's engine",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_one_clear_error(tmp_path, name):
    data, text = MALFORMED[name]
    (tmp_path / "x").write_bytes(data)
    for read in (lambda: load(data), lambda: load_file(tmp_path / "x")):
        with pytest.raises(SafetensorError, match=text):
            read()


@pytest.mark.parametrize(
    "header, data",
    [
        ({}, b""),
        ({"a": told(shape=(), position=(0, 4))}, bytes(4)),
        ({"a": told(shape=(0, 3), position=(0, 0))}, b""),
        ({"a": told(more=1)}, bytes(8)),
        (b"  " + json.dumps(ONE).encode() + b"  ", bytes(8)),
        ({"__metadata__": None, **ONE}, bytes(8)),
        ({"b": told(position=(8, 16)), **ONE}, bytes(16)),
    ],
)
def test_unusual_files_that_the_package_reads_are_read(header, data):
    assert set(load(made(header, data))) == {
        name for name in (ONE if isinstance(header, bytes) else header) if name != "__metadata__"
    }


def test_every_byte_but_zero_is_true():
    assert load(made({"a": told("BOOL", (4,), (0, 4))}, b"\0\1\2\xff"))["a"].tolist() == [False, True, True, True]


# ---------------------------------------------------------------- what is not written

X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "act, kind, text",
    [
        (lambda: save([X]), ValueError, r"Expected a dict of \[str, torch.Tensor\] but received <class 'list'>"),
        (lambda: save({"a": 3}), ValueError, "Key `a` is invalid, expected torch.Tensor but received <class 'int'>"),
        (lambda: save({1: X}), TypeError, "1 is not an instance of 'str'"),
        (lambda: save({"a": X}, {"n": 1}), TypeError, "1 is not an instance of 'str'"),
        (lambda: save({"__metadata__": X}), ValueError, "no tensor can have the name __metadata__"),
        (lambda: save({"a": X.T}), ValueError, "You are trying to save a non contiguous tensor: `a`"),
        (lambda: save({"a": X.expand(2, 2, 3)}), ValueError, "You are trying to save a non contiguous tensor: `a`"),
        (lambda: save({"a": X, "b": X}), RuntimeError, r"Some tensors share memory.*: \[{'a', 'b'}\]"),
        (
            lambda: save({"a": X, "c": X.clone(), "b": X[0]}),
            RuntimeError,
            r"Some tensors share memory.*: \[{'a', 'b'}\]",
        ),
        (lambda: save({"a": X.to(torch.complex128)}), KeyError, "complex128 has no place in a safetensors file"),
        (lambda: save_file({"a": X}, "/nowhere/x"), SafetensorError, "Error while serializing: I/O error"),
        (lambda: load("text"), TypeError, "'str' object is not an instance of 'bytes'"),
    ],
)
def test_what_cannot_be_written_says_why(act, kind, text):
    with pytest.raises(kind, match=text):
        act()


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "x"
    save_file({"a": X}, path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_file({"a": X * 2}, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


# ---------------------------------------------------------------- modules


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2, bias=False)
        self.b = torch.nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight


def test_tied_parameters_are_written_once(tmp_path):
    model, other = Tied(), Tied()
    with pytest.raises(RuntimeError, match="A potential way to correctly save your model is to use `save_model`"):
        save_file(model.state_dict(), tmp_path / "x")
    save_model(model, tmp_path / "x", {"note": "tied"})
    with safe_open(tmp_path / "x", framework="pt") as file:
        assert (file.keys(), file.metadata()) == (["a.weight"], {"note": "tied", "b.weight": "a.weight"})
    assert load_model(other, tmp_path / "x") == (set(), [])
    assert torch.equal(other.b.weight, model.a.weight)


def test_a_module_says_what_does_not_fit(tmp_path):
    save_model(Tied(), tmp_path / "x")
    text = r'in loading state_dict for Linear:\n    Missing key\(s\) in state_dict: "bias", "weight"\n    Unexpected key\(s\) in state_dict: "a.weight"'
    with pytest.raises(RuntimeError, match=text):
        load_model(torch.nn.Linear(2, 2), tmp_path / "x")
    assert load_model(torch.nn.Linear(2, 2), tmp_path / "x", strict=False) == ({"bias", "weight"}, ["a.weight"])


def test_tensors_of_which_none_is_the_whole_are_refused(tmp_path):
    model = torch.nn.Module()
    whole = torch.zeros(6)
    model.register_buffer("a", whole[:4])
    model.register_buffer("b", whole[2:])
    with pytest.raises(RuntimeError, match="None is covering the entire storage"):
        save_model(model, tmp_path / "x")


def test_scripts_import_it_by_its_own_name(autograph, tmp_path):
    (tmp_path / "s.py").write_text(
        "import torch, safetensors\nfrom safetensors.torch import load_file, safe_open, save_file\nfrom safetensors import SafetensorError\n"
        "model = torch.nn.Linear(2, 1)\nsave_file(model.state_dict(), 'm.safetensors', {'a': 'b'})\n"
        "print(model.load_state_dict(load_file('m.safetensors')))\n"
        "with safe_open('m.safetensors', framework='pt', device='cpu') as f: print(f.metadata())\n"
    )
    done = autograph("run", "-q", "s.py")
    assert done.stdout.splitlines()[:2] == ["<All keys matched successfully>", "{'a': 'b'}"], done.stderr


def test_other_names_are_one_clear_error():
    with pytest.raises(AttributeError, match=r"safetensors.serialize is not available in autograph's engine yet"):
        safetensors.serialize


def test_tensors_of_a_file_come_in_the_order_in_which_they_lie_there(tmp_path):
    save_file({"b": torch.ones(2), "z": torch.ones(3, dtype=torch.int64), "a": torch.ones(1)}, tmp_path / "x")
    assert list(load_file(tmp_path / "x")) == list(arrays.load_file(tmp_path / "x")) == ["z", "a", "b"]


COSTLY = {
    "many lengths": {"a": {"dtype": "F32", "shape": [1 << 61] * 200_000, "data_offsets": [0, 0]}},
    "many dimensions": {"a": {"dtype": "F32", "shape": [1] * 200_000, "data_offsets": [0, 4]}},
    "long dtype": {"a": {"dtype": "x" * 1_000_000, "shape": [], "data_offsets": [0, 4]}},
    "long name": {"a" * 1_000_000: 5},
}


@pytest.mark.parametrize("what", [*COSTLY, "double name", "deep dtype"])
def test_large_headers_are_refused_at_once_and_in_few_words(what):
    names = "".join(f'"{n}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}},' for n in range(50_000))
    header = {
        "double name": "{" + names + '"49999": 0}',
        "deep dtype": '{"a":{"dtype":' + "[" * 900 + "]" * 900 + ',"shape":[],"data_offsets":[0,0]}}',
    }.get(what) or json.dumps(COSTLY[what])
    began = time.process_time()
    with pytest.raises(SafetensorError) as caught:
        load(made(header.encode()))
    assert time.process_time() - began < 5
    assert len(str(caught.value)) < 1_000
