"""Rules on hooks, and on checkpoints that record nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograph_cli.findings.book import OFTEN, Book, at, book_of
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Source
from autograph_cli.graph.cuts import LISTED
from autograph_cli.graph.ledger import Happening, Hook


def _hooks(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_name: dict[tuple[Source | None, str], list[Hook]] = {}
    for hook in book.ledger.hooks if book else ():
        if hook.calls:
            by_name.setdefault((hook.source, _on(book, hook)), []).append(hook)  # type: ignore[arg-type]
    alike: dict[tuple[Source | None, str], dict[str, list[Hook]]] = {}
    for (source, on), hooks in by_name.items():
        if said := _what_hooks_do(hooks):
            alike.setdefault((source, said), {})[on] = hooks
    for (source, said), named in alike.items():
        first = [hook for hooks in named.values() for hook in hooks]
        norms = [(low, high) for hook in first for low, high in zip(hook.given, hook.returned, strict=True)][:3]
        facts = [f"given a gradient of norm {low:g}, it passed on one of norm {high:g}" for low, high in norms]
        function = first[0].function
        name = f"the hook {function}" if function and function != "<lambda>" else "the hook"
        listed = ", ".join(list(named)[:LISTED]) + (", ..." if len(named) > LISTED else "")
        yield Found(f"{name} on {listed} {said}", source, tuple(dict.fromkeys(facts)))
    yield from _never_run(seen, book)


def _never_run(seen: Seen, book: Book | None) -> Iterator[Found]:
    """Hooks of modules that are not called, though operations take their parameters."""
    called = {call.path for step in seen.trace.steps for call in step.graph.calls}
    used = {seen.name(edge): users[0] for edge, users in seen.users.items()}
    for hook in book.ledger.hooks if book and seen.is_last else ():
        user = next((each for name, each in used.items() if name.startswith(f"{hook.on}.")), None)
        if hook.kind in _OF_MODULES and not hook.calls and user is not None and hook.on not in called:
            yield Found(
                f"the hook on {hook.on} never runs: {line_of(user.source)} uses its parameters, and does not call it",
                hook.source, (f"{hook.kind} at {line_of(hook.source)}",), (user.id,),
                "Call the module itself, layer(x), and not layer.forward(x).",
                "Hooks are run by the call of a module; its forward method, and functions that take its weights, know "
                "of none.",
            )  # fmt: skip


_OF_MODULES = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
)  # fmt: skip


def _on(book: Book, hook: Hook) -> str:
    named = "" if hook.parameter is None else book.ledger.parameters[hook.parameter].name
    return named or hook.on or "a tensor"


def _what_hooks_do(hooks: Sequence[Hook]) -> str:
    """Return what all calls of a hook did that is hardly meant; empty where nothing is."""
    given = [norm for hook in hooks for norm in hook.given]
    returned = [norm for hook in hooks for norm in hook.returned]
    factors = [factor for hook in hooks for factor in hook.factors]
    again = max(hook.again for hook in hooks)
    if len(given) < OFTEN or not any(given):
        return ""
    if not any(returned):
        return "sets each gradient to zero"
    if again > 1 and any(factor != 1.0 for factor in factors):
        return f"was registered {again} times, and each of them changes the gradient"
    first = factors[0]
    if first is not None and first > _MORE and all(factor == first for factor in factors):
        return f"multiplies each gradient by {first:g}"
    if any(hook.same for hook in hooks) and len(set(given)) > OFTEN:
        return "passes on the same gradient whatever it is given"
    return ""


_MORE = 1.5
"""Less is what layers that are to learn slower are given, and what turns gradients round."""


def _reentrant(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_line: dict[Source | None, list[Happening]] = {}
    for each in book.of("checkpoint") if book else ():
        by_line.setdefault(each.source, []).append(each)
    for source, calls in by_line.items():
        assert book is not None
        inside = frozenset().union(*map(book.given, calls)) - book.reached
        lost = inside & book.in_some
        if lost and book.backward and not any(each.kept for each in calls):
            yield Found(
                f"checkpoint{at(source)} with use_reentrant=True is given no tensor that requires a gradient: "
                f"{book.shown(lost)} {'get' if len(lost) > 1 else 'gets'} none",
                source, (f"{len(calls)} calls of it had no such input",), covers=tuple(book.ledger.names(lost)),
            )  # fmt: skip


RULES = (
    Rule("AG814", "a hook takes gradients away, changes them more than once, or never runs",
        "A hook's result takes the place of the gradient, for all that comes behind it.",
        "Return nothing from a hook that looks only, and register it once.",
        _hooks, ledger=True),
    Rule("AG815", "a reentrant checkpoint records nothing",
        "With use_reentrant=True the function runs under no_grad, and has a node only if one of its inputs needs a "
        "gradient: parameters inside do not count.",
        "Pass use_reentrant=False.",
        _reentrant, ledger=True),
)  # fmt: skip
