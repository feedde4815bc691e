"""Datasets read their files and nothing else: form, size and checksum, without running what is in a pickle."""

import gzip
import hashlib
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torchvision import datasets, transforms
from autograph_cli.torchvision.datasets.mnist import read_idx


def idx(array, kind=8):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.tobytes()


def md5(data):
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


PICTURES = np.arange(5 * 28 * 28, dtype=np.uint8).reshape(5, 28, 28)
LABELS = np.array([3, 1, 4, 1, 5], dtype=np.uint8)
FILES = {
    "train-images-idx3-ubyte": idx(PICTURES),
    "train-labels-idx1-ubyte": idx(LABELS),
    "t10k-images-idx3-ubyte": idx(PICTURES[:2]),
    "t10k-labels-idx1-ubyte": idx(LABELS[:2]),
}


@pytest.fixture
def mnist(tmp_path):
    """A folder with a small MNIST."""
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return tmp_path


def test_mnist_reads_pictures_and_labels(mnist):
    train, test = datasets.MNIST(mnist), datasets.MNIST(str(mnist), train=False)
    assert (len(train), len(test)) == (5, 2)
    assert train.data.numpy().tolist() == PICTURES.tolist()
    assert train.targets.dtype is torch.int64
    assert train.targets.tolist() == LABELS.tolist()
    assert train.class_to_idx["9 - nine"] == 9
    assert repr(test) == f"Dataset MNIST\n    Number of datapoints: 2\n    Root location: {mnist}\n    Split: Test"


def test_mnist_feeds_a_loader(mnist):
    pytest.importorskip("PIL")
    data = datasets.MNIST(
        mnist, transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    )
    pictures, labels = next(iter(torch.utils.data.DataLoader(data, batch_size=4)))
    assert pictures.shape == (4, 1, 28, 28)
    assert labels.tolist() == [3, 1, 4, 1]
    assert torch.equal(pictures[:, 0], (torch.from_numpy(PICTURES[:4]) / 255 - 0.5) / 0.5)


def test_names_of_old_warn(mnist):
    with pytest.warns(UserWarning, match="train_labels has been renamed targets"):
        assert datasets.MNIST(mnist).train_labels.tolist() == LABELS.tolist()


def test_packed_files_are_read_if_they_are_the_published_ones(mnist, monkeypatch):
    packed = {name: gzip.compress(data) for name, data in FILES.items()}
    for name, data in packed.items():
        (mnist / "MNIST" / "raw" / name).unlink()
        (mnist / "MNIST" / "raw" / f"{name}.gz").write_bytes(data)
    with pytest.raises(RuntimeError, match="is not the published file: its MD5 is"):
        datasets.MNIST(mnist)
    monkeypatch.setattr(datasets.MNIST, "resources", [(f"{name}.gz", md5(data)) for name, data in packed.items()])
    assert datasets.MNIST(mnist).targets.tolist() == LABELS.tolist()


@pytest.mark.parametrize("kind", [datasets.FashionMNIST, datasets.KMNIST])
def test_datasets_of_the_same_form_have_folders_of_their_own(mnist, kind):
    (mnist / "MNIST").rename(mnist / kind.__name__)
    assert len(kind(mnist)) == 5
    assert len(kind.classes) == 10


def test_what_is_not_there_is_said_with_its_place(tmp_path):
    with pytest.raises(RuntimeError, match=r"^Dataset not found\. You can use download=True to download it"):
        datasets.MNIST(tmp_path)


