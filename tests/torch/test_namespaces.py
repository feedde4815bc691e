"""The small namespaces that scripts name at their top: they are there, and say the truth."""

import pytest

from autograph_cli import torch
from autograph_cli.torch import jit

NOT_THERE = [
    (lambda: torch.hub.load("pytorch/vision", "resnet18"), RuntimeError, "torch.hub does not download models"),
    (lambda: torch.onnx.export(None, (), "x.onnx"), RuntimeError, "torch.onnx.export is not available"),
    (lambda: torch.jit.load("x.pt"), RuntimeError, "TorchScript files are not available"),
    (lambda: torch.profiler.profile(), RuntimeError, "torch.profiler.profile is not available"),
    (lambda: torch.mps.synchronize(), RuntimeError, "device 'mps' is not available"),
    (lambda: torch.xpu.synchronize(), RuntimeError, "device 'xpu' is not available"),
    (lambda: torch.utils.nothing, AttributeError, "torch.utils.nothing is not available"),
]  # fmt: skip


@pytest.mark.parametrize("act, kind, text", NOT_THERE, ids=[text for _, _, text in NOT_THERE])
def test_what_is_not_there_says_so(act, kind, text):
    with pytest.raises(kind, match=text):
        act()


@pytest.mark.parametrize("compile, name", [
    (lambda f: torch.compile(f), "torch.compile"),
    (lambda f: torch.compile(mode="max-autotune")(f), "torch.compile"),
    (lambda f: torch.jit.script(f), "torch.jit.script"),
    (lambda f: torch.jit.trace(f, torch.ones(1)), "torch.jit.trace"),
])  # fmt: skip
def test_compiling_gives_the_same_function_and_warns_once(compile, name, monkeypatch, recwarn):
    monkeypatch.setattr(jit, "_said", set())
    for _ in range(3):
        assert compile(abs) is abs
    assert [str(w.message) for w in recwarn] == [f"{name} does not compile in autograph's engine: the code runs as it is"]


def test_marks_for_compilers_leave_functions_as_they_are():
    for mark in (jit.ignore, jit.ignore(drop=True), jit.unused, jit.export, jit.script_if_tracing, torch.compiler.disable, torch.compiler.disable()):
        assert mark(abs) is abs


def test_no_other_device_is_there():
    assert not any((torch.mps.is_available(), torch.xpu.is_available(), torch.cuda.is_available()))
    assert not any((torch.compiler.is_compiling(), torch.jit.is_scripting(), torch.jit.is_tracing()))


def test_labels_are_allowed_everywhere():
    with torch.profiler.record_function("step"):
        pass


def test_tensorboard_needs_its_package():
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(ModuleNotFoundError, match=r"torch.utils.tensorboard needs the tensorboard package"):
            torch.utils.tensorboard
    else:
        assert torch.utils.tensorboard.SummaryWriter


def test_the_hub_knows_its_folder(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub"


def test_scripts_may_import_parts_by_name(autograph, tmp_path):
    (tmp_path / "s.py").write_text(
        "import torch.optim as optim\nimport torch.utils.data\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "from torch.optim.lr_scheduler import StepLR\nfrom torch.optim import Adam\n"
        "from torch.jit import script\nimport torch\n"
        "w = torch.nn.Parameter(torch.ones(2))\no = optim.SGD([w], lr=0.5)\ns = StepLR(o, 1)\n"
        "for (x,) in DataLoader(TensorDataset(torch.arange(4.0).reshape(2, 2))):\n"
        "    o.zero_grad(); (w * x).sum().backward(); o.step(); s.step()\n"
        "torch.save(o.state_dict(), 'o.pt'); print(torch.load('o.pt')['param_groups'][0]['lr'], w.tolist())\n"
    )
    done = autograph("run", "s.py")
    assert done.stdout.splitlines()[0] == "0.005000000000000001 [0.8999999761581421, 0.3499999940395355]", done.stderr
