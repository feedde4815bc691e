"""The ledger of training: what happened beside operations while a script ran, as numbers and identities.

Norms that are infinite or unknown are -1.

Everything that is heard gets the next number of one clock, `at`, so the order in which modules were built, optimizers
made, and gradients written is known. Sets of parameters are written once, and named by their position in `sets`.
"""

from __future__ import annotations

from collections.abc import Collection

from autograph_cli.graph.source import Record, Source

SAMPLE = 1 << 14
"""The most numbers of a parameter that are compared before and after a step; of larger ones, a part."""


class Parameter(Record, frozen=True):
    """A leaf that an optimizer holds, or that a backward call gave a gradient."""

    name: str = ""
    """The variable that leads to it, or the path of its module; empty where nothing does."""
    module: int | None = None
    """The module that it is registered in, by position in `modules`."""
    size: int = 0
    """The number of its elements."""
    dtype: str = ""
    written: bool = False
    """True if its values changed between the first and the last time that it was looked at."""


class Module(Record, frozen=True, rename={"cls": "class"}):
    """A module that has parameters."""

    cls: str
    at: int = 0
    """The time when it was built; 0 if that was before anything was heard."""
    source: Source | None = None
    copied: bool = False
    """True if it is a copy, or was unpickled."""
    listed: str = ""
    """The path of the plain list, tuple or dict of a module that keeps it; empty if none does."""
    flagged: bool = False
    """True if it has an attribute `requires_grad` that is false, which freezes nothing."""


class Optimizer(Record, frozen=True, rename={"cls": "class"}):
    """An optimizer that was made."""

    cls: str
    at: int
    source: Source | None = None
    name: str = ""
    holds: int = 0
    """The parameters that it was made with, as a set; those of groups that were added later are with its steps."""
    options: tuple[tuple[str, float], ...] = ()
    """The numbers that it was made with: `weight_decay`, `momentum`; `beta1` and `beta2` of `betas`."""


class Hook(Record, frozen=True):
    """A function that was registered to be called with a gradient."""

    kind: str
    """The method that registered it: `register_hook`, `register_full_backward_hook`, ..."""
    on: str
    """The tensor, node or module that it was registered on, by name."""
    at: int
    source: Source | None = None
    function: str = ""
    parameter: int | None = None
    """The parameter that it is on, if it is on one."""
    calls: int = 0
    """The number of times that it was looked at."""
    again: int = 1
    """The number of hooks with the same function on the same tensor, this one included."""
    same: bool = False
    """True if the same numbers went on each time, though it was given others, and not in about that direction."""
    given: tuple[float, ...] = ()
    """The norms that it was given, of the first calls."""
    returned: tuple[float, ...] = ()
    """The norms of what went on, after it had returned or changed it, of the same calls."""
    factors: tuple[float | None, ...] = ()
    """The factor by which it multiplied its argument, in the same calls; None if there is no one number."""


class Keeper(Record, frozen=True):
    """A variable, list, attribute or closure that keeps graphs of earlier steps, or turns, alive."""

    name: str
    """`losses[3]`, `trainer.log['train'][0]`: the path by which a tensor is reached whose graph is kept."""
    source: Source | None = None
    """The line that made that tensor."""
    count: int = 1
    """The number of tensors that the same container keeps."""
    nodes: int = 0
    """The nodes of earlier steps or turns that are kept by it."""
    bytes: int = 0
    """The memory that these nodes and their results keep, as far as it is known."""
    steps: int = 0
    """The number of steps or turns that they are from."""
    living: tuple[int, ...] = ()
    """The numbers of nodes of earlier steps that were alive when each backward call began."""
    ended: bool = False
    """True if no backward call had run them when the script ended."""


