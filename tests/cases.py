"""Many small cases in one test: what surrounds a test costs milliseconds, twice in CI, and a small case a tenth of one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with all these values of its arguments, as `pytest.mark.parametrize` does, but as one test.

    A failure names its case, and ends the test. For tests that leave nothing behind for the next case."""
    words, cases = [name.strip() for name in names.split(",")], list(values)

    def of(test: Test) -> Test:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            ran = False
            for case in cases:
                try:
                    test(**given, **(dict(zip(words, case, strict=True)) if words[1:] else {words[0]: case}))
                    ran = True
                except pytest.skip.Exception:
                    if case is cases[-1] and not ran:
                        raise
                except BaseException as error:
                    error.add_note(f"with {names} = {case!r}")
                    raise

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return of
