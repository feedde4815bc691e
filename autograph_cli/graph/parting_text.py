"""Sentences on the place where the numbers of two runs part first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autograph_cli.graph.aligned import OTHER, USUAL, Aligned
from autograph_cli.graph.compared import constants, drawn, drawn_otherwise, labelled
from autograph_cli.graph.divergence import Divergence
from autograph_cli.graph.parting import Parting
from autograph_cli.graph.parting_collectives import Parted, details as exchange_details, said
from autograph_cli.graph.parting_inside import Inside
from autograph_cli.graph.records import Edge, Graph, Measured, Node, Source
from autograph_cli.graph.review_words import data
from autograph_cli.graph.views import walk

MOST = 8
"""The most gradients that are listed."""
Names = tuple[str, str]
"""The names of both runs."""


def text(found: Divergence, names: Names) -> Iterator[str]:
    """Yield the lines of the report."""
    yield sentence(found, names)
    if found.exchanged is not None:
        for word, told in (*exchange_details(found.exchanged), *_spread(found)):
            yield f"  {word:<9} {told}"
    elif found.parting is not None and found.verdict == "parted":
        for word, told in _details(found):
            yield f"  {word:<9} {told}"
    elif found.verdict != "parted":
        for word, told in found.notes:
            yield f"  {word:<9} {told}"
    if found.looked:
        of = f" of {found.total}" if found.steps < found.total and found.verdict != "parted" else ""
        steps = f"in {found.steps}{of} step{'s' * (found.steps != 1 or bool(of))}"
        unseen = f"; {found.unseen} could not be" if found.unseen else ""
        are = "operations and inputs have" if found.alone > 1 else "operation or input has"
        alone = f"; {found.alone} {are} no like in the other run" if found.alone else ""
        yield f"  compared  {found.looked:,} tensors, gradients included, {steps}{unseen}{alone}"


def sentence(found: Divergence, names: Names) -> str:
    """Return the verdict."""
    if found.verdict == "incomparable":
        return f"The numbers cannot be compared: {_named(found.why, names)}."
    if found.verdict == "equal":
        return "The numbers are equal, bit for bit, in all that the graphs have."
    if found.verdict == "rounding":
        most = f": by {found.largest:.1e} of a tensor's largest number at most" if found.largest else ""
        told = f", as far as can be told: {found.blurred} may be more" if found.blurred else ""
        return f"The numbers differ by rounding only{most}{told}."
    if found.exchanged is not None:
        return _of_exchange(found.exchanged)
    assert found.parting is not None
    return _first(found, found.parting, names)


def _of_exchange(found: Parted) -> str:
    at = " and ".join(dict.fromkeys(f"{source.file}:{source.line}" for source in found.places)) or "a collective"
    step = found.exchange.old.step
    return f"The runs part at {at}{f' in step {step + 1}' * bool(step)}, {found.direction}: {said(found)}."


def as_dict(found: Divergence, names: Names) -> dict[str, Any]:
    """Return the report as plain data."""
    told: dict[str, Any] = {
        "format": "autograph-diff-values", "version": 1, "verdict": found.verdict, "sentence": sentence(found, names),
        "steps": found.steps, "compared": found.looked, "not_compared": found.unseen, "without_like": found.alone,
        "largest_rounding": found.largest,
    }  # fmt: skip
    if found.exchanged is not None:
        one = found.exchanged
        told["first"] = {
            "kind": "collective",
            "direction": one.direction,
            "step": one.exchange.old.step + 1,
            "places": [{"file": each.file, "line": each.line} for each in one.places],
            "operations": [one.exchange.old.op, one.exchange.new.op],
            "relative": _finite(one.apart.relative),
            "ranks": list(one.ranks),
            "details": dict(exchange_details(one)),
        }
        return told
    parting = found.parting
    if parting is None or found.old is None or found.new is None or found.verdict != "parted":
        return told
    sources = _places(found, parting)
    told["first"] = {
        "kind": "compiled" if found.inside is not None else parting.kind,
        "direction": _direction(found, parting),
        "step": found.old.nth,
        "places": [{"file": each.file, "line": each.line} for each in sources],
        "operations": [None if number is None else _op(graph[number]) for graph, number in _nodes(found, parting)],
        "relative": _finite(parting.apart.relative),
        "index": parting.apart.index,
        "values": None if parting.apart.index is None else [str(parting.apart.old), str(parting.apart.new)],
        "details": _by_word(found, parting),
    }
    told["gradients"] = [
        {"name": each.name, "order": each.order, "relative": _finite(each.relative), "parted": each.parted}
        for each in found.spread
    ]
    return told


def first_place(found: Divergence) -> Source | None:
    """The line that is named first."""
    return None if found.parting is None else next(iter(_places(found, found.parting)), None)


def place(graph: Graph, number: int | None) -> Source | None:
    """The line of a node; of a leaf or an input that of what uses it first."""
    if number is None:
        return None
    node = graph[number]
    if node.source is not None:
        return node.source
    users = (other for other in graph if other.source is not None and any(edge.node == number for edge in other.args))
    return next((other.source for other in users), None)


# -- the first sentence


def _first(found: Divergence, parting: Parting, names: Names) -> str:
    told = [f"{source.file}:{source.line}" for source in _places(found, parting)]
    step = f" in step {found.old.nth}" if found.old is not None and (found.old.number or found.steps > 1) else ""
    if found.why:
        return f"The runs part{step}, where {_what(found, parting)}: {_named(found.why, names)}."
    at = " and ".join(dict.fromkeys(told)) or "a place without a line"
    said = _what(found, parting) if found.inside is None else _of_inside(found.inside)
    return f"The runs part at {at}{step}, {_direction(found, parting)}: {said}."


def _of_inside(inside: Inside) -> str:
    if inside.off:
        return f"{inside.op}, as it was compiled, is off by {inside.off:.1e} from float64 on the same numbers"
    ops = f", {', '.join(inside.ops[:MOST])}," if inside.ops else ""
    return f"what torch.compile made of this line{ops} makes other numbers of the same"


def _what(found: Divergence, parting: Parting) -> str:
    one, other = (None if number is None else graph[number] for graph, number in _nodes(found, parting))
    node = one or other
    assert node is not None
    called = _called(node)
    if parting.kind == "state":
        if found.stepped is not None:
            return f"{called} begins with other numbers, though its gradient in the step before is the same"
        if one is not None and other is not None and drawn_otherwise(one, other):
            named = called if one.outputs[0].names or one.module else "an input"
            by = data(other).removeprefix("is drawn ")
            return f"{named} {data(one)} in the first run, and {by} in the second"
        return f"{_state(found, parting)}{called} begins with other numbers"
    if parting.kind == "operation" and one is not None and other is not None:
        if _op(one) != _op(other):
            return f"{_op(one)} is {_op(other)} now, and makes other numbers of the same inputs"
        return f"{_state(found, parting)}{_op(one)} makes other numbers of the same inputs"
    if parting.kind == "formula":
        return f"the backward of {_op(node)} sends on another gradient, though it was given the same"
    if parting.kind == "hook":
        return f"the gradient of {called} is another one, though what was sent to it is the same: a hook changes it"
    if parting.kind == "cut":
        to = node.next[parting.nr] if one is not None and parting.lost else None
        whom = f" to {_called(_graph(found, 0)[to.node])}" if to is not None else ""
        which = "second" if parting.lost else "first"
        ended = _graph(found, int(parting.lost))[parting.ends] if parting.ends is not None else None
        by = "" if ended is None else f": {_op(ended)} ends it"
        if ended is not None and ended.kind == "operation":
            by = f": {_op(ended)} gets none, a leaf stands in its place"
        return f"no gradient goes on from {_op(node)}{whom} in the {which} run{by}"
    if parting.kind == "graph":
        kept = [step.graph.passes[parting.pass_id or 0].create_graph for step in (found.old, found.new) if step]
        return f"the {'first' if kept[0] else 'second'} run alone keeps a graph of the gradients (create_graph)"
    if parting.kind == "seed":
        return "the backward call begins with another gradient"
    return _of_part(found, parting)


def _state(found: Divergence, parting: Parting) -> str:
    """Begin the sentence where nothing of the model is behind it: other random numbers, or other data."""
    nodes = [(graph, graph[number]) for graph, number in _nodes(found, parting) if number is not None]
    behind = [node for graph, one in nodes for node in map(graph.__getitem__, walk(graph, [one.id], _given_by))]
    if any(node.kind == "leaf" or node.next for node in behind):
        return ""
    random = not nodes[0][1].computes and all(drawn(one) for _, one in nodes)
    return "the random numbers differ: " if random else "the data differ: "


def _given_by(node: Node) -> tuple[Edge, ...]:
    return node.args


def _of_part(found: Divergence, parting: Parting) -> str:
    taken = _taken(found, parting)
    if taken is not None:
        user = _graph(found, 0)[parting.old or 0]
        one, other = (_output(_graph(found, which), edge) for which, edge in enumerate(taken))
        return f"{_op(user)} takes {one} in the first run and {other} in the second"
    olds, news = (
        ", ".join(dict.fromkeys(_op(graph[number]) for number in numbers))
        for graph, numbers in ((_graph(found, 0), parting.olds), (_graph(found, 1), parting.news))
    )
    if olds and news:
        what = "send on another gradient" if parting.backward else "make other numbers of the same inputs"
        return f"{olds} in the first run and {news} in the second {what}"
    there, which = (olds, "first") if olds else (news or "an operation", "second")
    s = "" if "," in there else "s"
    if parting.backward:  # the operation may well be in the other run, without a gradient
        return f"{there} send{s} on a gradient in the {which} run only"
    return f"only the {which} run has {there} here, which make{s} other numbers"


def _taken(found: Divergence, parting: Parting) -> tuple[Edge, Edge] | None:
    """Return what an operation takes in both runs, where these are other ones of the same tensors."""
    if parting.kind != "part" or parting.backward or parting.olds or parting.news:
        return None
    assert found.aligned is not None and parting.old is not None and parting.new is not None
    aligned = found.aligned
    pairs = zip(aligned.old[parting.old].args, aligned.new[parting.new].args, strict=False)
    wired = ((mine, its) for mine, its in pairs if not aligned.like(mine, its))
    return next(((mine, its) for mine, its in wired if aligned.compare(mine, its).level == "parted"), None)


def _output(graph: Graph, edge: Edge) -> str:
    """The name of an output, with its number where the node has several."""
    node = graph[edge.node]
    names = node.outputs[edge.nr].names
    several = f"output {edge.nr} of {_op(node)}" if len(node.outputs) > 1 else ""
    return several or (names[0] if names else _called(node))


def _called(node: Node) -> str:
    names = node.outputs[0].names if node.outputs else ()
    if names or not node.computes:
        return names[0] if names else node.module or _op(node)
    return f"{_op(node)} in {node.module}" if node.module else _op(node)


def _op(node: Node) -> str:
    return node.op or node.kind


def _direction(found: Divergence, parting: Parting) -> str:
    return "backward" if (found.inside or parting).backward else "forward"


def _graph(found: Divergence, which: int) -> Graph:
    assert found.old is not None
    assert found.new is not None
    return (found.old, found.new)[which].graph


def _nodes(found: Divergence, parting: Parting) -> list[tuple[Graph, int | None]]:
    """The node of each run; of a part that begins later in the old run, or is not there, that of the new one first."""
    both: list[tuple[Graph, int | None]] = [(_graph(found, 0), parting.old), (_graph(found, 1), parting.new)]
    return both[::-1] if parting.later or (parting.kind == "part" and parting.old is None) else both


def _places(found: Divergence, parting: Parting) -> list[Source]:
    """The lines to be named: of a cut that of what ends the history first."""
    if found.inside is not None:
        return [found.inside.source] if found.inside.source is not None else []
    told = [place(graph, number) for graph, number in _nodes(found, parting)]
    if parting.kind == "cut" and parting.ends is not None:
        told.insert(0, place(_graph(found, int(parting.lost)), parting.ends))
    taken = _taken(found, parting)
    if taken is not None and _made_otherwise(found, taken, told):
        told = [place(_graph(found, which), edge.node) for which, edge in enumerate(taken)]
    if parting.kind in ("seed", "graph") and found.old is not None and found.new is not None:
        told = [step.graph.passes[parting.pass_id or 0].source for step in (found.old, found.new)]
    if parting.kind == "state":
        told = [*filter(None, _made(found, parting))] or told
    return [each for each in told if each is not None]


def _made(found: Divergence, parting: Parting) -> list[Source | None]:
    """The lines that made the numbers that a step begins with: that of the optimizer's step, or in the first step the
    first ones of those that made the tensor that do not say the same."""
    if found.stepped is not None or found.old is None or found.old.number:
        return [found.stepped]
    measured = [graph[number].measured for graph, number in _nodes(found, parting) if number is not None]
    lines = [() if each is None else each.made for each in measured]
    pairs = [*zip(*lines, strict=False)]
    return (
        [*next((pair for pair in pairs if len({each.text for each in pair}) > 1), ())] or [*pairs[-1]] if pairs else []
    )


def _made_otherwise(found: Divergence, taken: tuple[Edge, Edge], told: list[Source | None]) -> bool:
    """Return whether two outputs of one node are taken on lines that say the same, and the line that makes them says
    another thing: this one is the cause, as in `k, q, v = ...`."""
    makers = [place(_graph(found, which), edge.node) for which, edge in enumerate(taken)]
    like = found.aligned is not None and found.aligned.pairs.get(taken[0].node) == taken[1].node
    texts, made = ({each and each.text for each in sources} for sources in (told, makers))
    return like and len(texts) == 1 and len(made) == 2


def _named(why: str, names: Names) -> str:
    """The sentence with the names of the runs, where these are short and two.

    >>> _named("the first has 2 steps; only the second run has mul", ("a.py", "b.py"))
    'a.py has 2 steps; only the second run has mul'
    """
    one, other = (Path(name).name for name in names)
    if one == other:
        return why
    return re.sub(r"\bthe first\b(?! (\d|run))", one, re.sub(r"\bthe second\b(?! run)", other, why))


# -- below it


def _details(found: Divergence) -> Iterator[tuple[str, str]]:
    parting = found.parting
    assert parting is not None
    assert found.aligned is not None
    nodes = [graph[number] for graph, number in _nodes(found, parting) if number is not None]
    inside = found.inside
    sources = [node.source for node in nodes] if inside is None else [inside.source]
    for line in dict.fromkeys(source.text for source in sources if source is not None and source.text):
        yield "line", line
    if inside is not None:
        yield "shows", _what(found, parting)
    output = next((node.outputs[0].type for node in nodes if node.outputs), None)
    module = next((node.module for node in nodes if node.module), "")
    order = nodes[0].order if nodes else 0
    yield "shape", ", ".join(filter(None, (str(output or ""), module and f"in {module}", f"order {order}")))
    told = _constants(found, parting)
    if told and inside is None:
        yield "constants", told
    worst = _worst(parting, nodes)
    if worst:
        yield "worst", worst
    given = _given(found.aligned, parting)
    if given:
        yield "given", given
    if parting.hooks:
        yield "hook", "registered at " + " and ".join(f"{each.file}:{each.line}, {each.text}" for each in parting.hooks)
    if found.options and parting.kind == "state":
        yield "optimizer", found.options.removeprefix("the optimizer ")
    yield from found.notes
    yield from _spread(found)


def _constants(found: Divergence, parting: Parting) -> str:
    """The plain arguments of both nodes; of the same operation those that differ; of one without a like its own."""
    nodes = [(graph, graph[number]) for graph, number in _nodes(found, parting) if number is not None]
    if bool(parting.olds) != bool(parting.news):  # what stands on the other side is another operation
        nodes = [(graph, node) for graph, node in nodes if graph is _graph(found, int(bool(parting.news)))]
    told = [dict(labelled(graph, node)) if node.is_operation else constants(node) for graph, node in nodes]
    if len({node.op for _, node in nodes}) < len(nodes):
        shared = set.intersection(*[set(each.items()) for each in told])
        told = [{name: value for name, value in each.items() if (name, value) not in shared} for each in told]
    said = [", ".join(f"{name}={value}" for name, value in each.items()) for each in told]
    told_apart = len(set(said)) > 1 or (len(nodes) == 1 and said[0])
    return " and ".join(words or "none" for words in said) if told_apart else ""


def _by_word(found: Divergence, parting: Parting) -> dict[str, str]:
    """The details by word, with the lines of both runs where these are two."""
    told = dict(_details(found))
    old = _graph(found, 0)
    sources = [
        ("old_line" if graph is old else "new_line", graph[n].source)
        for graph, n in _nodes(found, parting)
        if n is not None
    ]
    lines = {word: source.text for word, source in sources if source is not None and source.text}
    if len(set(lines.values())) > 1:
        del told["line"]
        return lines | told
    return told


def _worst(parting: Parting, nodes: list[Node]) -> str:
    apart = parting.apart
    if not math.isfinite(apart.difference):
        return ""
    if apart.index is None:
        return f"{apart.relative:.1e} of the norm, {_number(apart.old)} and {_number(apart.new)}" if apart.scale else ""
    ulps = apart.ulps(parting.eps)
    units = f"{ulps:,.0f} ulp, " if math.isfinite(ulps) else ""
    where = _position(parting, nodes)
    return f"{where}{_number(apart.old)} and {_number(apart.new)}: {units}{apart.relative:.1e} of the largest number"


def _position(parting: Parting, nodes: list[Node]) -> str:
    """The index of the worst element, where it is one of the output that is looked at."""
    index, outputs = parting.apart.index, nodes[0].outputs if nodes else ()
    if index is None or parting.kind in ("formula", "part", "cut") or parting.nr >= len(outputs):
        return ""
    shape = outputs[parting.nr].type.shape
    if not shape or min(shape) < 1 or index >= math.prod(shape):
        return ""
    return f"[{', '.join(map(str, map(int, np.unravel_index(index, shape))))}]: "


def _number(number: complex) -> str:
    return f"{number.real:.7g}" if not number.imag else f"{number:.7g}"


def _given(aligned: Aligned, parting: Parting) -> str:
    """Return the names of the arguments of the operation that are still equal."""
    if parting.old is None or parting.new is None or parting.kind in ("state", "part", "seed", "graph"):
        return ""
    one, other = aligned.old[parting.old], aligned.new[parting.new]
    told = []
    for mine, its in zip(one.args, other.args, strict=False):
        level = aligned.compare(Edge(mine.node, mine.nr), its).level
        how = {"same": "equal", "rounding": "equal but for rounding"}.get(level)
        if how:
            told.append(f"{_called(aligned.old[mine.node])} {how}")
    if parting.backward and parting.kind in ("formula", "cut"):
        told.append("the gradient that came equal")
    return ", ".join(told)


def _spread(found: Divergence) -> Iterator[tuple[str, str]]:
    """The gradients of leaves that are apart, those furthest first."""
    parted = sorted((each for each in found.spread if each.parted), key=lambda each: -each.relative)
    if not parted:
        return
    shown = [f"{each.name or 'a leaf'} {_relative(each.relative)}" for each in parted[:MOST]]
    more = f" and {len(parted) - MOST} more" if len(parted) > MOST else ""
    orders = sorted({each.order for each in parted})
    yield "spreads", f"to the gradients (order {', '.join(map(str, orders))}) of {', '.join(shown)}{more}"


def _relative(value: float) -> str:
    return f"by {value:.1e}" if math.isfinite(value) else "in one run only"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _formula(measured: Measured) -> str:
    """The derivatives, or the lines of a custom backward."""
    return "; ".join(line.strip() for line in measured.formula if not line.strip().startswith(("def ", "@")))


def recomputed(found: Divergence, measured: tuple[Measured, Measured], names: Names) -> Iterator[tuple[str, str]]:
    """Yield the results of recomputing both operations in float64, each on the numbers that it was given."""
    parting = found.parting
    if parting is None or parting.kind not in ("operation", "formula"):
        return
    formulas = list(dict.fromkeys(_formula(each) for each in measured))
    if parting.kind == "formula" and formulas != [""]:
        yield "formula", " and ".join(formulas)
    which = 1 if parting.backward else 0
    off = [each.deviation[which] if which < len(each.deviation) else None for each in measured]
    if off[0] is None or off[1] is None or not parting.eps:
        return
    right = [each <= USUAL * parting.eps for each in off if each is not None]
    what = "gradient" if parting.backward else "result"
    names = (Path(names[0]).name, Path(names[1]).name)
    if all(right):
        yield "float64", f"each {what} is right for its own inputs, to {max(off[0], off[1]):.1e}: this is no rounding"
    elif any(right) and max(off[0], off[1]) > OTHER * parting.eps:
        wrong = right.index(False)
        yield (
            "float64",
            (
                f"the {what} in {names[wrong]} is off by {off[wrong]:.1e} from that in float64 on its own inputs; "
                f"that in {names[1 - wrong]} is right to {off[1 - wrong]:.1e}"
            ),
        )
