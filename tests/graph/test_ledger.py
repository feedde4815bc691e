"""The ledger of training as records: what it refuses, and how it reads as text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Source, Trace, TraceError, from_json
from autograph_cli.graph.ledger import Happening, Hook, Keeper, Ledger, Module, Optimizer, Parameter
from autograph_cli.graph.ledger_text import ledger_text
from autograph_cli.graph.trace_writer import to_json

LINE = Source("train.py", 7, "opt.step()")
LEDGER = Ledger(
    (Parameter("net.weight", 0, 6, "float32", True), Parameter("net.bias", 0, 2, "float32")),
    (Module("Linear", 1, LINE),),
    (Optimizer("SGD", 2, LINE, "opt", 1),),
    ((), (0, 1), (0,)),
    (
        Happening("backward", 3, 0, LINE, given=1, number=0, ran=5, kept=True),
        Happening("clip", 4, 0, LINE, given=1, ready=2, norm=0.5, words="clip_grad_norm_"),
        Happening("step", 5, 0, LINE, optimizer=0, given=1, ready=2, moved=2, norm=0.25, rate=0.1),
    ),
    (Hook("register_hook", "", 6, LINE, "double", 0, 1, given=(1.0,), returned=(2.0,), factors=(2.0,)),),
    (Keeper("losses", LINE, 4, 20, 1024, 4, (5, 10, 15, 20)),),
    3,
)
TEXT = """\
optimizer opt = SGD: net.weight, net.bias  train.py:7
register_hook double on net.weight  train.py:7: 1 to 2
step 1
  backward net.weight, net.bias ran 5 nodes, retained  train.py:7
  clip clip_grad_norm_ net.weight, net.bias (1 had a gradient)  train.py:7
  step opt moved 1 of 2 by 0.25, rate 0.1 (1 had a gradient)  train.py:7
losses keeps 4 tensors with 20 nodes of 4 turns, 1,024 bytes  train.py:7
3 more were heard later, and not written down
"""


def test_it_reads_as_text() -> None:
    assert ledger_text(LEDGER) == TEXT


def test_it_is_written_and_read_in_a_trace() -> None:
    trace = Trace("train.py", ledger=LEDGER)
    assert from_json(to_json(trace)) == trace


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (replace(LEDGER, sets=((), (0, 2), (0,))), "a parameter that is not there"),
        (replace(LEDGER, happenings=(Happening("step", 1, optimizer=1),)), "an optimizer that is not there"),
        (replace(LEDGER, happenings=(Happening("backward", 1, zero=9),)), "a set that is not there"),
        (replace(LEDGER, hooks=(Hook("register_hook", "", 1, parameter=5),)), "a parameter that is not there"),
        (replace(LEDGER, parameters=(Parameter(module=4), Parameter())), "a module that is not there"),
    ],
)
def test_what_names_something_that_is_not_there_is_refused(broken: Ledger, problem: str) -> None:
    assert problem in broken.problem()
    with pytest.raises(TraceError, match=problem):
        from_json(to_json(Trace("train.py", ledger=broken)))


@pytest.mark.parametrize("words", ['{"strange": 1}', '{"sets": 3}', '{"happenings": [{"kind": "step"}]}', "[]"])
def test_what_is_no_ledger_is_refused(words: str) -> None:
    text = to_json(Trace("train.py")).replace('"total_steps"', f'"ledger": {words}, "total_steps"', 1)
    with pytest.raises(TraceError, match="ledger"):
        from_json(text)
