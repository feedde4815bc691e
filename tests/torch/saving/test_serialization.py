"""`torch.save` and `torch.load`: the file format, shared memory, positions, damaged files."""

import copy
import io
import os
import pathlib
import pickle
import pickletools
import random
import zipfile

import pytest

from autograph_cli import torch
from tests.torch.saving.record_file import RECORDED, checkpoint, describe


def written(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


def again(obj, **options):
    return torch.load(written(obj), **options)


def same(ours, theirs):
    a, b = describe(ours), describe(theirs)
    assert list(a[1]) == list(b[1])
    for key, value in b[1].items():
        if key not in ("optimizer", "model"):  # the last bit of a step may differ
            assert a[1][key] == value, key


def test_a_file_of_pytorch_is_read():
    same(torch.load(RECORDED), checkpoint(torch))


def test_what_was_saved_is_loaded():
    same(again(checkpoint(torch)), checkpoint(torch))


def test_pytorch_reads_our_files(tmp_path):
    real = pytest.importorskip("torch")
    torch.save(checkpoint(torch), tmp_path / "ours.pt")
    for options in ({}, {"mmap": True}, {"weights_only": False}):
        same(real.load(tmp_path / "ours.pt", **options), torch.load(RECORDED))


def test_pytorch_and_we_read_a_resnet_of_the_other(tmp_path):
    real = pytest.importorskip("torch")
    shapes = {"conv1.weight": (64, 3, 7, 7), "bn1.weight": (64,), "bn1.num_batches_tracked": ()}
    for layer, width in enumerate((64, 128, 256, 512), 1):
        shapes[f"layer{layer}.0.conv1.weight"] = (width, width // 2 if layer > 1 else width, 3, 3)
    for writer, reader in ((torch, real), (real, torch)):
        state = {name: writer.full(shape, float(i)) for i, (name, shape) in enumerate(shapes.items())}
        writer.save(state, tmp_path / "resnet.pt")
        found = reader.load(tmp_path / "resnet.pt")
        assert {name: (tuple(t.shape), t.sum().item()) for name, t in found.items()} == {
            name: (tuple(t.shape), t.sum().item()) for name, t in state.items()
        }


def test_records_lie_as_pytorch_lays_them():
    file = written([torch.ones(3), torch.ones(100)])
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == [
            f"archive/{name}"
            for name in (
                "data.pkl",
                ".format_version",
                ".storage_alignment",
                "byteorder",
                "data/0",
                "data/1",
                "version",
            )
        ]
    for name, at in (("data/0", 12), ("data/1", 400)):
        data = file.getvalue()
        start = data.index(f"archive/{name}".encode()) - 30
        begin = (
            start
            + 30
            + int.from_bytes(data[start + 26 : start + 28], "little")
            + int.from_bytes(data[start + 28 : start + 30], "little")
        )
        assert begin % 64 == 0
        assert data[begin : begin + at] == b"\x00\x00\x80?" * (at // 4)


def test_shared_memory_stays_shared():
    x = torch.zeros(4)
    found = again({"all": x, "half": x[:2], "same": x})
    found["half"].fill_(1.0)
    assert found["all"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert found["same"] is found["all"]


def test_what_shares_memory_is_written_once():
    x = torch.zeros(100_000)
    assert len(written([x, x[1:], x.reshape(100, 1000).t()]).getvalue()) < 500_000


def test_dtypes_that_share_memory_are_refused():
    z = torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(
        RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"
    ):
        written([z, torch.view_as_real(z)])


def test_loaded_tensors_can_be_changed():
    found = again(torch.zeros(2))
    found.add_(1)
    assert found.tolist() == [1.0, 1.0]


def test_training_goes_on_from_a_checkpoint():
    def step(model, optimizer):
        optimizer.zero_grad()
        (model(torch.ones(2, 2)) ** 2).sum().backward()
        optimizer.step()

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    step(model, optimizer)
    found = again({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other = torch.nn.Linear(2, 1)
    resumed = torch.optim.Adam(other.parameters())
    other.load_state_dict(found["model"])
    resumed.load_state_dict(found["optimizer"])
    step(model, optimizer)
    step(other, resumed)
    assert torch.equal(model.weight, other.weight)


def test_a_whole_module_needs_trust():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with pytest.raises(
        Exception, match=r"Unsupported global: GLOBAL torch.nn.modules.container.Sequential was not an allowed"
    ):
        again(model)
    assert torch.equal(again(model, weights_only=False)(torch.ones(2)), model(torch.ones(2)))


# ---------------------------------------------------------------- where


@pytest.mark.parametrize("position", [str, pathlib.Path])
def test_paths_of_both_kinds(tmp_path, position):
    torch.save([2], position(tmp_path / "a.pt"))
    assert torch.load(position(tmp_path / "a.pt")) == [2]


def test_the_folder_in_the_archive_has_the_name_of_the_file(tmp_path):
    torch.save(1, tmp_path / "model.best.pt")
    with zipfile.ZipFile(tmp_path / "model.best.pt") as archive:
        assert archive.namelist()[0] == "model.best/data.pkl"


def test_a_file_may_begin_after_something_else():
    file = io.BytesIO(b"header" + written([1, 2]).getvalue())
    file.seek(6)
    assert torch.load(file) == [1, 2]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    with pytest.raises(Exception, match="pickle"):
        torch.save({"x": torch.ones(10), "f": lambda: 0}, path)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_new_file_has_ordinary_permissions(tmp_path):
    torch.save(1, tmp_path / "a.pt")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a.pt").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_link_goes_on_pointing(tmp_path):
    (tmp_path / "link.pt").symlink_to(tmp_path / "real.pt")
    torch.save(1, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink()
    assert torch.load(tmp_path / "real.pt") == 1


def test_mapped_tensors_are_read_from_the_file_and_changed_in_memory(tmp_path):
    path = tmp_path / "a.pt"
    torch.save([torch.arange(4.0), torch.empty(0)], path)
    found, empty = torch.load(path, mmap=True)
    found += 1
    assert (found.tolist(), empty.shape) == ([1.0, 2.0, 3.0, 4.0], (0,))
    assert torch.load(path)[0].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "where",
    ["cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage, lambda storage, location: None],
)
def test_map_location_to_the_cpu(where):
    assert again(torch.ones(2), map_location=where).tolist() == [1.0, 1.0]


def on_cuda():
    data = written(torch.ones(2)).getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    records["archive/data.pkl"] = records["archive/data.pkl"].replace(
        b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, record in records.items():
            archive.writestr(name, record)
    file.seek(0)
    return file


def test_tensors_of_a_gpu_need_map_location():
    with pytest.raises(
        RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch.cuda.is_available"
    ):
        torch.load(on_cuda())
    for where in ("cpu", {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert torch.load(on_cuda(), map_location=where).tolist() == [1.0, 1.0]


# ---------------------------------------------------------------- refused


REFUSED = [
    (lambda p: torch.save(1, p / "no" / "a.pt"), RuntimeError, "Parent directory .* does not exist."),
    (
        lambda p: torch.save(1, 3),
        AttributeError,
        "expected 'f' to be string, path, or a file-like object with a 'write' attribute",
    ),
    (lambda p: written(torch.nn.UninitializedParameter()), RuntimeError, "uninitialized parameters cannot be saved"),
    (lambda p: torch.load(p / "missing.pt"), FileNotFoundError, "No such file"),
    (lambda p: torch.load(io.BytesIO()), EOFError, "Ran out of input"),
    (lambda p: torch.load(io.BytesIO(b"hello world")), RuntimeError, r"Invalid magic number; corrupt file\?"),
    (lambda p: torch.load(3), AttributeError, "You can only torch.load from a file that is seekable"),
    (
        lambda p: torch.load(written(1), mmap=True),
        ValueError,
        "f must be a file path in order to use the mmap argument",
    ),
    (
        lambda p: again(torch.ones(1), map_location="cuda"),
        RuntimeError,
        "Attempting to deserialize object on a CUDA device",
    ),
    (lambda p: again(torch.ones(1), map_location="mps"), RuntimeError, "don't know how to restore data location"),
]


@pytest.mark.parametrize("act, kind, text", REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals_name_the_reason(act, kind, text, tmp_path):
    with pytest.raises(kind, match=text):
        act(tmp_path)


def test_a_truncated_file_gives_one_clear_error():
    data = written({"w": torch.arange(20.0), "n": [1, "two"]}).getvalue()
    for length in range(4, len(data), 37):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
            torch.load(io.BytesIO(data[:length]))


def test_a_flipped_bit_is_found_or_harmless():
    whole = {"w": torch.arange(20.0), "n": [1, "two"]}
    data = written(whole).getvalue()
    chance = random.Random(0)
    found = 0
    for _ in range(200):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            loaded = torch.load(io.BytesIO(bytes(damaged)))
        except RuntimeError as error:
            assert type(error) is RuntimeError
            found += 1
        else:
            assert describe(loaded) == describe(whole)
    assert found > 50


SPARSE = {
    "coo": lambda: torch.eye(2).to_sparse(),
    "not coalesced": lambda: torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)),
    "hybrid": lambda: torch.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
    "csr": lambda: torch.eye(2).to_sparse_csr(),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_tensors_are_saved_pickled_and_copied(kind):
    x = SPARSE[kind]()
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for again in (torch.load(file), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert repr(again) == repr(x)
        assert kind == "csr" or again.is_coalesced() == x.is_coalesced()


def test_pytorch_reads_the_indices_and_the_values_of_a_sparse_tensor():
    """The pickle is what PyTorch writes: a call with the layout, two tensors, the size, and whether it is coalesced."""
    file = io.BytesIO()
    torch.save(SPARSE["coo"](), file)
    with zipfile.ZipFile(file) as made:
        text = made.read(next(name for name in made.namelist() if name.endswith("data.pkl")))
    names = [f"{arg}" for op, arg, _ in pickletools.genops(text) if op.name in ("GLOBAL", "BINUNICODE")]
    assert names[:3] == ["torch._utils _rebuild_sparse_tensor", "torch.serialization _get_layout", "torch.sparse_coo"]
