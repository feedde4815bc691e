"""The title above a picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from autograph_cli.export.scene.labels import short
from autograph_cli.graph import Graph, Step
from autograph_cli.graph.names import output_names, shown_name

LISTED = 3
"""Names of roots at most."""
_AGAIN = re.compile(r" \(\d+\)$")
"""The number of a tensor whose name was another's before."""


def title_of(
    title: str,
    view: str,
    source: Graph | Step,
    total_steps: int,
    chosen: Iterable[str] | None = None,
    seen: Graph | None = None,
) -> str:
    """The script, the view, what was differentiated, the step of how many, and which part of it is drawn.

    `title` is the script, with the part after it; without a view, what a node ran is drawn. Roots that were chosen
    stand in the place of what was differentiated, of which only what is `seen` is told.

    >>> title_of("expr.py", "forward", Graph(), 1)
    'expr.py · forward'
    """
    script, _, part = title.partition(" · ")
    roots = _differentiated(source.graph if isinstance(source, Step) else source) if chosen is None else chosen
    if seen is not None and chosen is None:
        names = {name for its in output_names(seen) for name in its}
        roots = [name for name in roots if name in names]
    parts = [script, view, _listed(roots) if view else ""]
    if isinstance(source, Step) and (total_steps > 1 or source.nth > total_steps > 0):
        parts.append(step_words(source, total_steps))
    return " · ".join(filter(None, [*parts, part]))


def step_words(step: Step, total: int) -> str:
    """Return which of so many steps this is.

    >>> step_words(Step(3, Graph()), 4), step_words(Step(1, Graph()), 4)
    ('the last of 4 steps', 'step 2 of 4')
    >>> step_words(Step(4, Graph()), 4)
    'after 4 steps'
    """
    if step.nth > total:
        return f"after {total:,} step{'s' * (total != 1)}"
    return f"the last of {total:,} steps" if step.nth == total else f"step {step.nth:,} of {total:,}"


def _differentiated(graph: Graph) -> list[str]:
    names = output_names(graph)
    called = [names[edge.node][edge.nr] for entry in graph.passes for edge in entry.roots]
    return [name for name in called or [root.name for root in graph.roots] if name and not name.startswith("%")]


def _listed(names: Iterable[str]) -> str:
    """The names, the tensors of one name together: the first ones, and the last, which is what they lead to.

    >>> _listed(["inner", "inner~2", "u", "u_x", "loss"])
    'inner × 2, u, …, loss'
    """
    several = Counter(_AGAIN.sub("", name) for name in dict.fromkeys(map(shown_name, names)))
    listed = [short(name) if count == 1 else f"{short(name)} × {count:,}" for name, count in several.items()]
    if len(listed) > LISTED:
        listed = [*listed[: LISTED - 1], "…", listed[-1]]
    return ", ".join(listed)
