"""What follows from numbers and names is worked out once, what may change each time."""

from typing import Any

import numpy as np

from autograph_cli.torch._core.base.caching import cached


def test_what_is_kept() -> None:
    asked = []

    @cached
    def run(*args: Any) -> Any:
        asked.append(args)
        return args

    for args in ((1, (2, 3)), (True, (2, 3)), (1.0, None), ([1],), (np.float32(1),), ((np.float32(1),),)):
        asked.clear()
        for _ in range(2):
            found = run(*args)
            assert (found, list(map(type, found))) == (args, list(map(type, args)))
        assert len(asked) == (1 if type(args[0]) in (int, bool, float) else 2)
