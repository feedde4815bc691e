"""The facts of one parameter in a ledger of training."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Happening, Hook, Ledger, Module, Optimizer, Parameter
from autograph_cli.graph.ledger_facts import facts_of

LINE = Source("train.py", 7, "opt = SGD(net.parameters())")
CALL = Source("train.py", 9, "loss.backward()")
LEDGER = Ledger(
    parameters=(Parameter("net.0.weight", 0), Parameter("net.1.weight", 1), Parameter("net.2.weight")),
    modules=(Module("Linear", 1, LINE), Module("Linear", 5, LINE, copied=True, listed="Net.layers")),
    optimizers=(Optimizer("SGD", 2, LINE, "opt", 1),),
    sets=((), (0, 2), (0, 1), (2,)),
    happenings=(
        Happening("backward", 6, source=CALL, given=2),
        Happening("clip", 7, source=CALL, given=2, words="clip_grad_norm_"),
        Happening("step", 8, source=CALL, optimizer=0, given=1, moved=0, frozen=3),
        Happening("backward", 9, source=CALL, given=2, zero=2),
    ),
    hooks=(
        Hook("register_hook", "net.0.weight", 3, LINE, "clean", 0, 4, given=(1.0,) * 4, returned=(0.0,) * 4),
        Hook("register_hook", "net.2.weight", 3, LINE, "look", 2, 1, given=(1.0,), returned=(1.0,)),
        Hook("register_hook", "net.2.weight", 3, LINE, "late", 2, 0),
    ),
)
FACTS = {
    "net.0.weight": [
        "opt, made at train.py:7, holds it, and moved it in 0 of 1 steps",
        "2 of 2 backward calls gave it a gradient at train.py:9, 1 of them zeros alone",
        "clip_grad_norm_ looked at it 1 times at train.py:9",
        "register_hook is on it at train.py:7, clean: it changed the norm of the gradient from 1 to 0, 1 to 0, 1 to 0, and 1 more",
    ],
    "net.1.weight": [
        "no optimizer holds it, so no step changes it",
        "2 of 2 backward calls gave it a gradient at train.py:9, 1 of them zeros alone",
        "clip_grad_norm_ looked at it 1 times at train.py:9",
        "its module, Linear, is a copy, made at train.py:7",
        "its module, Linear, is kept in Net.layers, where parameters() does not look",
        "its module, Linear, was made at train.py:7, after opt at train.py:7",
    ],
    "net.2.weight": [
        "opt, made at train.py:7, holds it, and moved it in 0 of 1 steps; in 1 of them it required no gradient",
        "0 of 2 backward calls gave it a gradient",
        "register_hook is on it at train.py:7, look: it ran, and left the norm of the gradient as it was",
        "register_hook is on it at train.py:7, late: it did not run",
    ],
    "other": ["no optimizer holds it, and no backward call gave it a gradient"],
}


@pytest.mark.parametrize("name", FACTS)
def test_what_is_known_of_a_parameter_is_told(name: str) -> None:
    assert facts_of(LEDGER, [name]) == FACTS[name]


def test_of_a_long_run_the_first_calls_are_told_and_all_their_lines() -> None:
    calls = [Happening("backward", 10 + n, source=Source("train.py", 10 + n % 5, ""), given=2) for n in range(6)]
    told = facts_of(replace(LEDGER, happenings=(*LEDGER.happenings, *calls), more=40), ["net.0.weight"])
    assert told[:2] == [
        "opt, made at train.py:7, holds it, and moved it in 0 of the first 1 steps",
        "8 of the first 8 backward calls gave it a gradient at train.py:9, at train.py:10, at train.py:11, "
        "and 3 more lines, 1 of them zeros alone",
    ]