class Happening(Record, frozen=True):
    """One thing that was heard."""

    kind: str
    """`backward`, `grad`, `zero_grad`, `step`, `clip`, `unscale`, `schedule`, `mode`, `checkpoint`; `state` and
    `load`: a model is given weights that are its own, and no copy, or the `same` numbers, made of these, or `nothing`
    by its names; `call`: the first of a model with gradients and without; `cut`: where the history of what was computed
    from parameters ends that a step found no gradient of."""
    at: int
    step: int = 0
    """The step of the trace that was going on."""
    source: Source | None = None
    optimizer: int | None = None
    given: int = 0
    """The set of parameters that it is about: to which gradients were added, which were stepped, clipped, zeroed."""
    ready: int = 0
    """The set of those that had a gradient which was not zero when it began."""
    frozen: int = 0
    """The set of parameters that required no gradient (of a step)."""
    closure: bool = False
    """True if backward ran within the step."""
    made: bool = False
    """True if the backward call was made with create_graph, or the model was called with gradients."""
    failed: bool = False
    zero: int = 0
    """The set of parameters whose gradient was all zeros after the backward call."""
    gone: int = 0
    """The set of parameters that the backward call ran and that have no gradient after it, as a hook took it away."""
    moved: int = 0
    """The set of parameters whose values the step changed."""
    norm: float = 0.0
    """The norm of the change by a step, as far as it was looked at, or that a clip found; or the largest number that a
    model was given."""
    rate: float = 0.0
    """The highest learning rate of the step, or that a scheduler has set."""
    idle: int = 0
    """The set of parameters in groups whose learning rate is 0 (of a step)."""
    number: int = -1
    """The number of the backward call among those of the run."""
    kept: bool = False
    """True if the backward call retained its graph, or an input of the checkpoint required a gradient."""
    ran: int = 0
    """The nodes that the backward call ran."""
    whole: tuple[int, ...] = ()
    """The earlier backward calls, by `at`, whose roots are among the nodes that this one ran."""
    after: int = 0
    """The time, by the clock, when the first of the operations ran that the backward call went through."""
    words: str = ""
    """The kind: `train` or `eval` of a mode, the kind of a checkpoint, the function of a clip, the name of a model."""


class Ledger(Record, frozen=True):
    """The ledger of a run: its first steps, and those of the later ones that are kept."""

    parameters: tuple[Parameter, ...] = ()
    modules: tuple[Module, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)
    happenings: tuple[Happening, ...] = ()
    hooks: tuple[Hook, ...] = ()
    keepers: tuple[Keeper, ...] = ()
    more: int = 0
    """The number of happenings that are not written down."""
    later: tuple[Happening, ...] = ()
    """The happenings of kept steps that come after a gap, over which nothing is concluded from them."""

    @property
    def heard(self) -> tuple[Happening, ...]:
        """Return all happenings: those of the first steps, and those of later steps that are kept."""
        return (*self.happenings, *self.later)

    def parameters_of(self, number: int) -> tuple[int, ...]:
        """The parameters of a set."""
        return self.sets[number]

    @property
    def held(self) -> frozenset[str]:
        """Return the names of the parameters that optimizers hold."""
        steps = [each.given for each in self.heard if each.kind == "step"]
        sets = {*steps, *(each.holds for each in self.optimizers)}
        return frozenset(name for each in sets for name in self.names(self.sets[each]))

    def names(self, numbers: Collection[int]) -> list[str]:
        """The names of parameters, those without one left out."""
        return [name for number in numbers if (name := self.parameters[number].name)]

    def problem(self) -> str:
        """Return what names something that is not there; empty where nothing does."""
        parameters, sets = len(self.parameters), len(self.sets)
        if any(not 0 <= number < parameters for each in self.sets for number in each):
            return "names a parameter that is not there"
        named = [each.holds for each in self.optimizers]
        for each in self.heard:
            named += (each.given, each.ready, each.zero, each.gone, each.moved, each.frozen, each.idle)
            if each.optimizer is not None and not 0 <= each.optimizer < len(self.optimizers):
                return "names an optimizer that is not there"
        if any(not 0 <= number < sets for number in named):
            return "names a set that is not there"
        of_hooks = [hook.parameter for hook in self.hooks if hook.parameter is not None]
        if any(not 0 <= number < parameters for number in of_hooks):
            return "names a parameter that is not there"
        modules = [each.module for each in self.parameters if each.module is not None]
        return "" if all(0 <= number < len(self.modules) for number in modules) else "names a module that is not there"
