"""The page of a recording in a cell of a notebook, which follows the run while it trains: `record(live=True)`."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from autograph_cli import AutographError, export
from autograph_cli.graph import GraphError, Trace
from autograph_cli.record.log.steps import Progress

SHARE = 10
"""Drawing takes one part in so many of the time."""
OFTEN = 1.0
"""Seconds that a page is seen at least."""


class Live:
    """A widget that shows the last step that was kept so far."""

    def __init__(self, trace: Callable[[], Trace], clock: Callable[[], float] = time.monotonic) -> None:
        self._trace, self._clock, self._next = trace, clock, 0.0
        self.widget = _widget()
        display: Any = importlib.import_module("IPython.display")
        display.display(self.widget)

    def update(self, progress: Progress) -> None:
        """A step has ended: show it, if it is time to."""
        now = self._clock()
        if now >= self._next:
            self.show(self._trace())
            self._next = self._clock() + max(OFTEN, SHARE * (self._clock() - now))

    def show(self, trace: Trace) -> None:
        """Show the page of this trace, or say why there is none."""
        try:
            page = export.notebook_page(trace)
        except (AutographError, GraphError) as error:
            self.widget.said = str(error)
            return
        if page is not None:
            self.widget.page = page
            self.widget.said = f"{trace.ended:,} step{'s' * (trace.ended != 1)}"


def _widget() -> Any:
    try:
        anywidget: Any = importlib.import_module("anywidget")
        traitlets: Any = importlib.import_module("traitlets")
    except ImportError:
        raise AutographError("live=True needs anywidget: pip install 'autograph-cli[notebook]'.") from None
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        raise AutographError("live=True shows a page in a notebook's cell, and no notebook runs this.")
    facts = {
        "_esm": files("autograph_cli.export.page").joinpath("widget.js").read_text("utf-8"),
        "page": traitlets.Unicode("").tag(sync=True),
        "__repr__": lambda page: "<the page of a run, in a notebook that runs>",
        "said": traitlets.Unicode("").tag(sync=True),
    }
    return type("Page", (anywidget.AnyWidget,), facts)()
