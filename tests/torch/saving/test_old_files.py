"""Files of PyTorch from before zip archives, and its plain pickles, are read (record_old_files.py wrote one of each)."""

import io
import pickle
import sys

import pytest

from autograph_cli import torch
from tests.processes import finished
from tests.torch.saving.record_old_files import FILE, PLAIN, contents


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_from_before_zip_archives_is_read(weights_only):
    found, expected = torch.load(FILE, weights_only=weights_only), contents(torch)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor)
        assert (found[name].dtype, found[name].stride()) == (tensor.dtype, tensor.stride())
    assert found["leaf"].requires_grad
    found["x"].zero_()
    assert not found["turned"].any()


def test_such_a_file_is_written_as_pytorch_does_it():
    file = io.BytesIO()
    torch.save(contents(torch), file, _use_new_zipfile_serialization=False)
    found, expected = torch.load(io.BytesIO(file.getvalue())), contents(torch)
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor)
        assert (found[name].dtype, found[name].stride()) == (tensor.dtype, tensor.stride())
    found["x"].zero_()
    assert not found["turned"].any()
    assert file.getvalue()[:60] == FILE.read_bytes()[:60]


def test_such_a_file_that_ends_early_is_refused():
    data = FILE.read_bytes()
    for end in range(len(data)):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            torch.load(io.BytesIO(data[:end]))


def test_such_a_file_runs_nothing():
    class Bad:
        def __reduce__(self):
            return print, ("run",)

    head = FILE.read_bytes().partition(b".\x80\x02}q\x00(X")[0]
    data = head + b"." + pickle.dumps(Bad(), 2) + pickle.dumps([], 2)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(io.BytesIO(data))


def test_a_plain_pickle_of_pytorch_is_read_where_torch_is_the_engine(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pickle, sys\nfound = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(found['x'].tolist(), found['turned'].stride(), found['half'].dtype, found['leaf'].requires_grad)\n"
        "print(found['layer'], found['layer'].weight)\n"
    )
    run = [sys.executable, "-m", "autograph_cli", "run", "-q", str(script), str(PLAIN)]
    done = finished(run, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] (1, 3) torch.bfloat16 True",
        "Linear(in_features=2, out_features=1, bias=True) Parameter containing:",
        "tensor([[2., 2.]], requires_grad=True)",
    ]
