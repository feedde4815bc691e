"""Recording a block of code: `with autograph_cli.record() as trace:`, in a notebook, a test, a training loop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from autograph_cli import AutographError, engines, graph
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.names import variables as names
from autograph_cli.record.names.source_locations import Sources, cell_of, script_frames
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import store

if TYPE_CHECKING:
    from autograph_cli.widget import Live

_NOTHING = "Nothing was recorded: within the block no tensor that requires grad was computed with."
VIEWS = ("forward", "backward", "double-backward")


class Recording:
    """The trace of a block, once it is over, and pictures of it."""

    def __init__(
        self, recorder: Recorder, frame: FrameType, late: Callable[[], Recorder] | None = None, *, live: bool = False
    ) -> None:
        self._recorders, self._frame = [recorder], frame
        self._late, self._live = late, live and _live(self)
        self._awaited: pytorch.Awaited | None = None
        self.trace = graph.Trace(recorder.script)
        """The recorded trace; empty until the block has ended."""

    def __enter__(self) -> Recording:
        self._start(self._recorders[0])
        if self._late is not None:
            self._awaited = pytorch.Awaited(self._imported)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._awaited is not None:
            self._awaited.close()
        traces = [recorder.finish(names.variables_of(self._frame)) for recorder in reversed(self._recorders)]
        self.trace = next(filter(store.has_graph, traces), traces[0])
        del self._frame
        if self._live:
            self._live.show(self.trace)
        if error is None and not store.has_graph(self.trace):
            print(f"autograph: {_NOTHING}", file=sys.stderr)

    def _start(self, recorder: Recorder) -> None:
        recorder.start()
        recorder.watcher = self._live.update if self._live else None
        recorder.sources = Sources(str(Path(self._frame.f_code.co_filename).parent))

    def _imported(self) -> None:
        """PyTorch was imported within the block: it is recorded from here on."""
        assert self._late is not None
        try:
            self._recorders.append(self._late())
        except AutographError as error:  # the import is the script's
            print(f"autograph: PyTorch is not recorded. {error}", file=sys.stderr)
        else:
            self._start(self._recorders[-1])

    @property
    def step(self) -> graph.Step:
        """The step that is shown: see `Trace.main_step`."""
        found = self.trace.main_step()
        if found is None:
            raise AutographError(_NOTHING)
        return found

    def render(self, path: str | Path | None = None, view: str = "forward", **options: Any) -> bytes:
        """Draw the last step; the name of the file at `path` says the format. Options are those of `export.render`."""
        ending = "svg" if path is None else Path(path).suffix.lstrip(".") or "svg"
        options.setdefault("held", self.trace.held)
        drawn: bytes = _drawing().export.render(self.step, view=view, format=options.pop("format", ending), **options)
        if path is not None:
            store.write(Path(path), drawn)
        return drawn

    def show(self, view: str = "forward") -> None:
        """Print the last step as text."""
        print(self.render(view=view, format="text").decode(), end="")

    def save(self, path: str | Path) -> None:
        """Keep the trace in a file that every command of `autograph` takes."""
        store.save(self.trace, Path(path))

    def __repr__(self) -> str:
        return f"<Recording: {self.trace!r}>"

    def _repr_html_(self) -> str | None:
        if self._live:  # its picture is in the cell already
            return None
        page: str | None = _drawing().export.notebook_html(self.trace)
        return page

    def _repr_svg_(self) -> str | None:
        return None if self._live else self.render().decode()


def _drawing() -> ModuleType:
    from autograph_cli import widget  # drawing, which not every caller asks for

    return widget


def _live(recording: Recording) -> Live:
    live: Live = _drawing().Live(lambda: recording._recorders[-1].trace())
    return live


def record(
    steps: str = "first,last",
    *,
    engine: str | None = None,
    record: Collection[str] = (),
    derive: bool = False,
    live: bool = False,
) -> Recording:
    """Record what runs within `with record() as trace:`, of PyTorch where that is loaded or gets imported in the block,
    else of autograph's engine.

    `steps`, `engine` and `record` are as in `autograph run`. With `live`, the cell of a notebook has a page that shows
    the last step while the block runs.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "autograph_cli":
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith("autograph_cli."):  # a callback, which a trainer calls
        frame = next(iter(script_frames(frame=frame)), frame)
    script = cell_of(frame.f_code.co_filename) or Path(frame.f_code.co_filename).name

    def recorder(name: str) -> Recorder:
        return Recorder(
            steps, script, derive=derive, record=record, engine=engines.connect(name), each=False, every=live
        )

    if engine is not None or pytorch.is_loaded():
        return Recording(recorder(engine or "torch"), frame, live=live)
    return Recording(recorder("builtin"), frame, lambda: recorder("torch"), live=live)
