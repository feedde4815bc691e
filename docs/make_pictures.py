"""Draws the pictures of these docs anew, with autograph itself: `make pictures`, `make gallery`."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograph_cli import export  # noqa: E402
from autograph_cli.export import READABLE  # noqa: E402
from autograph_cli.graph import Slice, Step, Trace  # noqa: E402
from autograph_cli.graph.facts import parse_shown  # noqa: E402
from autograph_cli.record.run import runner  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
GALLERY_FOLDER = ROOT / "docs" / "gallery"
GALLERY_PAGE = ROOT / "docs" / "gallery.md"
EVERY = ("forward", "backward", "double-backward")
PICTURES: dict[str, tuple[str, ...]] = {
    "samples/first.py": EVERY,
    "samples/recurrence.py": ("forward", "backward"),
    "samples/smooth.py": ("double-backward",),
    "tests/programs/02_logits_loss.py": EVERY,
    "tests/programs/08_leave_the_graph.py": ("forward",),
    "tests/programs/12_sinh_function.py": EVERY,
    "tests/programs/13_sinh_wrong.py": ("double-backward",),
    "tests/programs/17_lenet.py": ("forward",),
    "tests/programs/22_higher_order.py": EVERY,
}
"""Which views of which scripts the pages show."""
MORE: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "samples/first.py": {"flow": ("double-backward", {"flow": "data", "formula": True})},
    "tests/programs/17_lenet.py": {"closed": ("forward", {"depth": 1})},
    "tests/programs/22_higher_order.py": {
        "slice": ("double-backward", {"part": Slice(start=("w2",), end=("penalty",))})
    },
}
"""Which scripts are shown in another way as well: the picture's name, the view, the options."""
COURSE = sorted((ROOT / "docs" / "course").glob("*.md"), key=lambda page: int(page.stem.partition("-")[0]))
"""The chapters."""
COURSE_FOLDER = ROOT / "docs" / "course" / "pictures"
CELL = re.compile(r"```\{code-cell\} ipython3\n(:tags: \[hide-cell\]\n\n)?(.*?)```", re.DOTALL)
OUTPUT = re.compile(r"(```\{code-cell\} ipython3\n[^`]*```)\n\n```text\n.*?```", re.DOTALL)
"""A cell, and the output that stands below it."""
MEMORY = ROOT / "docs" / "how-to" / "memory.md"
RANKS = ("docs/ddp.py", 3)
"""The script that the page on several processes shows, and how many ranks it is run on."""
SHOWN: dict[str, dict[str, tuple[str, str, str | None]]] = {
    "samples/first.py": {
        "values": ("forward", "values", None),
        "gradients": ("backward", "gradients,bytes", None),
        "saved": ("forward", "saved", None),
        "inside": ("backward", "values", "PowBackward0"),
        "links": ("double-backward", "links", None),
    },
    "tests/programs/12_sinh_function.py": {"formula": ("forward", "line,formula", None)},
}
"""Of which scripts facts are shown as well: the picture's name, the view, what `--show` says, the node to open."""
GALLERY: dict[str, tuple[str, tuple[str, ...]]] = {
    "tests/programs/16_linear_model.py": ("A linear model", ("forward", "backward")),
    "tests/programs/17_lenet.py": ("LeNet", ("forward", "backward")),
    "samples/recurrence.py": ("A recurrent network, its loop rolled", EVERY),
    "tests/programs/23_control_flow.py": ("A loop whose length depends on the data", ("forward", "backward")),
    "tests/programs/10_square_function.py": ("A custom square, differentiated twice", EVERY),
    "tests/programs/11_exp_function.py": ("A custom exponential, which saves its result", EVERY),
    "tests/programs/12_sinh_function.py": ("A custom sinh, which returns its intermediates", EVERY),
    "tests/programs/13_sinh_wrong.py": ("The same gone wrong: there is no order 1", ("double-backward",)),
    "tests/programs/14_cube_function.py": ("A custom cube with a double backward of its own", EVERY),
    "samples/fourth_derivative.py": ("A fourth derivative, each order in a band", ("forward", "double-backward")),
    "samples/penalty.py": ("A gradient penalty", EVERY),
    "samples/wgan_gp.py": ("A GAN with gradient penalty, the critic's step", ("forward", "double-backward")),
    "samples/pinn.py": ("A physics-informed network", EVERY),
    "samples/maml.py": ("MAML, a gradient through a gradient step", ("forward", "double-backward")),
    "samples/neural_ode.py": ("A neural ODE, its adjoint a custom function", ("forward", "backward")),
    "samples/v01_engine.py": (
        "PyTorch v0.1's engine in a page, its gradient drawn forward",
        ("forward", "double-backward"),
    ),
    "samples/digits.py": ("LeNet on scanned digits", ("forward", "backward")),
    "samples/vae.py": ("A variational autoencoder", ("forward", "backward")),
    "samples/char_rnn.py": ("An LSTM that learns a rhyme", ("forward", "backward")),
    "samples/adder_gpt.py": ("A small GPT", ("forward", "backward")),
    "samples/actor_critic.py": ("An actor and a critic, one turn of their round", ("backward",)),
}
"""The scripts of the gallery: the heading, and the views."""
ARGUMENTS = {
    "samples/digits.py": ("--epochs", "1", "--pictures", "160"),
    "samples/vae.py": ("--steps", "1"),
    "samples/char_rnn.py": ("--steps", "1"),
    "samples/adder_gpt.py": ("--steps", "1"),
    "samples/actor_critic.py": ("--rounds", "1"),
}
"""What makes the run of a script short."""
WITH_FORMULAS = ("samples/first.py", "samples/fourth_derivative.py", "samples/penalty.py")
"""Of which scripts the picture of all orders has formulas."""
ROOTS = {"tests/programs/22_higher_order.py": ("penalty",)}
"""Of which scripts the picture of all orders has one root only."""
FIRST = ("samples/wgan_gp.py",)
"""Of which scripts the first step is shown, not the last."""


