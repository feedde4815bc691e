"""All that can be asked of a picture, each option declared once: its default, what it does, and how a command asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct, field

from autograph_cli.export.formats.programs import LAYOUTS
from autograph_cli.export.layout.direction import DIRECTIONS
from autograph_cli.export.scene.colouring import COLOURS
from autograph_cli.graph import Slice, Trace, Watched
from autograph_cli.graph.facts import USUAL
from autograph_cli.graph.ledger import Hook
from autograph_cli.graph.reader_level import LEVELS

if TYPE_CHECKING:
    from autograph_cli.findings import Finding

READABLE = 200
"""Boxes that a person still finds the way among."""
PARAMETERS = {None: None, "inline": True, "boxes": False}
"""The choices for drawing the leaves of a picture, and the default."""
FLOWS = ("gradient", "data")
"""The edges that arrows between derivatives may follow: the default first."""


class Panels(Struct, frozen=True):
    """The run that a step which is shown is of, as far as a page tells of it."""

    findings: Sequence[Finding] = ()
    watched: Sequence[Watched] = ()
    trace: Trace | None = None
    """The run, whose other steps are on the page too."""


class Flag(Struct, frozen=True):
    """The option of a command line for a field, and its help."""

    help: str
    choices: Collection[str] = ()
    least: int | None = None
    """Makes it a whole number."""
    suggestions: Sequence[str] = ()
    """Words that a shell completes it by, where others are allowed too."""
    default: Any = None
    """The default on the command line, where it differs from the field's."""
    names: tuple[str, ...] = ()
    """`--max-nodes` for `max_nodes`, unless told."""


class RenderOptions(Struct, frozen=True, kw_only=True):
    """The options for drawing a graph, in any view and format. A field with a `Flag` is an option of commands."""

    roots: tuple[str, ...] | None = None
    """Only what these hang on."""
    order: Annotated[int | None, Flag("--double-backward up to this order.", least=1)] = None
    part: Slice | None = None
    """The part of the view that is shown."""
    shown: Collection[str] = USUAL
    """The facts that stand on the nodes (`graph.facts.WORDS`)."""
    inside: str | None = None
    """Not the view is drawn, but what the backward of this node of it ran."""
    level: Annotated[
        str, Flag("Draw the forward view as the script was written, or each operation that ran.", LEVELS)
    ] = LEVELS[0]
    """Formats for other programs, and pages, have all operations. A picture of `user` is folded until it fits a page,
    unless all is to be open."""
    depth: Annotated[int | None, Flag("Open modules so deep; those further in are a box each.", least=0)] = None
    max_nodes: Annotated[
        int | None,
        Flag(
            "Above this many, modules and chains in a picture are folded; 0 leaves all open, loops as well.",
            least=0,
            default=READABLE,
        ),
    ] = None
    """The most boxes in a picture. Above it, loops are rolled if that makes it much smaller, equal modules in a row are
    drawn once, modules closed from the inside out, and chains folded, as far as it takes."""
    roll: Annotated[
        bool | None, Flag("Draw one turn of each loop; unless told, where it makes a picture much smaller.")
    ] = None
    tags: Annotated[
        bool, Flag("Draw a leaf that is used far apart small at each use, or as one box with all its arrows.")
    ] = True
    parameters: Annotated[
        str | None,
        Flag(
            "Write leaves on the operations that use them, or draw each; unless told, inline from 20 operations on.",
            [name for name in PARAMETERS if name],
        ),
    ] = None
    direction: Annotated[
        str, Flag("Draw it from the top down or from left to right; auto is what fits a page better.", DIRECTIONS)
    ] = DIRECTIONS[0]
    """A page of all views runs down."""
    columns: Annotated[bool, Flag("Break a long picture into columns or rows, like text.")] = True
    flow: Annotated[
        str, Flag("--double-backward as the gradient graph of each order, or as the data flow that computed it.", FLOWS)
    ] = FLOWS[0]
    """A page has both, and begins with this one."""
    marks: Annotated[bool, Flag("Mark in red where a gradient is cut, does not arrive, or is NaN.")] = True
    colour: Annotated[
        str | None,
        Flag(
            "Colour the nodes by what they take: the more, the darker; gradient is its norm.",
            COLOURS,
            names=("--colour", "--color"),
        ),
    ] = None
    tracked_only: Annotated[bool, Flag("Leave out the operations that autograd did not record.")] = False
    formula: Annotated[bool, Flag("Write the derivatives as formulas beside the picture (needs sympy).")] = False
    layout: Annotated[
        str | None,
        Flag(
            "The layout of SVG and PNG: layered (built in), graphviz-pure, or dot, if it is installed.",
            suggestions=LAYOUTS,
        ),
    ] = None
    title: str = ""
    """The script; the title of a picture says the view, the roots and the step too."""
    total_steps: int = 0
    """The number of steps that the script made."""
    held: Collection[str] = ()
    """The names of the parameters that its optimizers hold: others are not marked for having no gradient."""
    hooks: Sequence[Hook] = ()
    """The hooks of its ledger."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Scripts by their names in the graph, for a page to show."""
    panels: Panels = field(default_factory=Panels)
    """The panels that a page shows beside its pictures."""
