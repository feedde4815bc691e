"""Snapshots beside scripts: which scripts are meant, what each of them made, and several at once."""

from __future__ import annotations

import contextlib
import glob
import importlib.metadata
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from autograph_cli.engines import chosen
from autograph_cli.graph import Graph, Section, Slice, Snapshot, Step, Trace, views
from autograph_cli.graph.compared import results
from autograph_cli.graph.digests import digest_lines
from autograph_cli.graph.ledger_text import changing_hooks
from autograph_cli.graph.numbers import digest, numbers
from autograph_cli.graph.ranks import words
from autograph_cli.graph.records import Exact, Measured, Node, Values
from autograph_cli.graph.snapshot import EXTRAS
from autograph_cli.record.graphs.causes import switches
from autograph_cli.record.log.steps import Selection
from autograph_cli.record.measure.values import summary
from autograph_cli.testing import rank_recording, recording
from autograph_cli.testing.files import SUFFIX
from autograph_cli.testing.settings import STEPS, Settings, SettingsError

SKIPPED = ("_", "test_", "conftest", "setup.")
"""A folder stands for its scripts; files of these names are none."""
_TRACES = (".json", ".json.gz", ".zip")


def snapshot_path(script: Path) -> Path:
    """Return where the snapshot of a script is: beside it.

    >>> snapshot_path(Path("samples/expr.py")).as_posix()
    'samples/expr.graph.txt'
    """
    return script.with_name(script.name.removesuffix(".py") + SUFFIX)


def script_path(snapshot: Path) -> Path:
    """The script that a snapshot belongs to."""
    return snapshot.with_name(snapshot.name.removesuffix(SUFFIX) + ".py")


def find(names: Sequence[str], settings: Settings, *, known: bool = False) -> list[Path]:
    """The scripts that files, snapshots, folders and patterns stand for; without names, those of the settings.

    With `known`, only those that have a snapshot, and without names all of them. Raises `SettingsError` for what is
    not there.
    """
    found: dict[Path, None] = {}
    for name in names:
        its = list(_named(name))
        if not its:
            raise SettingsError(
                f"There is no script in {name}." if Path(name).is_dir() else f"No script is named {name}."
            )
        found |= dict.fromkeys(its)
    if not names and settings.files:
        for pattern in settings.files:
            found |= dict.fromkeys(_relative(Path(path)) for path in _glob(str(settings.folder / pattern)))
        if not found:
            raise SettingsError(f"No script is named {', '.join(settings.files)}, as tool.autograph.files says.")
    elif not names and known:
        found |= dict.fromkeys(_below(Path(".")))
    elif not names:
        raise SettingsError("Name a script, a folder or a pattern, or say `files = [...]` in [tool.autograph].")
    left_out = {Path(path).resolve() for entry in settings.exclude for path in _glob(str(settings.folder / entry))}
    scripts = [path for path in found if path.resolve() not in left_out]
    return [path for path in scripts if snapshot_path(path).exists()] if known else scripts


def _named(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.is_dir():
        yield from _below(path)
    elif name.endswith(SUFFIX):
        yield script_path(path)
    elif path.exists() and not name.endswith(_TRACES):
        yield path
    elif path.exists():
        raise SettingsError(f"{name} is no script: a snapshot is made of what a script records when it runs.")
    elif glob.has_magic(name):
        yield from (Path(entry) for entry in _glob(name) if entry.endswith(".py"))
    else:
        raise SettingsError(f"There is no file {name}.")


def _glob(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))


