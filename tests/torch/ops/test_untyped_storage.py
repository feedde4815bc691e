"""The memory under tensors, byte by byte, as PyTorch 2.13 gives it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "bytes").write_bytes(bytes(range(16)))
    return tmp_path / "bytes"


@pytest.fixture
def storage(file: Path) -> Any:
    return torch.UntypedStorage.from_file(str(file), False, 16)


def test_a_private_file_is_not_changed(file: Path, storage: Any) -> None:
    storage[0] = 9
    assert (storage[0], file.read_bytes()[0]) == (9, 0)


def test_a_shared_file_is_made_longer_and_changed(file: Path) -> None:
    storage = torch.UntypedStorage.from_file(str(file), shared=True, nbytes=20)
    storage[18:] = 7
    del storage
    assert file.read_bytes() == bytes(range(16)) + b"\0\0\7\7"
    assert torch.UntypedStorage.from_file(str(file.parent / "new"), True, 3).tolist() == [0, 0, 0]
    assert torch.UntypedStorage.from_file(str(file)).nbytes() == 0


def test_files_that_do_not_do(file: Path) -> None:
    with pytest.raises(RuntimeError, match="size <16> is smaller than the required mapping size <32>"):
        torch.UntypedStorage.from_file(str(file), nbytes=32)
    with pytest.raises(RuntimeError, match="unable to open file </nowhere/f> in read-only mode: No such file"):
        torch.UntypedStorage.from_file("/nowhere/f", nbytes=8)
    with pytest.raises(TypeError, match="argument 1 must be str, not int"):
        torch.UntypedStorage.from_file(3, nbytes=8)


@pytest.mark.parametrize(
    ("index", "found"),
    [(0, 0), (-1, 15), (slice(-4, -2), [12, 13]), (slice(10, 40), [10, 11, 12, 13, 14, 15]), (slice(5, 2), [])],
)
def test_bytes_and_parts(storage: Any, index: Any, found: Any) -> None:
    got = storage[index]
    assert (got if isinstance(got, int) else list(got)) == found


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        (lambda s: s[16], IndexError, "index 16 out of range for storage of size 16"),
        (lambda s: s["a"], TypeError, "can't index a torch.UntypedStorage with str"),
        (lambda s: s[::2], RuntimeError, "Trying to slice with a step of 2, but only a step of 1 is supported"),
        (lambda s: s.__setitem__(0, 2.5), RuntimeError, "can only set storage content with a int types, but got float"),
    ],
)
def test_what_is_refused(storage: Any, act: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        act(storage)


def test_a_tensor_of_a_storage_shares_its_bytes(storage: Any) -> None:
    part = storage[4:8]
    x = torch.asarray(part, dtype=torch.uint8)
    x[0] = 55
    assert (storage[4], part[0], part.data_ptr() - storage.data_ptr()) == (55, 55, 4)
    assert (x.untyped_storage().nbytes(), x.storage_offset()) == (4, 0)
    assert torch.as_tensor(storage, dtype=torch.int16).tolist()[:2] == [256, 770]
    assert torch.asarray(storage).dtype is torch.int64


def test_the_bytes_of_a_tensor_are_written_there() -> None:
    x = torch.arange(3, dtype=torch.int32)
    assert x.untyped_storage().tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]
    x.untyped_storage()[1] = 1
    assert x.tolist() == [256, 1, 2]
    assert repr(x.untyped_storage()[:1]) == " 0\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    assert x.untyped_storage().fill_(0).untyped().nbytes() == 12 and x.tolist() == [0, 0, 0]
