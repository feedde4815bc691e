"""Many small cases in one test: what surrounds a test costs milliseconds, twice in CI, and a small case a tenth of one."""

from __future__ import annotations

import functools
import inspect
import os
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]


def for_each(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with all these values of its arguments, as `pytest.mark.parametrize` does, but as one test.

    A failure names its case, and does not keep the others from being run. For tests that leave nothing for the next case."""
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    cases, seed = list(values), os.environ.get("AUTOGRAPH_SHUFFLE")
    if seed:
        random.Random(seed).shuffle(cases)

    def of(test: Test) -> Test:
        @functools.wraps(test)
        def run(*one: Any, **given: Any) -> None:
            if one:  # another test asks for this case
                return test(*one, **given)
            failed, skipped = [], []
            for case in cases:
                try:
                    test(**given, **(dict(zip(words, case, strict=True)) if words[1:] else {words[0]: case}))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"with {', '.join(words)} = {case!r}")
                    failed.append(error)
            if failed:
                raise (
                    failed[0]
                    if len(failed) == 1
                    else BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
                )
            if skipped and len(skipped) == len(cases):
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return of
