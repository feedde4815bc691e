"""Rules over the ledger of training: gradients between backward and step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograph_cli.findings.book import OFTEN, Book, Turn, at, book_of
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import is_given, shape_of, span_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Happening

# -- clips


def _clips(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_line: dict[Source | None, list[Happening]] = {}
    for each in book.of("clip") if book else ():
        by_line.setdefault(each.source, []).append(each)
    for source, calls in by_line.items():
        assert book is not None
        if len(calls) >= OFTEN:
            found = _clip(book, calls, source)
            if found is not None:
                yield found


def _clip(book: Book, calls: list[Happening], source: Source | None) -> Found | None:
    word, times = calls[0].words, f"{len(calls)} calls"
    if len(calls) > OFTEN and not any(each.given for each in calls[1:]):
        once = " from its second call on" if calls[0].given else ""
        return Found(
            f"{word}{at(source)} is given no parameters{once}: it clips nothing",
            source, (f"{len(calls) - bool(once)} calls of it found none",), covers=_stepped(book),
            remedy="Give it model.parameters() again each time: a generator is used up when it was read once.",
        )  # fmt: skip
    given = frozenset().union(*map(book.given, calls))
    steps = [each for each in book.of("step") if book.given(each) & given]
    if not any(each.ready for each in calls):
        later = [each for each in book.backward if book.given(each) & given]
        fact = f"in {times} of it no gradient was other than zero"
        if all(_is_cleared(book, each) for each in calls):
            return None
        if later:
            return Found(
                f"{word}{at(source)} comes before backward{at(later[-1].source)}: there is nothing to clip",
                source, (fact, f"backward{at(later[-1].source)} gives the gradients after it"), covers=_stepped(book),
            )  # fmt: skip
        if any(each.ready for each in book.of("step")):
            return Found(
                f"{word}{at(source)} is given parameters that have no gradients", source,
                (fact, f"the optimizer changes {book.shown(frozenset().union(*map(book.ready, book.of('step'))))}"),
                remedy="Clip the parameters that the optimizer holds.",
            )  # fmt: skip
        return None
    if steps and all(_is_too_late(book, each, steps) for each in calls):
        return Found(
            f"{word}{at(source)} comes after step{at(steps[0].source)}: what it clips is not used any more",
            source, (f"between {times} of it and the next step the gradients are made again",), covers=_stepped(book),
        )  # fmt: skip
    scaled = [each for each in calls if _is_scaled(book, each)]
    if len(scaled) >= OFTEN and len(scaled) == len(calls):
        return Found(
            f"{word}{at(source)} clips gradients that are still multiplied by the scale of GradScaler",
            source, (f"unscale_ comes after it, in {times}",),
            remedy="Call scaler.unscale_(optimizer) before it.",
            reason="The limit is meant for gradients as they are, and holds for thousands of times as large ones.",
        )  # fmt: skip
    return None


def _is_cleared(book: Book, clip: Happening) -> bool:
    """Return whether zero_grad has thrown away what it was to clip, which AG806 tells."""
    kinds = ("backward", "zero_grad", "step")
    before = [each.kind for each in book.between(0, clip.at, kinds) if book.given(each) & book.given(clip)]
    return before[-2:] == ["backward", "zero_grad"]


def _steps_scaled(seen: Seen) -> Iterator[Found]:
    """Steps by gradients of a loss that GradScaler has multiplied, which nothing divides again."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        steps = [each for each in book.steps_of(number) if each.ready]
        calls = [each for each in book.backward if book.given(each) & book.held[number]]
        undone = any(book.given(each) & book.held[number] for each in book.of("unscale"))
        scale = None if undone or len(steps) < OFTEN else _scale(seen)
        if scale is not None:
            yield Found(
                f"{book.optimizer(number)}.step(){at(steps[0].source)} steps by gradients that are still multiplied by "
                "the scale of GradScaler",
                steps[0].source,
                (f"backward{at(calls[-1].source)} starts from the loss times {scale:g}", "nothing calls unscale_"),
                covers=_stepped(book),
            )


def _scale(seen: Seen) -> float | None:
    """Return the factor of a line that calls `scale` before backward; None if there is none."""
    for edge in seen.outcome():
        node = seen.graph[edge.node]
        factors = [span_of(seen, other) for other in node.args if is_given(seen, other) and not shape_of(seen, other)]
        called_so = any(".scale(" in line for script in seen.scripts.values() for line in script.lines)
        if node.op == "mul" and called_so and factors and factors[0] is not None and factors[0][0] > 1:
            return factors[0][0]
    return None