DAMAGED = {
    "empty": b"",
    "another file": b"\x89PNG" + bytes(20),
    "an unknown kind": idx(PICTURES, kind=7),
    "no dimension": b"\0\0\x08\0",
    "the head only": FILES["train-images-idx3-ubyte"][:9],
    "cut off": FILES["train-images-idx3-ubyte"][:-1],
    "too long": FILES["train-images-idx3-ubyte"] + b"x",
    "huge": struct.pack(">BBBB3I", 0, 0, 8, 3, 1 << 31, 1 << 31, 1 << 31),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_damaged_idx_files_are_one_clear_error(tmp_path, name, pack):
    path = tmp_path / ("x.gz" if pack is gzip.compress else "x")
    path.write_bytes(pack(DAMAGED[name]))
    with pytest.raises(RuntimeError, match="is no whole IDX file"):
        read_idx(path)


def test_a_cut_gzip_is_one_clear_error(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(FILES["train-images-idx3-ubyte"])[:-9])
    with pytest.raises(RuntimeError, match="is no whole IDX file"):
        read_idx(tmp_path / "x.gz")


@pytest.mark.parametrize("kind, dtype", [(8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")])
def test_idx_files_hold_numbers_of_every_kind(tmp_path, kind, dtype):
    (tmp_path / "x").write_bytes(idx(np.array([[1, 2, 3]], dtype), kind))
    assert read_idx(tmp_path / "x").tolist() == [[1, 2, 3]]


def test_pictures_and_labels_must_belong_together(mnist):
    (mnist / "MNIST" / "raw" / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:4]))
    with pytest.raises(RuntimeError, match="5 pictures, but the labels are"):
        datasets.MNIST(mnist)


# ---------------------------------------------------------------- CIFAR

ROWS = np.arange(2 * 3072, dtype=np.int64).astype(np.uint8).reshape(2, 3072)


def python2(text):
    """Text as Python 2 wrote it."""
    return b"U" + bytes([len(text)]) + text if len(text) < 256 else b"T" + struct.pack("<i", len(text)) + text


def batch(rows, labels):
    """A batch as it is published: pickled by Python 2."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85"
        + python2(b"b")
        + b"\x87R(K\x01"
        + b"".join(b"M" + struct.pack("<H", n) for n in rows.shape)
        + b"\x86cnumpy\ndtype\nq\x03"
        + python2(b"u1")
        + b"K\x00K\x01\x87R(K\x03"
        + python2(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + python2(rows.tobytes())
        + b"tb"
    )
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + python2(b"data") + array + python2(b"labels") + listed + b"u."


def install(monkeypatch, folder, kind, data, meta):
    """Files of a small CIFAR, as if they were the published ones."""
    position = folder / kind.base_folder
    position.mkdir(exist_ok=True)
    (position / "batch").write_bytes(data)
    (position / "meta").write_bytes(meta)
    monkeypatch.setattr(kind, "train_list", [["batch", md5(data)]])
    monkeypatch.setattr(kind, "test_list", [["batch", md5(data)]])
    monkeypatch.setattr(kind, "meta", {"filename": "meta", "key": "label_names", "md5": md5(meta)})


META = pickle.dumps({"label_names": ["cat", "dog"]}, protocol=2)


@pytest.mark.parametrize(
    "data",
    [
        batch(ROWS, [1, 0]),
        pickle.dumps({b"data": ROWS, b"labels": [1, 0]}, protocol=2),
        pickle.dumps({"data": ROWS, "fine_labels": [1, 0]}, protocol=3),
    ],
    ids=["Python 2", "protocol 2", "protocol 3"],
)
def test_cifar_reads_batches(tmp_path, monkeypatch, data):
    install(monkeypatch, tmp_path, datasets.CIFAR10, data, META)
    found = datasets.CIFAR10(tmp_path)
    assert found.data.shape == (2, 32, 32, 3)
    assert found.data[1, 2, 3].tolist() == ROWS[1].reshape(3, 32, 32)[:, 2, 3].tolist()
    assert found.targets == [1, 0]
    assert found.class_to_idx == {"cat": 0, "dog": 1}
    assert "Split: Train" in repr(found)


def test_cifar_gives_pictures(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    install(monkeypatch, tmp_path, datasets.CIFAR100, batch(ROWS, [1, 0]), META)
    picture, label = datasets.CIFAR100(tmp_path, train=False, transform=transforms.ToTensor())[1]
    assert label == 0
    assert picture.shape == (3, 32, 32)


def test_cifar_files_must_be_the_published_ones(tmp_path, monkeypatch):
    install(monkeypatch, tmp_path, datasets.CIFAR10, batch(ROWS, [1, 0]), META)
    (tmp_path / datasets.CIFAR10.base_folder / "batch").write_bytes(batch(ROWS, [1, 1]))
    with pytest.raises(RuntimeError, match=r"Dataset not found or corrupted.*The published MD5 is not that of"):
        datasets.CIFAR10(tmp_path)
    with pytest.raises(RuntimeError, match="There is no"):
        datasets.CIFAR10(tmp_path / "elsewhere")


class Hostile:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


HOSTILE = {
    "a call of the system": pickle.dumps({"data": Hostile(os.system, ("echo run",))}, protocol=2),
    "eval": pickle.dumps({"data": Hostile(eval, ("print('run')",))}, protocol=2),
    "a call in a list": pickle.dumps({"labels": [Hostile(os.getcwd, ())]}, protocol=2),
    "an instance": b"\x80\x02(i__main__\nrun\n.",
    "a class of this test": pickle.dumps({"data": Hostile(Hostile, (1,))}, protocol=2),
    "numpy's own loader": b"\x80\x02cnumpy\nload\nX\x01\x00\x00\x00x\x85R.",
    "an array of objects": pickle.dumps({"data": np.array([None])}, protocol=2),
    "an array of another kind": pickle.dumps({"data": np.zeros(3)}, protocol=2),
    "a persistent name": b"\x80\x02X\x01\x00\x00\x00xQ.",
    "a later protocol": pickle.dumps({"data": ROWS}, protocol=4),
    "more than there is": b"\x80\x02T\xff\xff\xff\x7fabc.",
    "no end": batch(ROWS, [1, 0])[:-1],
    "no dict": pickle.dumps([1], protocol=2),
    "a memo beyond all memory": b"\x80\x02Nr\xff\xff\xff\xff}.",
}


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a memo beyond all memory"])
def test_hostile_pickles_are_refused_before_anything_runs(tmp_path, monkeypatch, capfd, name):
    install(monkeypatch, tmp_path, datasets.CIFAR10, HOSTILE[name], META)
    with pytest.raises(RuntimeError, match="is refused"):
        datasets.CIFAR10(tmp_path)
    assert capfd.readouterr().out == ""


def test_a_large_number_in_a_memo_takes_no_memory(tmp_path, monkeypatch):
    install(monkeypatch, tmp_path, datasets.CIFAR10, HOSTILE["a memo beyond all memory"], META)
    with pytest.raises(RuntimeError, match="the pictures of CIFAR are rows of 3072 bytes"):
        datasets.CIFAR10(tmp_path)


# ---------------------------------------------------------------- folders


@pytest.fixture
def pictures(tmp_path):
    """A folder with a picture of each of two classes, and a file that is none."""
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("dog", (1, 2, 3)), ("cat", (4, 5, 6)), ("cat/small", (7, 8, 9))):
        (tmp_path / name).mkdir()
        image.new("RGB", (2, 3), colour).save(tmp_path / name / "one.PNG")
    (tmp_path / "dog" / "notes.txt").write_text("good dog")
    return tmp_path


def test_a_folder_is_a_class(pictures):
    found = datasets.ImageFolder(str(pictures), transform=transforms.PILToTensor())
    assert found.classes == ["cat", "dog"]
    assert found.class_to_idx == {"cat": 0, "dog": 1}
    assert [os.path.relpath(path, pictures) for path, _ in found.imgs] == [
        "cat/one.PNG",
        "cat/small/one.PNG",
        "dog/one.PNG",
    ]
    assert found.targets == [0, 0, 1]
    assert (found[1][0][:, 0, 0].tolist(), found[1][1]) == ([7, 8, 9], 0)


def test_what_counts_as_a_file_can_be_told(pictures):
    def read(path):
        return Path(path).read_text()

    found = datasets.DatasetFolder(pictures, read, extensions=(".txt",), allow_empty=True)
    assert list(found) == [("good dog", 1)]
    with pytest.raises(
        FileNotFoundError, match=r"Found no valid file for the classes cat. Supported extensions are: .txt"
    ):
        datasets.DatasetFolder(pictures, read, extensions=(".txt",))
    with pytest.raises(ValueError, match="Both extensions and is_valid_file cannot be None or not None"):
        datasets.DatasetFolder(pictures, read)
    assert len(datasets.ImageFolder(pictures, is_valid_file=lambda path: "one" in path)) == 3


def test_no_class_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path)


def test_transforms_are_given_in_one_way_only():
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform can be passed"):
        datasets.VisionDataset(transforms=abs, transform=abs)
