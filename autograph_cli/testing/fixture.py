"""The fixture `graph_snapshot`: equal to a tensor whose graph is the one that was kept."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from autograph_cli import engines
from autograph_cli.export.comparison import side_by_side
from autograph_cli.export.errors import ExportError
from autograph_cli.graph import Graph, Section, Snapshot, views
from autograph_cli.graph.compared import compared
from autograph_cli.graph.snapshot import EXTRAS, SnapshotDiff
from autograph_cli.graph.snapshot_reader import SnapshotError
from autograph_cli.record.capture import capture, capture_derivatives, capture_recorded
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.graphs.causes import switches
from autograph_cli.record.log.data import DATA
from autograph_cli.record.recorder import Recorder
from autograph_cli.testing import inline, settings as project
from autograph_cli.testing.files import SUFFIX, Mode, Outcome, Status, in_ci, load, settle

FEW = 4
"""The most sentences in the assertion itself, which pytest cuts short; all are in a section of their own."""
View = Literal["graph", "forward", "backward", "double_backward"]
_CUTS: dict[str, Callable[[Graph], Graph]] = {
    "graph": lambda graph: graph,
    "forward": views.forward,
    "backward": views.backward,
    "double_backward": views.double_backward,
}


@contextlib.contextmanager
def recording(engine: str | None) -> Iterator[list[Recorder]]:
    """Within the block, what this engine computes is recorded, with the data that comes to it; unless one is named,
    what those compute that are imported."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(_recorded(each)) for each in (_imported() if engine is None else [engine])]


def _imported() -> Iterator[str]:
    if "autograph_cli.torch" in sys.modules:
        yield "builtin"
    if pytorch.is_loaded():
        with contextlib.suppress(engines.EngineError):  # one that is too old
            engines.connect("torch")
            yield "torch"


@contextlib.contextmanager
def _recorded(engine: str) -> Iterator[Recorder]:
    recorder = Recorder("all", record=(DATA,), engine=engines.connect(engine))
    if recorder.log.data is not None:
        tensor = recorder.log.engine.tensor
        recorder.log.data.older = {id(x): weakref.ref(x) for x in gc.get_objects() if issubclass(type(x), tensor)}
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.finish({})