def _below(folder: Path) -> Iterator[Path]:
    """The scripts in a folder, without those in hidden folders and environments."""
    for position, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith((".", "__")) and not Path(position, name, "pyvenv.cfg").exists()
        )
        scripts = [name for name in sorted(files) if name.endswith(".py") and not name.startswith(SKIPPED)]
        yield from (Path(position, name) for name in scripts)


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def module_path(module: str) -> Path:
    """The file of a module, or of a package's `__main__`, below the working directory; raises `SettingsError`."""
    place = Path(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__main__.py"):
        if path.is_file():
            return path
    raise SettingsError(f"There is no module {module} here: neither {place.as_posix()}.py nor a package of this name.")


def start_of(script: Path, module: str) -> Path | None:
    """Return the folder from which a module in this file is run: the one that its package is in."""
    levels = len(module.split(".")) - (script.name != "__main__.py")
    return script.parents[levels] if levels < len(script.parents) else None


def take(
    script: Path,
    settings: Settings,
    *,
    name: str = "",
    folder: Path | None = None,
    ranks: int = 1,
    module: str = "",
    seed: int | None = None,
) -> Snapshot:
    """Run a script, and make a snapshot of what it recorded; raises `RecordingError` if it fails.

    With `module` it is run as `python -m` does, from the folder that its package is in; `seed` is as `recording.record`
    takes it.
    """
    if ranks == 1:
        return taken(script, settings, name=name, folder=folder, module=module, seed=seed)[0]
    folder = start_of(script.resolve(), module) if module else folder
    return _take_ranks(script.resolve(), ranks, settings, name or str(script), folder, module)


def taken(
    script: Path,
    settings: Settings,
    *,
    name: str = "",
    folder: Path | None = None,
    module: str = "",
    seed: int | None = None,
    measured: Sequence[str] = (),
) -> tuple[Snapshot, Trace]:
    """Return the snapshot of a script with the trace that it is of, and what is `measured` beside it; see `take`."""
    position = script.resolve()
    if module:
        folder = start_of(position, module)
    recorded = recording.record(
        position,
        _arguments(script, settings),
        steps=Selection.divided(settings.steps)[1],
        folder=folder,
        name=name or str(script),
        extras=[extra for extra in EXTRAS if extra in settings.include],
        engine=settings.engine,
        module=module,
        seed=seed,
        measured=tuple(measured) + ("values",) * ("digests" in settings.include),
    )
    trace = kept_steps(recorded.trace, settings.steps)
    made = Snapshot(
        script.name,
        trace_sections(trace, settings),
        settings.include,
        trace.total_steps,
        recorded.values,
        recorded.formulas,
        tuple(trace_digests(trace)) if "digests" in settings.include else (),
        hooks=trace_hooks(trace, settings),
        switches=switches((step.graph for step in trace.steps), position),
    )
    return replace(made, **_how(settings), module=module), trace


def _arguments(script: Path, settings: Settings) -> Sequence[str]:
    """The arguments that a script is run with."""
    position = script.resolve()
    inside = position.is_relative_to(settings.folder)
    return settings.arguments.get((position.relative_to(settings.folder) if inside else script).as_posix(), ())


def _take_ranks(script: Path, ranks: int, settings: Settings, name: str, folder: Path | None, module: str) -> Snapshot:
    """The sections of each rank, once for those whose sections are the same."""
    extras = [extra for extra in EXTRAS if extra in settings.include]
    if extras:
        raise recording.RecordingError(f"{name}: a snapshot of {ranks} ranks holds no {' and no '.join(extras)}.")
    with rank_recording.record(
        script,
        ranks,
        _arguments(script, settings),
        steps=Selection.divided(settings.steps)[1],
        folder=folder,
        name=name,
        engine=settings.engine,
        module=module,
    ) as recorded:
        made = of_ranks(((those, kept_steps(trace, settings.steps)) for those, trace in recorded), ranks, settings)
    return replace(made, name=script.name, **_how(settings), module=module)


def of_ranks(recorded: Iterable[tuple[list[int], Trace]], ranks: int, settings: Settings) -> Snapshot:
    """The snapshot of traces of several ranks, each with the numbers of the ranks that recorded the same."""
    bands: dict[str, _Band] = {}
    for those, trace in recorded:
        band = _Band(trace_sections(trace, settings), tuple(_exchanged(trace)), trace.total_steps)
        text = Snapshot("", band.sections, settings.include, collectives=band.exchanged).to_text()
        bands.setdefault(text, band).ranks.extend(those)
    sections, exchanged = [], []
    for band in bands.values():
        whose = f", {words(band.ranks)}" if len(bands) > 1 else ""
        sections += [replace(one, title=_of(one.title, ",", whose)) for one in band.sections]
        exchanged += [_of(line, ":", whose) for line in band.exchanged]
    steps = max(band.steps for band in bands.values())
    held = settings.include
    return Snapshot("", tuple(sections), held, steps, ranks=ranks, collectives=tuple(exchanged))


def _how(settings: Settings) -> dict[str, str]:
    """Return the entries in a snapshot's head that say how its script is run."""
    kept = "" if settings.steps == STEPS else settings.steps
    engine = chosen(settings.engine)
    pytorch = ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # one that is built and not installed
        pytorch = importlib.metadata.version("torch").partition("+")[0] if engine == "torch" else ""
    return {"engine": engine, "pytorch": pytorch, "kept": kept, "within": ",".join(settings.within)}


@dataclass(slots=True)
class _Band:
    """Ranks that recorded the same."""

    sections: tuple[Section, ...]
    exchanged: tuple[str, ...]
    steps: int
    ranks: list[int] = field(default_factory=list)


def _exchanged(trace: Trace) -> Iterator[str]:
    kept = {step.number for step in trace.steps}
    for each in trace.collectives:
        if each.step in kept and each.bytes:
            names = f" ({', '.join(each.tensors)})" if each.tensors else ""
            whom = words(each.ranks) if each.peer is None else f"with rank {each.peer}"
            yield f"step {each.step + 1}: {each.op}, {each.bytes} bytes, {whom}{names}"


def _of(title: str, mark: str, whose: str) -> str:
    """The title, or line, with whose it is before the first mark."""
    step, mark, rest = title.partition(mark)
    return f"{step}{whose}{mark}{rest}"


def kept_steps(trace: Trace, asked: str) -> Trace:
    """The trace with the steps that were asked for, where some of them were by a line or a root."""
    selection, _, names = Selection.divided(asked)
    if not names:
        return trace
    firsts = {step.kind: step.number for step in reversed(trace.steps)}.values() if selection.first else ()
    lasts = {step.kind: step.number for step in trace.steps}.values() if selection.last else ()
    numbers = {*firsts, *lasts, *(trace.step_named(name).number for name in names)}
    return replace(trace, steps=tuple(s for s in trace.steps if s.number in numbers or selection.keeps(s.number)))


def trace_sections(trace: Trace, settings: Settings) -> tuple[Section, ...]:
    """One section for each view of each step that was kept."""

    def graph(view: str, step: Step) -> Graph:
        return Slice(modules=settings.within).of(results(_VIEWS[view](step), settings.include))

    return tuple(
        Section(f"step {step.nth}" + (f", {view.replace('-', ' ')}" if view != "graph" else ""), graph(view, step))
        for step in trace.steps
        for view in settings.views
    )


def trace_values(trace: Trace) -> Iterator[str]:
    """`loss = 0.25` and `w.grad = [1, 2]`, of the named tensors of each step that was kept, and of the gradients that
    each pass brought to its leaves; nothing where they were not recorded."""
    met: Counter[str] = Counter()
    for step in trace.steps:
        for node in step.graph:
            if not (node.outputs and node.outputs[0].names):
                continue
            for word, text in _told(node, node.outputs[0].names[0], step.graph):
                met[word] += 1  # a name may stand for one tensor after another
                which = f" ({met[word]})" if met[word] > 1 else ""
                yield f"{word}{which} = {text}"


def _told(node: Node, name: str, graph: Graph) -> Iterator[tuple[str, str]]:
    """The values of a node's first output; of a leaf, also the gradient that each pass brought."""
    measured = node.measured or Measured()
    if measured.values and measured.values[0] is not None:
        yield name, _numbers(measured.values[0])
    if node.kind == "leaf":
        gradients = [(graph.passes[flow.pass_id].call, _exact_text(*flow.given)) for flow in measured.flows]
        if not gradients and measured.gradients:  # of an older trace, which has the first alone
            gradients = [("backward", _numbers(values)) for values in measured.gradients[:1] if values is not None]
        for call, text in gradients:
            yield f"{name}.grad" if call == "backward" else f"grad of {name}", text


def _exact_text(exact: Exact | None = None) -> str:
    """The numbers of a tensor as far as they are kept: of a large one what tells it from another."""
    if exact is None:
        return "none"
    found = summary(numbers(exact)) if exact.data else None
    if found is not None:
        return _numbers(found)
    norm, sums = digest(exact)
    return ", ".join([f"norm {norm:.6g}", *(f"sum {number:.6g}" for number in sums)])


def trace_hooks(trace: Trace, settings: Settings) -> tuple[str, ...]:
    """Return the hooks that change gradients; of a snapshot of one module none, for it has no backward calls."""
    return () if settings.within else tuple(changing_hooks(trace.ledger))


def trace_digests(trace: Trace) -> Iterator[str]:
    """Yield the digests of the first step that was kept, as far as it was recorded with numbers."""
    first = next((step for step in trace.steps if step.has_nodes), None)
    yield from () if first is None else digest_lines(first)


def _numbers(values: Values) -> str:
    if values.whole:
        return " ".join(line.strip() for line in values.whole)
    told = {"mean": values.mean, "norm": values.norm, "min": values.low, "max": values.high}
    shown = [f"{word} {number}" for word, number in told.items() if number]
    return ", ".join([*shown, f"{values.zeros} zeros", f"{values.nans} NaN", f"{values.count} elements"])


def _double(step: Step) -> Graph:
    return step.double or views.double_backward(step.graph)


_VIEWS: dict[str, Callable[[Step], Graph]] = {
    "graph": lambda step: step.graph,
    "forward": lambda step: views.forward(step.graph),
    "backward": lambda step: views.backward(step.graph),
    "double-backward": _double,
}
