"""Plays sequences of statements on an engine, and writes down all that can be seen of the tensors."""

import ast
import contextlib
import copy
import functools
import math
import operator
import re
import warnings
import zlib
from types import CodeType
from typing import Any

from tests.torch.core.functions import functions_of
from tests.torch.core.statements import Step, position

Row = list[Any]
GRAIN = 7919.1237
"""Numbers are compared as whole multiples of 1/GRAIN: no number that a sequence computes is near the edge of one."""


@functools.cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<statement>", "exec" if whole(code) else "eval")


def whole(code: str) -> bool:
    """Return whether the code is of statements; what they make, if anything, they call C."""
    body = ast.parse(code).body
    return len(body) > 1 or not isinstance(body[0], ast.Expr)


class Player:
    """`v` are the tensors made so far, `log` is what hooks and questions saw."""

    def __init__(self, torch: Any, start: list[str], shift: float = 0.0) -> None:
        self.torch = torch
        self.log: list[Any] = []
        self.handles: list[Any] = []
        self.text: list[str] = []
        """The statements played so far."""
        self.v: list[Any] = []
        self.names = {**vars(functions_of(torch)), **self._statements(), **self._hooks(), "torch": torch}
        for code in start:
            made = eval(_compiled(code), {"torch": torch, "A": self.v[0] if self.v else None})
            if shift and made.is_leaf:
                made.data.mul_(1 + shift)
            self.v.append(made)
        self.fresh = [0] * len(self.v)
        """The version that each tensor had when it came."""

    # -- statements that are no single expression

    def _statements(self) -> dict[str, Any]:
        torch, grad = self.torch, self._grad
        return {
            "setitem": operator.setitem,
            "iadd": operator.iadd,
            "imul": operator.imul,
            "deepcopy": copy.deepcopy,
            "forget": lambda t: setattr(t, "grad", None),
            "setgrad": lambda t, g: setattr(t, "grad", g),
            "setdata": lambda t, x: setattr(t, "data", x.view(t.shape)),
            "setflag": lambda t, on: setattr(t, "requires_grad", on),
            "bump": torch.autograd.graph.increment_version,
            "grad": lambda a, b, **options: grad(a, b, allow_unused=True, **options),
            "strict": lambda a, b: grad(a, b, retain_graph=True),
            "filled": lambda a, b: grad(a, b, materialize_grads=True),
            "edge": lambda a, b: grad(a, torch.autograd.graph.get_gradient_edge(b), retain_graph=True),
            "into": lambda like, t: t if t.shape == like.shape and t.dtype == like.dtype else torch.empty_like(like),
            "look": lambda a, b: a.detach().set_() if a.requires_grad or b is None or b.requires_grad else a.set_(b),
            "saved": self._saved,
            "edges": lambda t: self._saw("edges", graph([t.grad_fn])),
            "node": lambda t: self._saw(
                "node",
                [
                    t.grad_fn.name(),
                    len(t.grad_fn.next_functions),
                    [[list(m.shape), str(m.dtype)] for m in t.grad_fn._input_metadata[t.output_nr :][:1]],
                    t.output_nr,
                ],
            ),
        }

    def _saw(self, what: str, found: Any) -> None:
        self.log.append([what, found if isinstance(found, list) else self.numbers(found)])

    def _grad(self, a: Any, b: Any, **options: Any) -> None:
        roots = [t.sum() if t.dim() else t for t in (a if isinstance(a, list) else [a])]
        found = self.torch.autograd.grad(roots, b, **options)
        self.log.append(
            ["grad", [[None if g is None else [list(g.shape), self.numbers(g), graph([g.grad_fn])]] for g in found]]
        )

    def _saved(self, t: Any) -> None:
        node = t.grad_fn
        found = {name: getattr(node, f"_saved_{name}", "none") for name in ("self", "result")}
        self.log.append(
            [
                "saved",
                [[name, self.numbers(x) if isinstance(x, self.torch.Tensor) else str(x)] for name, x in found.items()],
            ]
        )

    # -- hooks

    def _hooks(self) -> dict[str, Any]:
        keep = self.handles.append
        graph_tools = self.torch.autograd.graph
        return {
            "hook": lambda t: keep(_rooted(t).register_hook(self._seen("hook", lambda g: g * 2))),
            "swaphook": lambda t: keep(_rooted(t).register_hook(self._seen("swap", lambda g: g.sin()))),
            "nonehook": lambda t: keep(_rooted(t).register_hook(self._seen("none", lambda g: None))),
            "badhook": lambda t: keep(_rooted(t).register_hook(self._seen("bad", lambda g: g.nothing()))),
            "prehook": lambda t: keep(t.grad_fn.register_prehook(self._seen("pre", lambda g: None))),
            "posthook": lambda t: keep(t.grad_fn.register_hook(self._seen("post", lambda g, _: None))),
            "scaleprehook": lambda t: keep(t.grad_fn.register_prehook(self._seen("scalepre", _tripled))),
            "scaleposthook": lambda t: keep(t.grad_fn.register_hook(self._seen("scalepost", lambda g, _: _tripled(g)))),
            "leafhook": lambda t: keep(t.register_post_accumulate_grad_hook(self._seen("leaf", lambda t: None))),
            "multihook": lambda a, b: keep(
                graph_tools.register_multi_grad_hook((_rooted(a), _rooted(b)), self._seen("multi", lambda g: None))
            ),
            "anyhook": lambda a, b: keep(
                graph_tools.register_multi_grad_hook(
                    (_rooted(a), _rooted(b)), self._seen("any", lambda g: None), mode="any"
                )
            ),
            "packhook": lambda t: t.grad_fn._raw_saved_self.register_hooks(
                self._seen("pack", lambda x: x * 1), self._seen("unpack", lambda x: x)
            ),
            "unhook": lambda i: self.handles.pop(i).remove(),
        }

    def _seen(self, what: str, answer: Any) -> Any:
        number = len(self.log)

        def run(*args: Any) -> Any:
            if "pack" not in what or args[0].dtype == self.torch.float64:
                self.log.append(
                    [
                        number,
                        what,
                        [
                            [self.numbers(y) for y in x] if isinstance(x, (tuple, list)) else self.numbers(x)
                            for x in args
                        ],
                    ]
                )
            return answer(*args)

        return run

    # -- one step

    def play(self, step: Step) -> str:
        """Do one step; `ok`, or the first sentence of the error."""
        v = self.v
        self.text.append(step.text(len(v)))
        a, b, seen = v[position(step.a, len(v))], v[position(step.b, len(v))], len(self.log)
        if (step.mode == "inference" and STAYS.match(step.code)) or (
            step.mode != "inference" and (a.is_inference() or b.is_inference())
        ):
            return "skipped"
        try:
            with self.block(step.mode):
                made = self._made(step.code, {**self.names, "A": a, "B": b})
        except Exception as error:
            if step.mode == "packed":
                self.log[seen:] = []
            return _told(error)
        for t in made if isinstance(made, (tuple, list)) else (made,):
            if (
                isinstance(t, self.torch.Tensor)
                and not any(t is x for x in v)
                and t.numel() <= 64
                and t.dim() <= 5
                and len(v) < 24
            ):
                v.append(t)
                self.fresh.append(self._version(t) or 0)
        return "ok"

    @staticmethod
    def _made(code: str, names: dict[str, Any]) -> Any:
        made = eval(_compiled(code), names)
        return names.get("C") if made is None else made

    def block(self, mode: str) -> Any:
        torch = self.torch
        if not mode:
            return contextlib.nullcontext()
        if mode == "packed":
            return torch.autograd.graph.saved_tensors_hooks(
                self._seen("pack", lambda t: t.detach().clone()), self._seen("unpack", lambda t: t)
            )
        if mode == "kept":
            return torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
        if mode == "undefined":
            return torch.autograd.graph.disable_saved_tensors_hooks("off")
        modes = {
            "no_grad": torch.no_grad,
            "inference": torch.inference_mode,
            "enable_grad": torch.enable_grad,
            "anomaly": functools.partial(torch.autograd.set_detect_anomaly, True),
        }
        return modes[mode]()

    # -- what is seen

    def snapshot(self) -> Row:
        """The graph behind all tensors, and what is known of each."""
        nodes: list[Any] = []
        rows = [self._known(i, t, nodes) for i, t in enumerate(self.v)]
        return [rows, graph(nodes)]

    def _known(self, number: int, t: Any, nodes: list[Any]) -> Row:
        try:
            node = t.grad_fn
            gradient = t.grad if t.is_leaf or t.retains_grad else None
            behind = None if gradient is None else gradient.grad_fn
        except RuntimeError as error:
            return [_told(error)]
        if t.is_inference():
            return ["inference"]
        base = t._base
        return [
            list(t.shape),
            self._memory(t) if t._is_view() else [],
            self.numbers(t),
            t.requires_grad,
            t.is_leaf,
            t._version - self.fresh[number],
            t._is_view(),
            None if base is None else next((i for i, x in enumerate(self.v) if x is base), "other"),
            self._position(node, nodes),
            t.output_nr,
            t.retains_grad,
            None
            if gradient is None
            else [
                list(gradient.shape),
                self._memory(gradient),
                self.numbers(gradient),
                gradient.requires_grad,
                self._position(behind, nodes),
            ],
        ]

    @staticmethod
    def _position(node: Any, nodes: list[Any]) -> int | None:
        if node is None:
            return None
        if node not in nodes:
            nodes.append(node)
        return nodes.index(node)

    @staticmethod
    def _memory(t: Any) -> Row:
        """Strides of the dimensions that have steps, and the offset."""
        return [
            [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] if t.numel() else [],
            t.storage_offset() if t.numel() else 0,
        ]

    @staticmethod
    def _version(t: Any) -> int | None:
        return None if t.is_inference() else t._version

    def numbers(self, t: Any) -> Any:
        if t is None:
            return None
        if not isinstance(t, self.torch.Tensor):
            return str(t)
        found = t.detach().reshape(-1).tolist()
        if t.is_complex():
            return [_grain(x) for z in found for x in (z.real, z.imag)]
        return [_grain(x) for x in found]