def record(script: str, beside: tuple[str, ...] = ()) -> Trace:
    """Run a script of this repository, its output unseen, and return its trace, with this recorded beside the graph."""
    target = runner.Target.of(str(ROOT / script), ARGUMENTS.get(script, ()))
    with contextlib.redirect_stdout(io.StringIO()):
        result, trace = runner.record(target, record=beside)
    if result.exit_code:
        raise SystemExit(f"{script}: {result.failure}")
    return trace


def main_step(trace: Trace) -> Step:
    """The step that is shown of a run that recorded a graph."""
    step = trace.main_step()
    assert step is not None
    return step


def draw(script: str, views: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each picture of a script, drawn now as `autograph render` draws them."""
    trace = record(script)
    for view in views:
        how: dict[str, Any] = {
            "title": trace.script,
            "total_steps": trace.total_steps,
            "max_nodes": READABLE,
            "roots": ROOTS.get(script) if view == "double-backward" else None,
        }
        how["formula"] = view == "double-backward" and script in WITH_FORMULAS
        yield (
            f"{Path(script).stem}.{view}.svg",
            export.render(trace.steps[0] if script in FIRST else main_step(trace), view, **how),
        )


def pictures(script: str) -> Iterator[tuple[str, bytes]]:
    """The pictures of a script that the pages show."""
    yield from draw(script, PICTURES[script])
    if script in MORE:
        trace = record(script)
        for word, (view, how) in MORE[script].items():
            how = {"title": trace.script, "total_steps": trace.total_steps} | how
            yield f"{Path(script).stem}.{word}.svg", export.render(main_step(trace), view, **how)
    if script in SHOWN:
        trace = record(script, ("values", "formula", "inside"))
        for word, (view, facts, node) in SHOWN[script].items():
            how = {"shown": parse_shown(facts), "inside": node, "title": trace.script}
            yield f"{Path(script).stem}.{word}.svg", export.render(main_step(trace), view, **how)


def of_memory() -> Iterator[tuple[str, bytes]]:
    """The pictures of the page on memory: its script, and what it keeps."""
    script = next(text for text in re.findall(r"^```python\n(.*?)^```", MEMORY.read_text("utf-8"), re.M | re.S))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("fused.py").write_text(script, "utf-8")
        for word in ("apart", "fused"):
            _, trace = runner.record(runner.Target.of("fused.py", (word,)))
            how = {"shown": parse_shown("saved"), "title": f"fused.py {word}"}
            yield f"memory.{word}.svg", export.render(main_step(trace), "backward", **how)


def cells(page: Path) -> Iterator[tuple[str, bytes | None]]:
    """Run the cells of a chapter; of each, its output, and its picture where it ends in `SVG(...)`."""
    _space: dict[str, Any] = {"__name__": "__main__"}
    for number, (_, code) in enumerate(CELL.findall(page.read_text("utf-8")), 1):
        name = f"cell {number}"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        body = ast.parse(code).body
        shown = body.pop() if ast.unparse(body[-1]).startswith("SVG(") else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(body, []), name, "exec"), _space)
        drawn = None
        if isinstance(shown, ast.Expr):
            drawn = eval(compile(ast.Expression(shown.value), name, "eval"), _space).data.encode()
        yield re.sub("0x[0-9a-f]+", "0x...", printed.getvalue()), drawn


def chapter(page: Path) -> tuple[str, dict[str, bytes]]:
    """A chapter with what its cells print below them, those of answers left out, and its pictures."""
    number = page.stem.partition("-")[0]
    made = list(cells(page))
    drawn = [picture for _, picture in made if picture is not None]
    outputs = iter(made)

    def with_output(found: re.Match[str]) -> str:
        printed, _ = next(outputs)
        return found[0] if found[1] or not printed else f"{found[0]}\n\n```text\n{printed}```"

    text = CELL.sub(with_output, OUTPUT.sub(r"\1", page.read_text("utf-8")))
    return text, {f"{number}-{at}.svg": picture for at, picture in enumerate(drawn, 1)}


def of_ranks() -> tuple[str, bytes]:
    """The picture of several ranks."""
    script, ranks = RANKS
    name = f"{Path(script).stem}.backward.svg"
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copy(ROOT / script, folder)
        for line in (("run", "--ranks", str(ranks), copied), ("render", "--backward", "-o", name)):
            command = [sys.executable, "-m", "autograph_cli", *line]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
        return name, (Path(folder) / name).read_bytes()


def gallery(script: str) -> Iterator[tuple[str, bytes]]:
    """The pictures of a script in the gallery."""
    yield from draw(script, GALLERY[script][1])


def gallery_page() -> str:
    """The gallery as Markdown."""
    lines = ["# Gallery", "", "Drawn by `make gallery`; a test holds the pictures against what autograph draws now."]
    for script, (heading, views) in GALLERY.items():
        stem = Path(script).stem
        shown = (f"![{view}](gallery/{stem}.{view}.svg)" for view in views)
        lines += ["", f"## {heading}", "", f"[{script}](../{script})", ""]
        lines += [f"| {' | '.join(views)} |", f"|{'---|' * len(views)}", f"| {' | '.join(shown)} |"]
    return "\n".join(lines) + "\n"


def write(folder: Path, made: dict[str, bytes]) -> None:
    """Write these files; what else lies in their folder is an old one."""
    folder.mkdir(exist_ok=True)
    for name, content in made.items():
        (folder / name).write_bytes(content)
    for old in folder.iterdir():
        if old.name not in made:
            old.unlink()
    print(f"{len(made)} pictures in {folder.relative_to(ROOT)}")


def main(what: str) -> None:
    """Make the `pictures` or the `gallery`."""
    if what == "gallery":
        write(GALLERY_FOLDER, dict(entry for script in GALLERY for entry in gallery(script)))
        GALLERY_PAGE.write_text(gallery_page(), "utf-8")
    else:
        drawn = (entry for script in PICTURES for entry in pictures(script))
        write(FOLDER, dict([*drawn, *of_memory(), of_ranks()]))
        told = {page: chapter(page) for page in COURSE}
        for page, (text, _) in told.items():
            page.write_text(text, "utf-8")
        write(COURSE_FOLDER, {name: content for _, drawn in told.values() for name, content in drawn.items()})


if __name__ == "__main__":
    main(*sys.argv[1:] or ["pictures"])
