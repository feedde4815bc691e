"""`torch.utils.flop_counter`: how many floating-point operations products and convolutions take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .._core.base.op_namespace import table
from .._core.base.user_warnings import warn
from .._core.tape.tensor import Tensor
from ..ops import Packet
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]


def _own(name: str) -> Formula:
    """Return what the operation's record says, of tensors."""
    formula: Formula = table[name].flops  # type: ignore[assignment]
    return lambda *args, out_val, **_: int(formula(out_val, *args))


flop_registry: dict[Any, Formula] = {
    Packet(name, table[name].function): _own(name)
    for name in ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward")
}
"""Operations that are counted, and how: their arguments, and `out_val`, what they gave."""


def _of_shapes(formula: Formula) -> Formula:
    """A formula that is given shapes in place of tensors."""

    def count(*args: Any, out_val: Any = None, **named: Any) -> int:
        given, options, out = tree_map(lambda x: x.shape if isinstance(x, Tensor) else x, (args, named, out_val))
        return formula(*given, out_shape=out, **options)

    return count


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Say how operations are counted: of shapes, with `out_shape`; or with `get_raw` of tensors, with `out_val`."""

    def decorate(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return decorate


class FlopCounterMode(TorchDispatchMode):
    """Counts the floating-point operations of its block, forward and backward, by module; prints a table at the end.

    `depth`: how deep modules may lie that the table names; `custom_mapping`: formulas of more operations, of shapes.

    >>> from autograph_cli import torch
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        super().__init__()
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        more = (custom_mapping or {}).items()
        self.flop_registry = flop_registry | {
            op: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula) for op, formula in more
        }
        self.mod_tracker = ModuleTracker()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        packet = func._overloadpacket
        if packet in self.flop_registry:
            flops = self.flop_registry[packet](*args, **(kwargs or {}), out_val=out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += flops
        return out

    def get_total_flops(self) -> int:
        """All that were counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return those of each module, by operation; "Global" for all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A table of the modules that lie at most `depth` deep."""
        deepest = self.depth if depth is None else depth
        total = self.get_total_flops()
        names = [n for n in sorted(self.flop_counts) if n != "Global" and n.count(".") < (deepest or 999999)]
        rows = [row for name in names for row in self._rows(name, name.count("."), total)]
        if all(sum(self.flop_counts[name].values()) < total for name in names):
            rows = self._rows("Global", 0, total) + [[" " + first, *rest] for first, *rest in rows]
        return _table(["Module", "FLOP", "% Total"], rows if total else rows or [["Global", "0", "0%"]])

    def _rows(self, name: str, indent: int, total: int) -> list[list[str]]:
        counts, start = self.flop_counts[name], " " * indent
        shown = [(name, sum(counts.values())), *((f" - {op}", n) for op, n in counts.items())]
        return [[f"{start}{what}", _short(n, total), f"{n / total:.2%}" if total else "0%"] for what, n in shown]


def _short(number: int, total: int) -> str:
    """A number in the unit in which the total has two to four digits."""
    power = max(0, min(4, (len(str(total)) - 2) // 3))
    return f"{number / 1000**power:.3f}{('', 'K', 'M', 'B', 'T')[power]}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    """The first column to the left, the others to the right, with lines under the header."""
    if all(row[1][-1].isdigit() for row in rows):
        rows = [[first, f"{float(second):g}", *rest] for first, second, *rest in rows]
    widths = [max(len(h) + 2, *(len(row[i]) for row in rows)) for i, h in enumerate(header)]
    lines = [header, ["-" * n for n in widths], *rows]
    return "\n".join(
        "  ".join(x.rjust(n) if i else x.ljust(n) for i, (x, n) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )
