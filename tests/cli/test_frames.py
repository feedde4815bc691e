"""A script finds the stack and the modules that it finds under python: one frame of the command is beneath it."""

import subprocess
import sys
from pathlib import Path

COMMAND = "import sys\nfrom autograph_cli.cli import main\nsys.exit(main())\n"
"""What an installer writes for an entry point."""

SCRIPT = """
import sys, warnings, traceback, logging, faulthandler, inspect, click
import torch

def inner():
    warnings.warn("of the caller", stacklevel=2)
    logging.warning("at the caller", stacklevel=2)

logging.basicConfig(format="%(filename)s %(message)s", stream=sys.stdout)
print(click.answer, [file for file in sys.path if "autograph_cli" in file], sys.argv, hasattr(sys, "last_value"))
inner()
warnings.warn("of nobody", stacklevel=2)
traceback.print_stack(file=sys.stdout)
logging.warning("here", stack_info=True)
faulthandler.dump_traceback(sys.stdout, all_threads=False)
print([frame.filename for frame in inspect.stack()])

def deeper(level):
    try:
        return deeper(level + 1)
    except RecursionError:
        return level

print("calls", deeper(0))
sys.exit(int(sys.argv[1]))
"""


def python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], cwd=folder, capture_output=True, text=True, check=False)


def test_the_stack_of_a_script_is_as_under_python(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(SCRIPT)
    (tmp_path / "click.py").write_text("answer = 42\n")
    (tmp_path / "torch.py").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "autograph").write_text(COMMAND)
    under_python = python(tmp_path, "s.py", "3")
    recorded = python(tmp_path, "bin/autograph", "run", "-q", "s.py", "3")
    assert (recorded.returncode, under_python.returncode) == (3, 3)
    assert recorded.stderr == under_python.stderr
    ours = [line for line in recorded.stdout.splitlines() if '"<frozen importlib._bootstrap>"' not in line]
    expected = under_python.stdout.splitlines()
    assert len(recorded.stdout.splitlines()) == len(ours) + 3  # one frame in each of three stacks
    assert ours[:-2] == expected[:-2]
    assert ours[-2].removesuffix(", '<frozen importlib._bootstrap>']") == expected[-2].removesuffix("]")
    assert python(tmp_path, "-m", "autograph_cli", "run", "-q", "s.py", "3").stdout.startswith("42 []")
    assert int(expected[-1].split()[1]) - int(ours[-1].split()[1]) <= 2