def _grain(x: float) -> int | str:
    return math.floor(x * GRAIN + 0.3719) if -1e4 < x < 1e4 else "big"


def _rooted(t: Any) -> Any:
    """A tensor that a hook can be put on: on a view without a history PyTorch crashes."""
    if t._is_view() and t.requires_grad and t.grad_fn is None:
        raise IndexError("a view without a history")
    return t


def _tripled(grads: Any) -> Any:
    return tuple(None if g is None else g * 3 for g in grads)


STAYS = re.compile(
    r"setdata|.*backward|grad|edge|.*hook|A.unsqueeze_|A.squeeze_|A.t_|A.transpose_|A.swapaxes_|A.as_strided_|deepcopy|edge|A.detach_|setflag|.*requires_grad"
)
"""What is not done inside inference mode: it mixes tensors of both worlds."""
ORDER = re.compile(
    r"(?i)without a history|size|result type|tensors expected|post accumulate|shape|dimension|dim |argument|indices|index|equal|iterable|dtype|scalar type|single memory location|modified inplace|Inplace update"
)
"""Where several things are wrong, engines may find another one first."""


def _told(error: Exception) -> str:
    text = first_sentence(error)
    return "refused" if ORDER.search(text) else f"{type(error).__name__}: {text}"


def first_sentence(error: Exception) -> str:
    return re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0].strip()


