"""The main road: a real script goes in, its graphs come out; in processes of their own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph_cli.export import FORMATS

SAMPLES = Path(__file__).parent.parent.parent / "samples"
Run = Callable[..., subprocess.CompletedProcess[str]]

PRINTED = {
    "first.py": "tensor([ 7.6431e-01, -3.2745e-01,  1.2088e-04]) tensor(0.6006)\n",
    "penalty.py": "score 0.1953, penalty 1.2632\nw.grad tensor([-0.7042,  0.3525, 17.8426])\n",
    "custom_function.py": "y = 8.0, y' = 12.0, y'' = 12.0\n",
    "fourth_derivative.py": "tensor(24., grad_fn=<MulBackward0>)\n",
    "recurrence.py": "loss 0.8531\n",
    "smooth.py": "loss 0.407, slope 0.824\n",
    "train.py": "slope 3.046, offset 0.488, loss 0.0069\n",
    "pinn.py": (
        "step 0: loss 0.982\nstep 60: loss 0.148\nstep 120: loss 0.063\nstep 180: loss 0.012\nlargest error 0.03\n"
    ),
    "wgan_gp.py": (
        "step 0: critic 8.511, generator -0.070\n"
        "step 5: critic 8.333, generator -0.094\n"
        "step 10: critic 8.201, generator -0.089\n"
        "step 15: critic 7.913, generator -0.095\n"
    ),
    "maml.py": (
        "step 0: loss after adapting 1.811\nstep 20: loss after adapting 0.407\nstep 40: loss after adapting 0.771\n"
    ),
    "v01_engine.py": (
        "y = 0.9207, dy/dx = 2.3818, dy/dw = 0.1351\nas torch.autograd: True\nd2y/dx2 = 0.4783, d2y/dxdw = 0.1196\n"
    ),
    "neural_ode.py": ("step 0: loss 1.975\nstep 20: loss 0.120\nstep 40: loss 0.050\nat the end: loss 0.029\n"),
}
"""What PyTorch makes the samples print."""

SHORT = {
    "digits.py --epochs 1 --pictures 256": "epoch 0: loss 2.27\n22 % of 51 held-out digits read\n",
    "vae.py --steps 2": ("step 0: rebuilt 25.31, divergence 0.07\nstep 1: rebuilt 24.74, divergence 0.05\n"),
    "char_rnn.py --steps 25": ("step 0: loss 3.12\nstep 24: loss 0.85\none for a gil, for a gil, for a gil, for a \n"),
    "adder_gpt.py --steps 2": "step 0: loss 2.46\nstep 1: loss 2.18\n0 % of 500 sums right\n",
    "llama_70b.py --layers 1": "3.0 billion parameters, 12 GB in float32; the loss is on meta\n",
    "actor_critic.py --rounds 2": "round 0: loss 39.13, falls 3\nround 1: loss 28.33, falls 12\n",
}
"""What PyTorch makes longer samples print in a short run, by name and arguments."""

EXPR = """
import torch
x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = (w * x).sum()
y.backward()
"""


def needs(name: str) -> None:
    """Skip the test where the pictures that a sample reads are not installed."""
    if name == "digits.py":
        pytest.importorskip("sklearn")


@pytest.mark.parametrize("command", [*PRINTED, *SHORT])
def test_a_sample_prints_what_it_prints_under_pytorch_and_is_drawn(
    autograph: Run, tmp_path: Path, command: str
) -> None:
    name, *arguments = command.split()
    needs(name)
    views = "forward", "backward", "double-backward"
    result = autograph("render", *(f"--{view}" for view in views), str(SAMPLES / name), "--", *arguments)
    assert result.stdout == {**PRINTED, **SHORT}[command]
    assert result.returncode == 0, result.stderr
    for view in views:
        assert "</svg>" in (tmp_path / f"{Path(name).stem}.{view}.svg").read_text(encoding="utf-8")


def test_a_run_gives_its_arguments_to_the_script_and_reports(autograph: Run) -> None:
    name, *arguments = command = ["vae.py", "--steps", "2"]
    result = autograph("run", str(SAMPLES / name), *arguments)
    assert result.stdout == SHORT[" ".join(command)]
    assert result.stderr.startswith("autograph: vae.py, 2 steps")
    assert result.returncode == 0


def test_digits_says_what_to_install_where_there_are_no_pictures(autograph: Run) -> None:
    hidden = "import runpy, sys; sys.modules['sklearn'] = None; runpy.run_path(sys.argv[1])"
    result = autograph("run", "-q", "-", str(SAMPLES / "digits.py"), input=hidden)
    assert result.returncode == 1  # sys.exit with a text
    assert result.stderr == "digits.py needs the pictures that come with scikit-learn: pip install scikit-learn\n"


def test_all_samples_are_tried() -> None:
    assert {path.name for path in SAMPLES.glob("*.py")} == {command.split()[0] for command in [*PRINTED, *SHORT]}


def test_import_torch_is_the_engine_and_the_name_in_our_package_too(autograph: Run) -> None:
    script = "import torch, autograph_cli.torch\nprint(torch is autograph_cli.torch)\n"
    assert autograph("run", "-q", "-", input=script).stdout == "True\n"


def test_outside_of_run_nothing_is_patched(python: Run) -> None:
    script = "import sys; finders = sys.meta_path[:]; from autograph_cli import torch; print(sys.meta_path == finders)"
    assert python("-c", f"{script}; print('torch' in sys.modules)").stdout == "True\nFalse\n"


def test_help_completion_and_a_kept_trace_need_no_engine(autograph: Run, python: Run) -> None:
    autograph("run", "-q", "-", input=EXPR)
    code = (
        "import sys; from autograph_cli.cli.main import main\n"
        "try: main({args!r}, standalone_mode=False)\n"
        "finally: print(sorted({{'numpy', 'autograph_cli.torch'}} & sys.modules.keys()), file=sys.stderr)\n"
    )
    for args in (["--help"], ["show"], ["show", "--double-backward"]):
        result = python("-c", code.format(args=args))
        assert (result.returncode, result.stderr.splitlines()[-1]) == (0, "[]"), args
    words = {"_AUTOGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "autograph sh", "COMP_CWORD": "1"}
    listed = python("-X", "importtime", "-m", "autograph_cli", **words)
    assert "plain,show" in listed.stdout and "numpy" not in listed.stderr


def test_report_names_roots_leaves_nodes_and_memory(autograph: Run) -> None:
    report = autograph("run", "-", input=EXPR).stderr
    assert "roots    y float32[]" in report
    assert "leaves   w float32[2]" in report
    assert "order 0: 2" in report
    assert "kept for backward" in report


def test_two_folders_give_the_same_bytes_in_every_format(python: Run, tmp_path: Path) -> None:
    code = (
        "from autograph_cli.cli.main import main; from autograph_cli.export import FORMATS\n"
        "for name in FORMATS:\n"
        "    views = ['--forward'] if name == 'onnx' else ['--forward', '--backward', '--double-backward']\n"
        "    main(['render', *views, '-f', name], standalone_mode=False)\n"
    )
    made = []
    for seed, folder in enumerate((tmp_path / "one", tmp_path / "two" / "deep")):
        folder.mkdir(parents=True)
        (folder / "expr.py").write_text(EXPR)
        python("-m", "autograph_cli", "run", "-q", "expr.py", cwd=folder, PYTHONHASHSEED=str(seed))
        result = python("-c", code, cwd=folder, PYTHONHASHSEED=str(seed))
        assert result.returncode == 0, result.stderr
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
        made.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert len(made[0]) > 3 * (len(FORMATS) - 2) + 2  # a page has all views, ONNX the forward one
    assert made[0] == made[1]


def test_double_backward_that_autograph_made_is_said_to_be_so(autograph: Run) -> None:
    autograph("run", "-q", "-", input=EXPR)
    result = autograph("render", "--double-backward")
    assert result.returncode == 0
    assert result.stderr.startswith("double backward: ")


def test_exception_keeps_the_graph_so_far(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(EXPR + "z = w * 2\nraise RuntimeError('enough')\n")
    result = autograph("run", "expr.py")
    assert result.returncode == 2
    assert "RuntimeError: enough" in result.stderr
    assert "autograph_cli" not in result.stderr
    assert "MulBackward0" in autograph("show", "--step", "first").stdout


def test_error_of_the_engine_shows_the_scripts_line_only(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(EXPR + "y.backward()\n")
    result = autograph("run", "-q", "expr.py")
    assert result.returncode == 2
    assert result.stderr.count("File ") == 1
    assert "RuntimeError: Trying to backward through the graph a second time" in result.stderr


def test_interrupt_keeps_the_graph_so_far(autograph: Run, tmp_path: Path) -> None:
    result = autograph("run", "-", input=EXPR + "raise KeyboardInterrupt\n")
    assert result.returncode == -signal.SIGINT
    assert "MulBackward0" in autograph("show", "--step", "first").stdout


def test_script_without_a_graph_is_told_what_to_add(autograph: Run) -> None:
    autograph("run", "-", input=EXPR)
    before = autograph("show").stdout
    result = autograph("run", "-", input="import torch\nprint(torch.ones(2) * 2)\n")
    assert result.returncode == 0
    assert "no tensor required grad" in result.stderr
    assert autograph("show").stdout == before
    assert autograph("run", "-q", "-", input="import torch\n").stderr == ""


def test_names_in_any_alphabet_come_out_right(autograph: Run) -> None:
    autograph("run", "-q", "-", input=EXPR.replace("w ", "变量 ").replace("y ", "Größe ").replace("y.", "Größe."))
    for format_ in ("svg", "dot", "text"):
        shown = autograph("render", "-f", format_, "-o", "-").stdout
        assert "变量" in shown and "Größe" in shown


def test_missing_part_of_torch_is_named(autograph: Run) -> None:
    result = autograph("run", "-q", "-", input="import torch.package\n")
    assert result.returncode == 2
    assert result.stderr.endswith("torch.package is not available in autograph's engine yet\n")


def test_spawned_child_is_served_too(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(
        "import multiprocessing as mp, torch\n"
        "def child():\n    print(torch.__version__)\n"
        "if __name__ == '__main__':\n    p = mp.get_context('spawn').Process(target=child); p.start(); p.join()\n"
    )
    assert autograph("run", "-q", "expr.py").stdout == "2.13.0+autograph\n"


def test_step_of_a_training_loop_can_be_named(autograph: Run) -> None:
    result = autograph("show", str(SAMPLES / "train.py"), "--step", "3")
    assert result.returncode == 0
    assert "MeanBackward0" in result.stdout
    missing = autograph("show", "--step", "7")
    assert missing.returncode != 0
    assert "There is no step 7" in missing.stderr
