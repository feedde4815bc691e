"""Recording a block of code: `with autograph_cli.record() as trace:`, in a notebook, a test, a training loop."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from autograph_cli import AutographError, engines, graph
from autograph_cli.record import names, pytorch, store
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.source_locations import Sources

VIEWS = ("forward", "backward", "double-backward")


class Recording:
    """What a block made, once it is over: its trace, and pictures of it."""

    def __init__(self, recorder: Recorder, frame: FrameType) -> None:
        self._recorder, self._frame = recorder, frame
        self._loaded = pytorch.is_loaded()
        self.trace = graph.Trace(recorder.script)
        """What was recorded; empty until the block has ended."""

    def __enter__(self) -> Recording:
        self._recorder.start()
        self._recorder.sources = Sources(str(Path(self._frame.f_code.co_filename).parent))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.trace = self._recorder.finish(names.variables_of(self._frame))
        del self._frame

    @property
    def step(self) -> graph.Step:
        """The last step that has a graph."""
        found = [step for step in self.trace.steps if store.has_nodes(step)]
        if not found and pytorch.is_loaded() and not self._loaded:
            raise AutographError(
                "Nothing was recorded: PyTorch was imported only within the block. Import it before, or write "
                'record(engine="torch").'
            )
        if not found:
            raise AutographError(
                "Nothing was recorded: within the block no tensor that requires grad was computed with."
            )
        return found[-1]

    def render(self, path: str | Path | None = None, view: str = "forward", **options: Any) -> bytes:
        """Draw the last step; the name of the file at `path` says the format. Options are those of `export.render`."""
        ending = "svg" if path is None else Path(path).suffix.lstrip(".") or "svg"
        drawn: bytes = _export().render(self.step, view=view, format=options.pop("format", ending), **options)
        if path is not None:
            store.write(Path(path), drawn)
        return drawn

    def show(self, view: str = "forward") -> None:
        """Print the last step as text."""
        print(self.render(view=view, format="text").decode(), end="")

    def save(self, path: str | Path) -> None:
        """Keep the trace in a file that every command of `autograph` takes."""
        store.save(self.trace, Path(path))

    def _repr_html_(self) -> str | None:
        page: str | None = _export().notebook_html(self.trace)
        return page

    def _repr_svg_(self) -> str:
        return self.render().decode()


def _export() -> ModuleType:
    from autograph_cli import export  # drawing, which not every caller asks for

    return export


def record(
    steps: str = "first,last", *, engine: str | None = None, record: Collection[str] = (), derive: bool = False
) -> Recording:
    """Record what runs within `with record() as trace:`, of PyTorch where that is loaded, else of autograph's engine.

    `steps`, `engine` and `record` are as in `autograph run`.
    """
    chosen = engine or ("torch" if pytorch.is_loaded() else "builtin")
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "autograph_cli":
        frame = frame.f_back
    script = Path(frame.f_code.co_filename).name
    return Recording(Recorder(steps, script, derive=derive, record=record, engine=engines.connect(chosen)), frame)
