"""`torch.hub` reads local folders, and downloads nothing."""

import pytest

from autograph_cli import torch

CONF = '''
dependencies = ["math"]
import net

def layer(size, bias=True):
    """A linear layer."""
    return net.torch.nn.Linear(size, 1, bias=bias)

def _private():
    pass

NUMBER = 3
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(torch.hub._chosen, "dir", str(tmp_path / "hub"))
    (tmp_path / "hubconf.py").write_text(CONF)
    (tmp_path / "net.py").write_text("from autograph_cli import torch\n")
    return tmp_path


def test_a_local_folder_lists_explains_and_loads_its_models(folder):
    assert torch.hub.list(folder) == ["layer"]
    assert torch.hub.help(folder, "layer") == "A linear layer."
    made = torch.hub.load(folder, "layer", 3, bias=False, source="local")
    assert isinstance(made, torch.nn.Linear) and made.bias is None and made.in_features == 3


def test_what_is_not_there_is_named(folder):
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(folder, "other", source="local")
    with pytest.raises(RuntimeError, match=r"does not download.*'pytorch/vision'"):
        torch.hub.load("pytorch/vision", "resnet18")
    with pytest.raises(RuntimeError, match=r"there is no .*absent/hubconf\.py"):
        torch.hub.load(folder / "absent", "layer", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(folder, "layer", source="disk")
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        torch.hub.list(folder)


def test_a_state_dict_is_read_where_its_file_is_there(folder):
    url = "https://example.invalid/models/net-01234567.pth?x=1"
    with pytest.raises(RuntimeError, match=r"put the file of .*net-01234567\.pth"):
        torch.hub.load_state_dict_from_url(url)
    (folder / "hub" / "checkpoints").mkdir(parents=True)
    torch.save({"w": torch.ones(2)}, folder / "hub" / "checkpoints" / "net-01234567.pth")
    assert torch.hub.load_state_dict_from_url(url)["w"].tolist() == [1.0, 1.0]