class GraphSnapshot:
    """Compares the graphs of a test with those in files beside it.

    `assert graph_snapshot == loss` takes a tensor, several in a list, tuple or dict, a function, or a `Graph`. The
    first comparison of a test is kept in `__graphs__/test_file/test_name.graph.txt`, the second in `test_name.2...`.
    """

    def __init__(
        self,
        folder: Path,
        base: str,
        *,
        update: bool,
        note: Callable[[Path, str], None],
        temporary: Callable[[], Path],
        root: Path,
        show: Callable[[str], None],
        fill: Callable[[inline.Edit], None],
        view: View = "graph",
        name: str = "",
        counts: Counter[str] | None = None,
        recorders: Sequence[Recorder] = (),
        always: bool = False,
    ) -> None:
        self._recorders, self._always, self._name = recorders, always, name
        self.folder, self.base, self.update, self.view = folder, base, update, view
        self._note, self._temporary, self._root, self._show, self._fill = note, temporary, root, show, fill
        self._counts: Counter[str] = Counter() if counts is None else counts
        self._settings = project.load(root)
        self.outcome: Outcome | None = None
        """The result of the last comparison."""

    def __call__(self, value: Any = None, *, name: str = "") -> GraphSnapshot | InlineSnapshot:
        """The snapshot under a name of its own instead of a number: `assert graph_snapshot("after") == loss`; or, of a
        tensor, the one that stands in the test: `assert graph_snapshot(loss) == "..."`."""
        if not isinstance(value, str) and value is not None:
            return InlineSnapshot(self, value)
        name = name or value or ""
        if not name.replace("-", "_").isidentifier():
            raise ValueError(f"A snapshot's name is made of letters, digits, - and _, not {name!r}.")
        return self._with(f"{self.base}.{name}", self.view, name)

    @property
    def forward(self) -> GraphSnapshot:
        """Compares the tensors and operations in the order of data."""
        return self._with(self.base, "forward")

    @property
    def backward(self) -> GraphSnapshot:
        """Compares the grad_fn chain."""
        return self._with(self.base, "backward")

    @property
    def double_backward(self) -> GraphSnapshot:
        """Compares the graph together with that of its gradients, which are taken for it."""
        return self._with(self.base, "double_backward")

    def __eq__(self, other: object) -> bool:
        stem = self.base if self.view == "graph" else f"{self.base}.{self.view}"
        self._counts[stem] += 1
        if self._name and self._counts[stem] > 1:
            raise ValueError(f"There are two snapshots of the name {self._name!r} in this test.")
        number = f".{self._counts[stem]}" if self._counts[stem] > 1 else ""
        path = self.folder / f"{stem}{number}{SUFFIX}"
        self.folder.mkdir(parents=True, exist_ok=True)
        snapshot = self._snapshot(other, self._kept_parts(path))
        mode: Mode = "update" if self.update else "check" if in_ci() else "write"
        self.outcome = settle(path, snapshot, mode, self._settings.tolerance, "pytest --graph-update")
        self._note(path, self.outcome.status)
        if self.outcome.exit_code:
            self._reported = self._lines(self.outcome)
        return self.outcome.exit_code == 0

    def _snapshot(self, value: Any, kept: tuple[str, ...] = ()) -> Snapshot:
        """The snapshot of a value with the parts of the one that is kept, else those in the settings that it has."""
        held = kept or tuple(part for part in self._settings.include if part not in EXTRAS)
        graph = self._recorded(value) if self._always or "untracked" in held else None
        if graph is None:
            graph = self._captured(value)
            held = kept or tuple(part for part in held if part != "untracked")
        section = Section(self.view.replace("_", " "), compared(graph, held))
        folder = Path(self._recorders[0].sources.folder) if self._recorders else Path()
        return Snapshot(self.base, (section,), held, switches=switches((graph,), folder / self.base))

    def _inline(self, value: Any, text: str, place: tuple[str, int]) -> bool:
        """Compare with the text that stands in the test; an update that finds a difference has it filled in."""
        made = self._snapshot(value)
        made = replace(made, sections=tuple(map(inline.section_of, made.sections)))
        try:
            diff = inline.compared(text, made) if text.strip() else None
            error = "" if diff is not None else "the text is empty; fill it in with: pytest --graph-update"
        except SnapshotError as wrong:
            diff, error = None, str(wrong)
        if self.update and (diff or error):
            self._fill((*place, inline.body(made)))
            return True
        status: Status = "different" if diff else "missing" if error else "same"
        self.outcome = Outcome(Path(place[0]), status, diff, error)
        if self.outcome.exit_code:
            self._reported = self._lines(self.outcome)
        return self.outcome.exit_code == 0

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<graph_snapshot of {self.base}>"

    def report(self) -> list[str]:
        """Return what the last comparison found, for a failing test."""
        return self._reported

    def _with(self, base: str, view: View, name: str = "") -> GraphSnapshot:
        return GraphSnapshot(
            self.folder,
            base,
            update=self.update,
            note=self._note,
            temporary=self._temporary,
            root=self._root,
            show=self._show,
            fill=self._fill,
            view=view,
            name=name or self._name,
            counts=self._counts,
            recorders=self._recorders,
            always=self._always,
        )

    def _recorded(self, value: Any) -> Graph | None:
        """The graph of a value as it was recorded; None where its engine was not."""
        if isinstance(value, Graph) or not self._recorders:
            return None
        graph = capture_recorded(self._recorders, value, derivatives=self.view == "double_backward")
        return None if graph is None else _CUTS[self.view](graph)

    def _captured(self, value: Any) -> Graph:
        """The graph of a value as far as its own nodes tell."""
        if isinstance(value, Graph):
            return _CUTS[self.view](value)
        if self.view == "double_backward":
            return capture_derivatives(value() if callable(value) and not hasattr(value, "grad_fn") else value)
        return _CUTS[self.view](capture(value))

    def _kept_parts(self, path: Path) -> tuple[str, ...]:
        """Return the parts of the snapshot that is kept, if it is not to be written anew."""
        if path.exists() and not self.update:
            with contextlib.suppress(SnapshotError):
                return load(path).holds
        return ()

    def _lines(self, outcome: Outcome) -> list[str]:
        path = outcome.path.relative_to(self._root) if outcome.path.is_relative_to(self._root) else outcome.path
        if not outcome.diff:
            return [f"graph_snapshot: {outcome.error}"]
        told = outcome.diff.sentences
        after = ["accept with: pytest --graph-update"]
        with contextlib.suppress(OSError, ExportError):
            after.append(f"side by side: {self._picture(outcome.path, outcome.diff)}")
        self._show("\n".join([*told, "", outcome.diff.to_text(), *after]))
        more = [f"  and {len(told) - FEW} more"] if len(told) > FEW else []
        return [f"the graph differs from {path}", *(f"  {sentence}" for sentence in told[:FEW]), *more]

    def _picture(self, path: Path, diff: SnapshotDiff) -> Path:
        file = self._temporary() / f"{path.name.removesuffix(SUFFIX)}.svg"
        file.write_bytes(side_by_side([one for _, one in diff.graphs]))
        return file


class InlineSnapshot:
    """The graph of a value, to be compared with a text in the test."""

    def __init__(self, snapshot: GraphSnapshot, value: Any) -> None:
        self._snapshot, self._value = snapshot, value

    def __eq__(self, text: object) -> bool:
        return isinstance(text, str) and self._snapshot._inline(self._value, text, inline.place())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._snapshot)

    def report(self) -> list[str]:
        """Return what the comparison found, for a failing test."""
        return self._snapshot.report()
