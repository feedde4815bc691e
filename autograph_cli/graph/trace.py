"""The record of a run: its steps with their graphs, what was measured of them, and what happened beside."""

from __future__ import annotations

import itertools
import sys

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.ledger import Hook, Ledger
from autograph_cli.graph.records import Exact, Graph, Node, Number, Pass
from autograph_cli.graph.source import Count, Record, Source


class DeviceMemory(Record, frozen=True):
    """The bytes that were held on one device."""

    device: str
    parameters: Count = 0
    gradients: Count = 0
    optimizer: Count = 0


class Memory(Record, frozen=True):
    """Bytes that were held when a step was over; memory that is shared counts once."""

    parameters: Count = 0
    """The bytes of the leaves of its graph."""
    gradients: Count = 0
    """The bytes of the `.grad` of these."""
    optimizer: Count = 0
    """The bytes of the state of optimizers, before they take their step."""
    devices: tuple[DeviceMemory, ...] = ()
    """The same by device, unless all of it is the CPU's."""


class Allocation(Record, frozen=True):
    """Memory that tensors were in, from when it was first seen to when it was let go."""

    bytes: Count
    began: Count
    """Nanoseconds since the step began; 0 for what was there before."""
    ended: Count | None = None
    """None where it is there when the step is over."""
    node: Count | None = None
    """The node that it is of; None where it is of none in the graph, as the state of an optimizer."""
    what: str = "result"
    """`result` of the node, its `gradient`, or what was `given`: leaves, inputs, and what came before the step."""
    device: str = "cpu"


class Profile(Record, frozen=True):
    """The measurements of a step as a whole, in nanoseconds."""

    wall: Count
    """From its first operation to its end, less what measuring took."""
    measuring: Count
    """The part that recording and measuring took."""
    allocations: tuple[Allocation, ...] = ()
    """In the order in which they began."""


class Step(Record, frozen=True):
    """Everything up to and including a backward pass that frees its graph, or an optimizer's step for passes that kept
    theirs."""

    number: Count
    graph: Graph
    derived: str = ""
    """A note on how `double` was made, or why not; empty if the script differentiated its derivatives itself."""
    double: Graph | None = None
    """The graph with the derivatives that the recorder made, to be drawn as double backward instead of `graph`."""
    memory: Memory | None = None
    profile: Profile | None = None
    older: Count = 0
    """The number of nodes from earlier steps, which come first."""
    kind: Count | None = None
    """Its kind, by position among the `kinds` of the trace."""

    @property
    def own(self) -> list[Node]:
        """The nodes without those that the recorder derived, which traces of the first versions have among them."""
        among = self.derived and self.double is None and not self.derived.startswith("not made")
        return [node for node in self.graph if not (among and node.order)]

    @property
    def nth(self) -> int:
        """Return its number as it is spoken of: steps count from 1."""
        return self.number + 1

    @property
    def passes(self) -> list[Pass]:
        """Return its backward passes, without those of earlier steps whose derivatives it goes on with."""
        earlier = {node.pass_id for node in itertools.islice(self.graph, self.older)}
        return [entry for entry in self.graph.passes if entry.id not in earlier]

    @property
    def ran(self) -> int:
        """Return how many nodes its backward passes ran."""
        return sum(len(entry.ran) for entry in self.passes)

    @property
    def has_nodes(self) -> bool:
        """Return whether autograd recorded anything in it."""
        return any(node.kind in ("operation", "leaf") for node in self.graph)


class StepKind(Record, frozen=True):
    """The steps that one backward call of the script ended, time after time."""

    call: str
    """`backward` or `grad`; empty where none of them was followed."""
    source: Source | None = None
    """The line of that call."""
    caller: Source | None = None
    """The line from which the function was called that it stands in."""
    roots: tuple[str, ...] = ()
    """The names of what it differentiated."""
    first: Count = 0
    """The number of the first step."""
    last: Count = 0
    count: Count = 1
    nodes: Count = 0
    """The number of nodes that ran in the last of them that was followed."""
    stepped: bool = False
    """True if an optimizer took a step after one of them."""


class Notice(Record, frozen=True):
    """Something about a parameter that was seen while the script ran and that no graph tells."""

    kind: str
    """`unused`: an optimizer has it and no operation took it. `unreached`: operations took it, and it never had a
    gradient. `stale`: a backward call added to a gradient that was there before the parameter was changed. `examples`,
    `rows`, `future`, `input`, `parameter`: what a result hangs on and should not, or the other way round; `unchecked`:
    why it is not known. `break`: why `torch.compile` ended a graph there. `broken`: the error of the recorder's own
    that ended the recording."""
    name: str
    """The parameter; of a result, the sentence; of a graph that ended, the reason."""
    source: Source | None = None
    """The line of the backward call; where a graph ended, that line."""
    step: Count = 0


class Watched(Record, frozen=True):
    """A few numbers of a parameter over the steps of a run."""

    name: str
    kind: str
    """The kind of numbers: `gradients`, `values`, or `updates`, by which it changed until its next step."""
    rows: tuple[tuple[Number, ...], ...] = ()
    """The number of a step, then norm, mean, largest absolute number, and share of zeros; of updates also the ratio of
    the norm to that of the values."""


class Collective(Record, frozen=True):
    """One call by which the ranks of a group exchange tensors, as one of these ranks made it."""

    op: str
    """`all_reduce`, as `torch.distributed` calls it."""
    sequence: Count
    """The position among the calls of its group, from 1; between two ranks, among the calls between these."""
    group: str = "0"
    """The group's name, as PyTorch gives it; that of all ranks is `0`."""
    ranks: tuple[Count, ...] = ()
    """The members of the group."""
    bytes: Count = 0
    """The bytes that this rank gives."""
    step: Count = 0
    source: Source | None = None
    tensors: tuple[str, ...] = ()
    """The names of the tensors; `w.grad` is the gradient of `w`, also where it is a part of a bucket."""
    peer: Count | None = None
    """The other rank, of a call between two."""
    during: Count | None = None
    """In a backward call: how many nodes of its pass had run."""
    given: tuple[Exact | None, ...] = ()
    """The numbers that this rank gives, recorded on request."""
    made: tuple[Exact | None, ...] = ()
    """The numbers that this rank gets, recorded on request; empty where the result was not there in time."""


def is_small(ran: int, most: int) -> bool:
    """Return whether backward passes of so many nodes are a check on the side, beside a step whose passes ran so
    many."""
    return 3 * ran < most


class Trace(Record, frozen=True):
    """One run of one script, or one rank of it: the steps that were kept."""

    script: str
    steps: tuple[Step, ...] = ()
    total_steps: Count = 0
    engine: str = "autograph"
    failure: str = ""
    """The exception that ended the script, in one line; empty when it ended well."""
    failed_at: Source | None = None
    """The script's line that raised it."""
    details: str = ""
    """The other lines of its message."""
    notices: tuple[Notice, ...] = ()
    watched: tuple[Watched, ...] = ()
    rank: Count = 0
    ranks: Count = 1
    """The number of processes that ran the script together."""
    collectives: tuple[Collective, ...] = ()
    """The collectives of the steps that were kept, and the last ones, in the order in which this rank began them."""
    ledger: Ledger | None = None
    """The ledger of training; None in a trace of an earlier version."""
    kinds: tuple[StepKind, ...] = ()
    """The kinds of its steps, where there was more than one step."""
    digest: str = ""
    """A digest of the script's text."""
    engine_version: str = ""
    """The version of an engine that is not of this package."""

    def __repr__(self) -> str:
        """In short, for its graphs may be large."""
        kept = f", {len(self.steps)} kept" if len(self.steps) != self.total_steps else ""
        return f"<Trace of {self.script}: {self.ended:,} step{'s' * (self.ended != 1)}{kept}>"

    @property
    def ended(self) -> int:
        """Return how many steps there were, without what ran after the last backward pass of a script that did not
        fail."""
        last = self.steps[-1] if self.steps and not self.failure else None
        after = last is not None and last.nth == self.total_steps and not last.passes
        return self.total_steps - (after and any(step.passes for step in self.steps))

    @property
    def held(self) -> frozenset[str]:
        """Return the names of the parameters that optimizers hold."""
        return frozenset() if self.ledger is None else self.ledger.held

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Return the hooks of tensors and modules, as far as they were followed."""
        return () if self.ledger is None else self.ledger.hooks

    def differentiated_again(self, main: Step) -> Step:
        """Return the step whose double backward is shown in the place of the main one: the last in which the script
        made it itself, if it did so anywhere."""
        own = (step for step in (main, *reversed(self.steps)) if any(node.order for node in step.own))
        return next(own, main) if main.derived else main

    def main_step(self) -> Step | None:
        """The step that is shown unless told: the last in which a backward pass ran, one that is small beside another
        apart; of a kind that trains, if any does, or came again; else the last that has a graph, as in a script that
        failed."""
        found = [step for step in reversed(self.steps) if step.has_nodes]
        passed = [] if self.failure else [step for step in found if step.passes]
        again = [step for step in passed if (kind := self.kind_of(step)) is not None and kind.count > 1]
        trains = [step for step in again if self.kinds[step.kind or 0].stepped]
        most = max((step.ran for step in trains or passed), default=0)
        return next((step for step in (*trains, *again, *passed, *found) if not is_small(step.ran, most)), None)

    def step_named(self, wanted: str) -> Step:
        """The last step that a backward call on this line ended (`train.py:12`), or that has a root of this name.

        Raises `GraphError` where none is kept.
        """
        file, _, line = wanted.rpartition(":")
        for step in reversed(self.steps):
            places = [entry.source for entry in step.graph.passes if entry.source is not None]
            met = any(str(each.line) == line and each.file.endswith(file) for each in places if file)
            if step.has_nodes and (met or any(root.name == wanted for root in step.graph.roots)):
                return step
        raise GraphError(
            f"No step that was kept of {self.script} has a backward call on the line {wanted}, or a root of that "
            "name; `autograph steps` lists them."
        )

    def kind_of(self, step: Step) -> StepKind | None:
        """Return the kind of a step, if it is known."""
        return None if step.kind is None or step.kind >= len(self.kinds) else self.kinds[step.kind]

    def _repr_html_(self) -> str | None:
        """The page that a notebook shows, once `autograph_cli.export` has been imported."""
        export = sys.modules.get("autograph_cli.export")
        return None if export is None else export.notebook_html(self)
