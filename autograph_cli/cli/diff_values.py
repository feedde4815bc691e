"""`autograph diff --values`: where the numbers of two runs part first."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.atomic_files import temporary_folder
from autograph_cli.cli.diff_options import ByValues
from autograph_cli.cli.diff_sides import Named, Request, page_of_both, put_out
from autograph_cli.cli.exit_codes import CommandError
from autograph_cli.cli.git import checked_out
from autograph_cli.cli.opening import choose, named_rank
from autograph_cli.cli.options import SCRIPTS, UsageError
from autograph_cli.engines import chosen
from autograph_cli.export.comparison import parted_side_by_side
from autograph_cli.graph import Node, Snapshot, Step, Trace
from autograph_cli.graph.aligned import Aligned
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.graph.parting_collectives import first_parted
from autograph_cli.graph.parting_inside import Inside, first_inside, is_compiled
from autograph_cli.graph.parting_text import as_dict, recomputed, sentence, text
from autograph_cli.graph.ranks import words as rank_words
from autograph_cli.graph.snapshot import compare as graph_compare
from autograph_cli.record.log.steps import COMPARED
from autograph_cli.record.run import store
from autograph_cli.testing import rank_recording, recording, sweeps
from autograph_cli.testing.scripts import start_of, trace_sections
from autograph_cli.testing.settings import load

S = TypeVar("S")
T = TypeVar("T")
EAGER = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}
DYNAMO = {"TORCH_COMPILE_OVERRIDE_BACKENDS": ">=0:eager"}
"""Runs what TorchDynamo traced, without AOTAutograd and a compiler."""
NEAR = 12
"""The most steps that are recorded at once, to find the first that parts."""
GROWN = 1e-4
"""Behind rounding that has grown so far a fault may hide: the operations are recomputed in float64."""
CODES = {"equal": 0, "rounding": 0, "parted": 1, "incomparable": 3}


class Side(Struct, frozen=True):
    """One of the two runs: a trace, or a script, which can be run again."""

    name: str
    trace: Trace
    run: Callable[..., Trace] | None = None
    """Records the script in a process of its own: which steps, unless those that are recorded at first, and what beside
    the numbers."""
    check: Callable[[str], str] | None = None
    """Gives the verdict of `autograph check` on the first derivative of a custom Function of the script."""


class Way(Struct, frozen=True):
    """The way to run a script."""

    engine: str = "builtin"
    executable: str = ""
    """Another Python that runs it."""
    kept: str = COMPARED
    """The steps that are recorded at first."""
    step: str = ""
    """The one step that is looked at."""
    seed: int | None = None
    environment: Mapping[str, str] = {}
    dtype: str = ""
    words: str = ""
    """The words that tell it from the other run of the same script."""
    modules: Mapping[str, str] = {}
    """The names of scripts that are run as modules."""

    def as_module(self, name: str, script: Path) -> dict[str, Any]:
        """The arguments of `recording.record` by which a script is run as a module, if it is one."""
        module = self.modules.get(name, "")
        return {"module": module, "folder": start_of(script.resolve(), module)} if module else {}


def run(request: Request, by: ByValues, steps: tuple[str, ...], wanted: tuple[str, Path | None]) -> int:
    """Compare the numbers of both sides, print or write the report, and return the exit code."""
    form, output = wanted
    if form not in ("text", "json", "svg", "html"):
        raise UsageError(f"--values writes text, json, svg and html, and no {form}.")
    if len(by.dtypes) > 2 and (form != "text" or output is not None):
        raise UsageError("More than two dtypes are told as text.")
    if len(steps) > 2 or (len(steps) == 2 and not request.is_of_one):
        raise UsageError("--step is given once, or twice of one script or trace: --step 3 --step 7.")
    sides = request.sides(twice=by.is_of_one or len(steps) == 2)
    _refuse_unused(request, by, sides)
    pairs: list[tuple[str, ...]] = [(by.dtypes[0], other) for other in by.dtypes[1:]] or [()]
    return max(_compared(sides, _ways(request, by, steps, pair), by, pair, wanted) for pair in pairs)


def _refuse_unused(request: Request, by: ByValues, sides: Sequence[Named]) -> None:
    """Raise `UsageError` for an option that changes nothing: what is no other run than the first is equal to it."""
    given = {**by.as_told, "--engines": request.engines}
    told = next((option for option, value in given.items() if value), "")
    if told and not any(name.endswith(SCRIPTS) for name, _ in sides):
        raise UsageError(f"{told} says how a script is run, and {sides[0][0]} is none.")
    if by.ranks and (by.seeds or by.dtypes):
        raise UsageError(f"{'--seed' if by.seeds else '--dtype'} is for scripts of one process, without --ranks.")


def _ways(request: Request, by: ByValues, steps: tuple[str, ...], dtypes: tuple[str, ...]) -> list[Way]:
    """The way in which each side is run."""
    if len(by.pythons) > 2:
        raise UsageError("Give --python once or twice.")
    settings = load()
    plain = not request.engines and (by.compiled or by.pythons)
    names = ("torch", "torch") if plain else request.running(settings)
    ways = []
    for at, name in enumerate(names):
        python, dtype = (by.pythons[at : at + 1] or ("",))[0], (dtypes[at : at + 1] or ("",))[0]
        seed = by.seeds[min(at, len(by.seeds) - 1)] if by.seeds else None
        step = steps[min(at, len(steps) - 1)] if steps else ""
        told = [f" in {dtype}"] * bool(dtype) + [f" by {python}"] * bool(python)
        told += [f", seed {seed}"] * (len(by.seeds) == 2) + [f", step {step}"] * (len(steps) == 2)
        told += [", eager"] * (by.compiled and not at)
        environment = EAGER if by.compiled and not at else {}
        kept = COMPARED if by.every is None else f"{COMPARED},1::{by.every}"
        ways.append(Way(chosen(name), python, kept, step, seed, environment, dtype, "".join(told), request.modules))
    return ways


def _compared(
    sides: Sequence[Named], ways: Sequence[Way], by: ByValues, dtypes: tuple[str, ...], wanted: tuple[str, Path | None]
) -> int:
    pairs = open_ranks(sides, ways, by.ranks)
    opened = pairs[0] if pairs else open_sides(sides, ways)
    found = compare_ranks(pairs) if pairs else compare(opened)
    if by.compiled and not pairs:
        which = compilers(found, opened[0].trace, sides[1], ways[1])
        found = replace(found, notes=(*found.notes, *[("compiled", which)] * bool(which)))
    second = [pair[1] for pair in pairs] or opened[1:]
    if by.compiled and not any(
        is_compiled(node) for side in second for step in side.trace.steps for node in step.graph
    ):
        found = replace(
            found,
            notes=(*found.notes, ("compiled", "the run with torch.compile has no CompiledFunction in its graphs")),
        )
    form, output = wanted
    told = _page(opened, found, sides) if form == "html" else content(found, opened, form)
    put_out(f"{' and '.join(dtypes)}: ".encode() * (form == "text" and bool(dtypes)) + told, output)
    return CODES[found.verdict]


def _page(opened: Sequence[Side], found: Divergence, sides: Sequence[Named]) -> bytes:
    """Make the page of both runs, where their numbers part marked."""
    traces = [_with(side.trace, its) for side, its in zip(opened, (found.old, found.new), strict=True)]
    settings = load()
    one, other = (Snapshot(each.script, trace_sections(each, settings)) for each in traces)
    return page_of_both(traces, sides, graph_compare(one, other, settings.tolerance).sentences, found)


def _with(trace: Trace, step: Step | None) -> Trace:
    """The trace with a step that was recorded later."""
    if step is None or any(each is step for each in trace.steps):
        return trace
    steps = [each for each in trace.steps if each.number != step.number]
    return replace(trace, steps=tuple(sorted([*steps, step], key=lambda each: each.number)))


def open_ranks(named: Sequence[Named], ways: Sequence[Way], ranks: int | None) -> list[tuple[Side, Side]]:
    """Read the traces of several ranks, or run scripts on so many, and pair them by rank; none where a run is of one
    process."""
    with temporary_folder() as place:
        goals = [Path(place, f"{number}.zip") for number in range(len(named))]
        found = [_ranks(*each, way, ranks, goal) for each, way, goal in zip(named, ways, goals, strict=True)]
    if not all(len(each) > 1 for each in found):
        return []
    if found[0].keys() != found[1].keys():
        raise CommandError(f"{named[0][0]} has {len(found[0])} ranks, and {named[1][0]} {len(found[1])}.")
    return [(one, found[1][rank]) for rank, one in found[0].items()]


def _ranks(name: str, revision: str | None, way: Way, ranks: int | None, goal: Path) -> dict[int, Side]:
    """The run of each rank; of scripts only where `ranks` are asked for."""
    path = Path(name)
    if name.endswith(SCRIPTS):
        if ranks is None:
            return {}
        path = goal
        with checked_out(Path(name), revision) as script:
            rank_recording.launch(
                script,
                ranks,
                goal,
                steps=way.kept,
                measured=("values",),
                name=name,
                engine=way.engine,
                environment=way.environment,
                executable=way.executable,
                **way.as_module(name, script),
            )
    listed = store.ranks_of(path) if path.is_file() else []
    return {each.rank: Side(name + way.words, _of_step(store.load(path, each.rank), way.step)) for each in listed}


def compare_ranks(pairs: Sequence[tuple[Side, Side]]) -> Divergence:
    """Return the divergence of the rank that parts first, with a note on the others."""
    found = [divergence(*(side.trace for side in pair)) for pair in pairs]
    numbers = [pair[0].trace.rank for pair in pairs]
    parted = [number for number, each in zip(numbers, found, strict=True) if each.verdict == "parted"]
    first = min(zip(found, numbers, strict=True), key=lambda pair: (*_when(pair[0]), pair[1]))
    until = first[0].old.number if parted and first[0].old is not None else None
    exact = all(each.exact for each in found)
    exchanged = first_parted([(one.trace, other.trace) for one, other in pairs], exact=exact, before=until)
    if exchanged is not None:
        return replace(first[0], verdict="parted", exchanged=exchanged)
    if not parted:
        return first[0]
    others = [number for number in numbers if number not in parted]
    told = f"{first[1]} parts first" + (f", of {rank_words(parted)}" if len(parted) > 1 else "")
    told += f"; {rank_words(others)} {'do' if len(others) > 1 else 'does'} not" if others else ""
    return replace(first[0], notes=(("rank", told), *first[0].notes))


def _when(found: Divergence) -> tuple[int, int, float]:
    """Order verdicts: what parts, by when that is, then what cannot be compared, then rounding."""
    order = ("parted", "incomparable", "rounding", "equal").index(found.verdict)
    return order, found.old.number if found.old is not None else 0, found.parting.time if found.parting else 0.0


def open_sides(named: Sequence[Named], ways: Sequence[Way]) -> list[Side]:
    """Read traces, and run scripts, of these names and revisions, each in its way, both at the same time."""
    return _each([*zip(named, ways, strict=True)], lambda each: _side(*each[0], each[1]))


def _side(name: str, revision: str | None, way: Way) -> Side:
    """Read a trace, or run a script."""
    if not name.endswith(SCRIPTS):
        path, rank = named_rank(name)
        return Side(name + way.words, _of_step(store.load(path, rank), way.step))
    title = (f"{name} at {revision}" if revision else name) + way.words

    def run(kept: str, *measured: str) -> Trace:
        with checked_out(Path(name), revision) as script:
            recorded = recording.record(
                script,
                steps=way.step if way.step.isdigit() else kept or way.kept,
                measured=("values", *measured),
                environment=way.environment,
                name=title,
                engine=way.engine,
                seed=way.seed,
                executable=way.executable,
                dtype=way.dtype,
                **way.as_module(name, script),
            )
        return _of_step(recorded.trace, way.step)

    def check(function: str) -> str:
        with checked_out(Path(name), revision) as script:
            how = way.as_module(name, script)
            what = ["-m", how["module"]] if how else [str(script)]
            words = ["check", "--json", "--order", "1", "--engine", way.engine, *what, function]
            runs = way.executable or sys.executable
            with sweeps.child("autograph_cli.cli.main", words, how.get("folder"), executable=runs) as process:
                return _said(process.communicate()[0])

    return Side(title, run(""), run, check)


def _of_step(trace: Trace, wanted: str) -> Trace:
    """The trace of one step alone, if one is wanted: it counts as the first, as that of the other side does."""
    if not wanted:
        return trace
    step = choose(trace, wanted)
    nodes = [_changed_since(node) if step.number else node for node in step.graph]
    alone = replace(step, number=0, graph=replace(step.graph, nodes=tuple(nodes)))
    return replace(trace, steps=(alone,), total_steps=1)


def _changed_since(node: Node) -> Node:
    """The node of a later step without the lines that made its numbers: these are others by now."""
    measured = node.measured
    return replace(node, measured=replace(measured, made=())) if measured is not None and measured.made else node


def _said(text: str) -> str:
    """Return the verdict of `autograph check --json` on the first derivative; nothing where it could not check it."""
    with contextlib.suppress(ValueError, LookupError, TypeError):
        one = json.loads(f"\n{text}"[f"\n{text}".rindex("\n[\n") :])[0]["orders"][0]
        return f"{one['error']:.1e}" + (f" ({one['worst']})" if one["worst"] else "")
    return ""


def compare(sides: Sequence[Side]) -> Divergence:
    """Return how the numbers of two runs compare. A run that parts, or whose rounding has grown, is repeated to see
    that it is the same each time, with each operation recomputed."""
    found, traces = _narrowed(sides)
    if found.verdict == "rounding" and (found.blurred or found.largest > GROWN):
        runs = _each(sides, lambda each: None if each.run is None else each.run("", "deviation"))
        traces = [trace if again is None else again for trace, again in zip(traces, runs, strict=True)]
        found = divergence(*traces)
    if found.verdict in ("equal", "rounding"):
        return found
    kept = str(found.old.nth) if found.old is not None else ""
    compiled = [step is not None and any(map(is_compiled, step.graph)) for step in (found.old, found.new)]
    measured = ("deviation", "formula", *["inside"] * any(compiled))
    repeated = _each(sides, lambda each: None if each.run is None else each.run(kept, *measured))
    for each, trace, again in zip(sides, traces, repeated, strict=True):
        if again is not None:
            # How long a run is, is not known where no more than a step of it was asked for.
            repeat = divergence(_only(trace, again), replace(again, total_steps=trace.total_steps))
            if repeat.verdict in ("parted", "incomparable"):
                told = f": {repeat.why or sentence(repeat, (each.name, each.name))}"
                return Divergence("incomparable", f"{each.name} is not the same each time it is run{told.rstrip('.')}")
    inside = _inside(found, compiled, repeated)
    return replace(found, notes=tuple(_notes(found, repeated, sides)), inside=inside)


def _inside(found: Divergence, compiled: Sequence[bool], repeated: Sequence[Trace | None]) -> Inside | None:
    """Return what parts first inside of a part that one run has compiled."""
    if compiled[0] == compiled[1] or found.old is None or found.verdict != "parted":
        return None
    steps = [each and next((step for step in each.steps if step.number == found.old.number), None) for each in repeated]
    one, other = steps if compiled[0] else steps[::-1]
    return first_inside(one.graph, other.graph) if one and other else None


def compilers(found: Divergence, eager: Trace, named: Named, way: Way) -> str:
    """Say which part of `torch.compile` makes the difference, as far as that can be told."""
    if found.inside is not None and found.inside.off:
        return "the graph of AOTAutograd is right, and its compiler makes the difference"
    if found.verdict != "parted" or not any(step is found.old for step in eager.steps):
        return ""
    traced = _side(*named, replace(way, environment=DYNAMO)).trace
    if any(is_compiled(node) for step in traced.steps for node in step.graph):
        return ""  # a PyTorch of which this cannot be asked
    parts = divergence(eager, traced)
    if parts.verdict == "parted":
        what = sentence(parts, ("", "")).partition(", ")[2].rstrip(".")
        return f"the backend eager, which runs what TorchDynamo traced, parts too, {what}"
    if parts.verdict == "incomparable":
        return ""
    if found.inside is not None:
        return "the backend eager does not part: AOTAutograd makes the difference"
    return "the backend eager does not part, and of what was compiled all results that can be seen are right"


def _each(sides: Sequence[S], what: Callable[[S], T]) -> list[T]:
    """Return what this gives for both sides, which are run at the same time."""
    with sweeps.pool(len(sides)) as pool:
        assert pool is not None
        return list(pool.map(what, sides))


def _only(trace: Trace, other: Trace) -> Trace:
    """The steps that another trace has too."""
    numbers = {step.number for step in other.steps}
    return replace(trace, steps=tuple(step for step in trace.steps if step.number in numbers))


def _notes(found: Divergence, repeated: Sequence[Trace | None], sides: Sequence[Side]) -> Iterator[tuple[str, str]]:
    """Yield the measurements of the node that parts; of a custom Function also the verdicts of `autograph check` on
    both."""
    parting = found.parting
    if parting is None or found.old is None or found.new is None:
        return
    once = (found.old, parting.old), (found.new, parting.new)
    nodes = [_again(*each, trace) for each, trace in zip(once, repeated, strict=True)]
    one, other = nodes
    if one is None or other is None or one.measured is None or other.measured is None:
        return
    names = Path(sides[0].name).name, Path(sides[1].name).name
    yield from recomputed(found, (one.measured, other.measured), names)
    if parting.kind == "formula" and one.is_custom and other.is_custom:
        said = [each.check and each.check(node.op) for each, node in zip(sides, (one, other), strict=True)]
        if all(said):
            yield "check", f"off from finite differences by {said[0]} in {names[0]} and by {said[1]} in {names[1]}"


def _again(step: Step, number: int | None, trace: Trace | None) -> Node | None:
    """The node of a step in the trace of another run of the same, which may have more of what left no node."""
    same = None if trace is None else next((each for each in trace.steps if each.number == step.number), None)
    if same is None or number is None:
        return None
    like = Aligned(step.graph, same.graph, same_engine=True).pairs.get(number)
    return None if like is None else same.graph[like]


def _narrowed(sides: Sequence[Side]) -> tuple[Divergence, list[Trace]]:
    """Compare both runs; where steps between were not kept that parted first, scripts are run again for these."""
    traces = [each.trace for each in sides]
    found = divergence(*traces)
    if found.gap is None or any(each.run is None for each in sides):
        return found, traces
    low, high = found.gap

    def both(kept: str) -> list[Trace]:
        return _each(sides, lambda each: each.run(kept) if each.run is not None else each.trace)

    while high - low > NEAR:
        middle = (low + high) // 2
        between = divergence(*both(str(middle + 1)))  # steps are asked for counting from 1
        if between.parting is None:
            low = middle
        else:
            high = middle
    traces = both(f"{low + 2}:{high + 2}")
    return divergence(*traces), traces


def content(found: Divergence, sides: Sequence[Side], form: str) -> bytes:
    """Write how the numbers of two runs compare, as `text`, `json` or `svg`."""
    names = sides[0].name, sides[1].name
    if form == "svg":
        return parted_side_by_side(found, names)
    if form == "json":
        return (json.dumps(as_dict(found, names), indent=1) + "\n").encode()
    return "".join(f"{line}\n" for line in text(found, names)).encode()
