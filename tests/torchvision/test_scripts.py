"""Scripts import torchvision under `autograph run`, whether it is installed or not, and hear what is not there."""

import sys

import pytest

from autograph_cli import torch, torchvision
from autograph_cli.record.run.scan import scan

TRAINING = """
import torch, torchvision
import torchvision.transforms as T
from torch import nn
from torchvision import datasets, transforms
from torchvision.transforms import v2
from torchvision.transforms.functional import normalize
from torchvision.utils import make_grid, save_image
torch.manual_seed(0)
steps = transforms.Compose([T.ToTensor(), T.RandomCrop(8, padding=1), T.RandomHorizontalFlip(), T.Normalize((0.5,), (0.5,))])
data = datasets.FakeData(8, (3, 8, 8), 4, transform=steps)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for pictures, labels in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, num_workers=WORKERS):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
save_image(pictures, "grid.png")
print(make_grid(pictures).shape, v2.Compose([v2.ToDtype(torch.float64)])(pictures).dtype, torchvision.__name__)
"""


@pytest.mark.parametrize("workers, losses", [(0, ["1.4424", "1.4660"]), (1, ["1.4520", "1.4905"])])
def test_a_training_script_gives_the_losses_of_pytorch(autograph, tmp_path, workers, losses):
    pytest.importorskip("PIL")
    (tmp_path / "s.py").write_text(TRAINING.replace("WORKERS", str(workers)))
    done = autograph("run", "s.py")
    assert done.returncode == 0, done.stderr
    last = "torch.Size([3, 12, 42]) torch.float64 torchvision"
    assert done.stdout.splitlines()[:3] == [*losses, last]
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


MISSING = {
    "import torchvision.models as m\nm.resnet18()\nm.raft_large()": "3 torchvision.models.raft_large",
    "import torchvision\ntorchvision.ops.nms\ntorchvision.ops.deform_conv2d": "3 torchvision.ops.deform_conv2d",
    "from torchvision import datasets\ndatasets.ImageNet('x')": "2 torchvision.datasets.ImageNet",
    "from torchvision.transforms import ToTensr": "1 torchvision.transforms.ToTensr",
    "from torchvision.transforms import v2\nv2.CutMix()": "2 torchvision.transforms.v2.CutMix",
    "from torchvision.transforms import functional as F\nF.equalize(1)": "2 torchvision.transforms.functional.equalize",
    "from torchvision.io import read_image, read_video": "1 torchvision.io.read_video",
    "import torchvision\nfrom torchvision.utils import make_grid\ntorchvision.transforms.v2.Resize(3)\nmake_grid": "",
}


@pytest.mark.parametrize("script", MISSING)
def test_what_is_missing_is_told_before_a_run(script):
    assert "; ".join(f"{lack.line} {lack.name}" for lack in scan(script.encode())) == MISSING[script]


@pytest.mark.parametrize(
    "get, text",
    [
        (
            lambda: torchvision.models.optical_flow,
            "torchvision.models.optical_flow is not available in autograph's engine yet",
        ),
        (lambda: torchvision.datasets.ImageNet, "torchvision.datasets.ImageNet is not available"),
        (lambda: torchvision.transforms.GaussianBlur, "torchvision.transforms.GaussianBlur is not available"),
        (lambda: torchvision.transforms.totensor, "did you mean torchvision.transforms.ToTensor"),
        (lambda: torchvision.transforms.v2.CutMix, "torchvision.transforms.v2.CutMix is not available"),
        (lambda: torchvision.utils.draw_bounding_boxes, "torchvision.utils.draw_bounding_boxes is not available"),
    ],
)
def test_every_other_name_is_one_clear_error(get, text):
    with pytest.raises(AttributeError, match=text):
        get()


def test_a_missing_module_is_named_as_the_script_names_it(autograph, tmp_path):
    (tmp_path / "s.py").write_text("from torchvision.models.optical_flow import raft_small\n")
    done = autograph("run", "-q", "s.py")
    assert (
        done.stderr.splitlines()[-1]
        == "ModuleNotFoundError: torchvision.models.optical_flow is not available in autograph's engine yet"
    )


def test_tensors_do_without_pillow_and_pictures_say_what_they_need(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert torchvision.transforms.Resize(2)(torch.ones(1, 4, 4)).shape == (1, 2, 2)
    for act in (
        lambda: torchvision.datasets.FakeData(2, (3, 4, 4))[0],
        lambda: torchvision.transforms.ToPILImage()(torch.ones(1, 2, 2)),
    ):
        with pytest.raises(ModuleNotFoundError, match=r"torchvision needs Pillow for pictures: pip install pillow"):
            act()


def test_pictures_are_loaded_by_pillow_only():
    assert torchvision.get_image_backend() == "PIL"
    with pytest.raises(ValueError, match="Invalid backend 'accimage'"):
        torchvision.set_image_backend("accimage")