def graph(roots: list[Any]) -> list[Any]:
    """The nodes behind some nodes, breadth first, each with its edges; at most 120. Then their positions in order of
    making."""
    order = [node for node in roots if node is not None]
    numbers = {node: i for i, node in enumerate(order)}
    rows = []
    for node in order:
        row = [node.name()]
        for target, number in node.next_functions:
            if target is not None and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append(None if target is None else [numbers[target], number])
        rows.append(row)
        if len(rows) == 120:
            break
    dated = sorted(range(len(rows)), key=lambda i: order[i]._sequence_nr())
    return [*rows, [i for i in dated if rows[i][0] != "torch::autograd::AccumulateGrad"]]


def observe(
    sequence: tuple[list[str], list[Step]],
    torch: Any,
    each: bool = True,
    shift: float = 0.0,
    text: list[str] | None = None,
    player_of: Any = Player,
) -> Row:
    """Return what each step gives, and what is known of all tensors after it (after the last one only, unless `each`).

    `text` receives the statements as they were played, `shift` changes the numbers that the sequence begins with.
    """
    start, steps = sequence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        player = player_of(torch, start, shift)
        player.text = player.text if text is None else text
        seen = []
        for i, step in enumerate(steps):
            result = player.play(step)
            if each or i == len(steps) - 1:
                seen.append([result, player.snapshot(), list(player.log)])
            else:
                seen.append([result, [], []])
    return seen


def digest(seen: Row) -> int:
    """All that was seen, as 32 bits."""
    return zlib.crc32(repr(seen).encode())