def _stepped(book: Book) -> tuple[str, ...]:
    """The parameters that steps change, whose updates are too large where nothing clips them."""
    return tuple(book.ledger.names(frozenset().union(*map(book.ready, book.of("step")))))


def _is_too_late(book: Book, clip: Happening, steps: list[Happening]) -> bool:
    """Return whether a step has used these gradients already, and none will before they are gone."""
    given = book.given(clip)
    about = [each for each in book.of("backward", "step", "zero_grad") if book.given(each) & given]
    before = [each for each in about if each.at < clip.at]
    after = [each for each in about if each.at > clip.at]
    if not before or before[-1].kind != "step":
        return False
    following = after[0] if after else None
    return following is None or following.kind == "zero_grad" or (following.kind == "backward" and not following.ready)


def _is_scaled(book: Book, clip: Happening) -> bool:
    about = (each for each in book.of("unscale", "step") if each.at > clip.at and _concerns(book, each, clip))
    return next((each.kind == "unscale" for each in about), False)


def _concerns(book: Book, each: Happening, clip: Happening) -> bool:
    return bool(book.given(each) & book.given(clip))


# -- who wrote what is in .grad


def _twice(seen: Seen) -> Iterator[Found]:
    """A loss whose gradient is in a step twice: by itself, and as a part of another."""
    book = book_of(seen)
    told = set()
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        pairs = [pair for turn in book.turns(number) if (pair := _counted_twice(book, turn))]
        if len(pairs) < OFTEN or (pairs[0][0].source, pairs[0][1].source) in told:
            continue
        part, whole = pairs[0]
        told.add((part.source, whole.source))
        yield Found(
            f"the loss of backward{at(part.source)} is counted twice: it is part of what backward{at(whole.source)} "
            "starts from",
            whole.source,
            (f"both add to .grad before {book.optimizer(number)}.step(), with no zero_grad between",),
        )  # fmt: skip


def _counted_twice(book: Book, turn: Turn) -> tuple[Happening, Happening] | None:
    for calls in turn.wrote.values():
        for later in calls[1:]:
            for earlier in calls:
                if earlier.at in later.whole:
                    return earlier, later
    return None


def _of_another(seen: Seen) -> Iterator[Found]:
    """Gradients that another network's pass wrote, which a step of that one has followed already."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        found = []
        for turn in book.turns(number):
            found += _left_over(book, number, turn)[:1]
        if len(found) < OFTEN:
            continue
        theirs, own, other = found[0]
        yield Found(
            f"{book.optimizer(number)}.step() also uses the gradients that backward{at(theirs.source)} wrote for "
            f"{book.optimizer(other)}",
            theirs.source,
            (
                f"{book.optimizer(other)}.step() has followed that call; then backward{at(own.source)} adds to the "
                f"gradients of {book.shown(book.held[number])}, with no zero_grad between",
            ),
            about=tuple(book.ledger.names(book.given(theirs) & book.given(own) & book.held[number])),
        )  # fmt: skip


def _left_over(book: Book, number: int, turn: Turn) -> list[tuple[Happening, Happening, int]]:
    found = []
    for calls in turn.wrote.values():
        for theirs, own in pairwise(calls):
            between = book.between(theirs.at, own.at, ("step",))
            others = [each.optimizer for each in between if each.optimizer is not None and each.optimizer != number]
            used = [o for o in others if book.given(theirs) & book.held[o] and not book.held[o] & book.held[number]]
            if used and theirs.source != own.source:
                found.append((theirs, own, used[0]))
    return found


RULES = (
    Rule("AG810", "a step by gradients that are scaled",
        "GradScaler multiplies the loss. Its own step divides the gradients before it calls optimizer.step().",
        "Call scaler.step(optimizer) and scaler.update() in the place of optimizer.step().",
        _steps_scaled, ledger=True),
    Rule("AG811", "gradients are clipped at the wrong time",
        "Clipping changes what .grad holds at that time, and nothing else.",
        "Clip between backward (and unscale_) and step.",
        _clips, ledger=True),
    Rule("AG812", "a loss is counted twice",
        "backward adds to .grad: what both calls run adds twice as much as the rest.",
        "Call backward once, on the sum; look at gradients by torch.autograd.grad.",
        _twice, ledger=True),
    Rule("AG813", "gradients of another network's pass are used",
        "A backward call writes the gradients of all networks that it goes through.",
        "Zero the gradients right before the backward call whose step is to use them, or freeze the other network for "
        "the pass.",
        _of_another, ledger=True),
)  # fmt: skip
