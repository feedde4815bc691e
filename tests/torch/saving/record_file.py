"""A checkpoint as PyTorch writes it: `python -m tests.torch.saving.record_file` renews pytorch.pt."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "pytorch.pt"


def checkpoint(torch: Any) -> Any:
    """One of everything that such a file may hold, with values that do not depend on chance."""
    x = torch.arange(6.0).reshape(2, 3)
    marked = torch.ones(2)
    marked.note = "kept"
    saved: Any = OrderedDict(
        x=x,
        transposed=x.t(),
        row=x[1],
        alias=x,
        marked=marked,
        expanded=torch.tensor([1.0, 2.0]).expand(3, 2),
        last=torch.ones(1, 2, 2, 3).permute(0, 3, 1, 2),
        empty=torch.empty(0, 3),
        number=torch.tensor(3.5),
        wanted=torch.tensor([1.0], requires_grad=True),
        parameter=torch.nn.Parameter(torch.ones(2)),
        frozen=torch.nn.Parameter(torch.ones(2), requires_grad=False),
        dtype=torch.float32,
        size=x.shape,
        device=x.device,
        layout=torch.strided,
        plain=[1, 2.5, None, True, "é", (1, 2, 3, 4), 2**70, -5, b"a\xff", {1}, 1 + 2j, bytearray(b"x")],
    )
    for name in """
        float16 bfloat16 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool
    """.split():
        saved[name] = torch.tensor([0, 1, 3]).to(getattr(torch, name))
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter.detach())
    optimizer.step()
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
    saved.update(model=model.state_dict(), optimizer=optimizer.state_dict(), scheduler=scheduler.state_dict())
    return saved


def describe(x: Any) -> Any:
    """Return what can be compared between engines."""
    if hasattr(x, "requires_grad"):
        facts = (
            type(x).__name__, str(x.dtype), tuple(x.shape), x.stride(), x.storage_offset(), x.requires_grad,
            x.is_leaf,
        )  # fmt: skip
        return [*facts, getattr(x, "note", None), len(x.untyped_storage()), x.detach().tolist()]
    if isinstance(x, dict):
        return [
            type(x).__name__,
            {key: describe(value) for key, value in x.items()},
            repr(getattr(x, "_metadata", None)),
        ]
    if type(x) in (list, tuple):
        return [describe(y) for y in x]
    return repr(x)


def main() -> None:
    import warnings

    import torch

    warnings.simplefilter("ignore")
    torch.save(checkpoint(torch), RECORDED)


if __name__ == "__main__":
    main()
