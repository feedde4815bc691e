"""Faults between the ranks of a run: graphs that differ, collectives that do not meet, gradients left alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from autograph_cli.findings.book import Book, Turn
from autograph_cli.findings.records import Finding, Found, line_of
from autograph_cli.graph import Collective, Trace
from autograph_cli.graph.cuts import LISTED
from autograph_cli.graph.facts import bytes_text
from autograph_cli.graph.ranks import Rank, words

STOPPED = "stopped: "
"""The beginning of the failure of a rank that was stopped since another one had failed."""


class RankRule(Struct, frozen=True):
    """One kind of finding between ranks, and what looks for it; the trace is that of one rank."""

    code: str
    title: str
    reason: str
    remedy: str
    find: Callable[[Sequence[Rank], Trace], Iterator[Found]]


def explain_ranks(
    ranks: Sequence[Rank], trace: Trace, *, select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Finding]:
    """Return what is found between the ranks of a run, and in the trace of one of them; `select` and `ignore` as in
    `explain`.

    >>> explain_ranks([Rank(0), Rank(1)], Trace("train.py"))
    []
    """
    chosen = [
        rule
        for rule in RULES
        if rule.code.startswith(tuple(select) or "AG") and not (ignore and rule.code.startswith(tuple(ignore)))
    ]
    return [
        Finding(rule.code, one.said, one.source, rule.reason, one.remedy or rule.remedy, one.facts)
        for rule in chosen
        for one in rule.find(ranks, trace)
    ]


def _differ(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    """Ranks that ran to the end and built other operations than the others."""
    groups: dict[str, list[Rank]] = {}
    for each in ranks:
        if not each.failure:
            groups.setdefault(each.built, []).append(each)
    if len(groups) < 2:
        return
    source = next((entry.source for step in trace.steps for entry in step.graph.passes), None)
    most, *others = sorted(groups.values(), key=lambda group: (-len(group), group[0].rank))
    for group in others:
        said = f"{_words(group)} built another graph than {_words(most)}"
        nodes = f"{group[0].nodes} nodes on rank {group[0].rank}, {most[0].nodes} on rank {most[0].rank}"
        remedy = f"See where: autograph diff trace#{most[0].rank} trace#{group[0].rank}"
        yield Found(said, source, (nodes,), remedy=remedy)


def _do_not_meet(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    """The first collective of each group that its ranks did not begin alike."""
    began = {
        each.rank: {(one.group, one.sequence): one for one in each.collectives if one.peer is None} for each in ranks
    }
    whole = {each.rank for each in ranks if not each.failure or each.failure.startswith(STOPPED)}
    told: set[str] = set()
    for key in sorted({key for its in began.values() for key in its}):
        group, number = key
        those = [rank for rank in began if key in began[rank]]
        first = began[those[0]][key]
        last = {rank: max([n for name, n in began[rank] if name == group], default=0) for rank in began}
        late = [rank for rank in first.ranks if rank in whole and last[rank] < number]
        other = [rank for rank in those if began[rank][key].op != first.op]
        if group in told or not (late or other):
            continue
        told.add(group)
        lines = tuple(f"rank {rank}: {_call(began[rank][key])}" for rank in those[:LISTED])
        if late:
            yield Found(f"{words(late)} never entered {first.op} number {number} of its group", first.source, lines)
        else:
            yield Found(f"{words(other)} entered another collective than {words(those[:1])}", first.source, lines)


def _left_alone(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    """Leaves that a backward call reached, in a step in which the gradients of others are reduced."""
    for step in trace.steps[-1:]:
        called = [each for each in trace.collectives if each.step == step.number]
        reduced = {name for each in called for name in each.tensors if name.endswith(".grad")}
        unknown = any(each.during is not None and not each.tensors for each in called)
        reached = {number for entry in step.graph.passes for number in entry.ran}
        leaves = [node for node in step.graph if node.kind == "leaf" and node.id in reached]
        names = [name for leaf in leaves for name in leaf.outputs[0].names[:1]]
        left = [name for name in names if f"{name}.grad" not in reduced]
        if reduced and left and not unknown and trace.ranks > 1:
            more = ", ..." if len(left) > LISTED else ""
            source = next((each.source for each in called if each.tensors), None)
            facts = (f"the gradients of {len(reduced)} others are reduced in step {step.nth}",)
            yield Found(f"no collective reduces the gradient of {', '.join(left[:LISTED])}{more}", source, facts)


def _alone(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    yield from _left_alone(ranks, trace)
    yield from _made_later(ranks, trace)


def _sometimes(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    """Steps of an optimizer whose gradients no collective has reduced, where those of other steps are, or where a
    wrapper is there to see to it."""
    if trace.ledger is None or trace.ranks < 2 or trace.failure:
        return
    book = Book(trace.ledger)
    reducing = {each.step for each in trace.collectives if each.during is not None or _is_of_gradients(each)}
    wrapped = next((each for each in trace.ledger.modules if each.cls == _WRAPPER), None)
    for number in range(len(trace.ledger.optimizers)):
        ready = [turn for turn in book.turns(number) if turn.step.ready]
        turns = [turn for turn in ready if turn.wrote]
        grads = book.of("grad")
        if wrapped is not None and ready and not turns and grads and not reducing:
            said = f"no gradient of grad at {line_of(grads[0].source)} is reduced: {_WRAPPER} reduces in backward alone"
            fact = f"{len(ready)} steps of {book.optimizer(number)} use gradients that no collective has reduced"
            yield Found(said, grads[0].source, (fact,), (), _BY_BACKWARD)
        alone = [turn for turn in turns if not any(each.step in reducing for each in turn.calls())]
        late = [turn for turn in turns if _is_last_alone(book, turn, reducing)]
        if late and len(late) == len(turns):
            call = late[0].calls()[-1]
            said = f"the gradients of backward at {line_of(call.source)}, the last before each step, are not reduced"
            fact = f"{len(late)} of {len(turns)} steps of {book.optimizer(number)} add them to such as are"
            yield Found(said, call.source, (fact,), (), _LAST)
        if not alone or (len(alone) == len(turns) and wrapped is None):
            continue
        call, name = alone[0].calls()[-1], book.optimizer(number)
        facts = [f"{len(alone)} of {len(turns)} steps of {name} use gradients that no collective has reduced"]
        if wrapped is not None:
            before = [turn for turn in alone if turn.step.at < wrapped.at]
            facts.append(
                f"{_WRAPPER} is made at {line_of(wrapped.source)}{', after the first steps' if before else ''}"
            )
        if len(alone) == len(turns):
            said = (
                f"no gradient of backward at {line_of(call.source)} is reduced: the wrapped model is not what is called"
            )
        else:
            said = f"the gradients of backward at {line_of(call.source)} are reduced in some steps only"
        yield Found(said, call.source, tuple(facts))


def _is_last_alone(book: Book, turn: Turn, reducing: set[int]) -> bool:
    """Return whether the last backward call before a step is not reduced, and one before it, of the same parameters,
    is."""
    *before, last = turn.calls()
    shared = (each for each in before if each.step in reducing and book.given(each) & book.given(last))
    return last.step not in reducing and any(True for _ in shared)


_BY_BACKWARD = "Call backward, or reduce what grad returns: dist.all_reduce(grad, dist.ReduceOp.AVG)."
_LAST = "Leave the last backward call before a step out of no_sync: what it reduces is the sum of all."
_WRAPPER = "DistributedDataParallel"


def _is_of_gradients(each: Collective) -> bool:
    return any(name.endswith(".grad") for name in each.tensors)


def _made_later(ranks: Sequence[Rank], trace: Trace) -> Iterator[Found]:
    """Modules that take a place in a model which is wrapped already: the wrapper does not know their parameters."""
    ledger = trace.ledger
    wrapped = [each for each in ledger.modules if each.cls == _WRAPPER] if ledger is not None else []
    if ledger is None or not wrapped or trace.ranks < 2 or trace.failure:
        return
    book, last = Book(ledger), max(each.at for each in wrapped)
    module = {number: found for number in book.reached if (found := book.module(number)) is not None}
    roots = {book.root(number) for number, found in module.items() if found.at < last}
    later = [number for number, found in module.items() if found.at > last and book.root(number) in roots]
    if later:
        made = module[later[0]]
        said = (
            f"{book.shown(later)} of {made.cls} came after {_WRAPPER} had wrapped the model, and no collective reduces "
        )
        said += f"{'its gradient' if len(later) == 1 else 'their gradients'}"
        wrapper = next(each for each in wrapped if each.at == last)
        yield Found(said, made.source, (f"{_WRAPPER} is made at {line_of(wrapper.source)}",), (), _WRAP_LATER)


_WRAP_LATER = "Change the model first, and wrap it then."


def _words(group: Sequence[Rank]) -> str:
    return words([each.rank for each in group])


def _call(each: Collective) -> str:
    return f"{each.op}, {bytes_text(each.bytes)}, {line_of(each.source)}"


RULES = (
    RankRule("AG901", "ranks build different graphs",
        "Collectives meet in the order in which each rank begins them: ranks that compute differently wait for one "
        "another, or average gradients that do not belong together.",
        "Let all ranks compute the same; what only one does must hold no collective and no gradient.",
        _differ),
    RankRule("AG902", "a collective that not all ranks entered",
        "A collective ends when all ranks of its group are in it: the others wait in it until the timeout.",
        "Call it on all ranks of its group, in the same order: not in a branch that depends on the rank or its data.",
        _do_not_meet),
    RankRule("AG903", "a parameter that is not reduced",
        "Each rank adds its own gradient: from the next step on the ranks have different parameters.",
        "Wrap the whole model in DistributedDataParallel, or reduce this gradient like the others.",
        _alone),
    RankRule("AG904", "a step by gradients that are not reduced",
        "Each rank takes this step by its own gradients: from then on the ranks have different parameters.",
        "Wrap the model before the first step, call the wrapped one, and use no_sync for the backward calls before the "
        "last one of a step only.",
        _sometimes),
)  # fmt: skip
