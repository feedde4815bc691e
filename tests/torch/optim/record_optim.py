"""What optimizers and schedulers do, written by PyTorch: `python -m tests.torch.optim.record_optim` renews the file."""

import json
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "optim.json"
STEPS = 5
START = ([[0.5, -1.25], [2.0, 0.75]], [0.3, -0.4])

OPTIMIZERS: dict[str, tuple[dict[str, Any], ...]] = {
    "SGD": (
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"maximize": True, "momentum": 0.5, "dampening": 0.3},
    ),
    "Adam": ({}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}, {"betas": (0.5, 0.9), "foreach": True}),
    "AdamW": ({}, {"weight_decay": 0.3, "fused": True}),
    "NAdam": ({}, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": ({"betas": (0.8, 0.8)}, {"weight_decay": 0.1}),
    "Adamax": ({}, {"weight_decay": 0.1, "maximize": True}),
    "Adadelta": ({}, {"rho": 0.8, "weight_decay": 0.1}),
    "Adagrad": ({}, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1}),
    "RMSprop": ({}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    "Rprop": ({}, {"etas": (0.4, 1.5)}),
    "ASGD": ({}, {"t0": 2, "weight_decay": 0.1}),
    "Adafactor": ({}, {"weight_decay": 0.1, "d": 1.5}),
    "LBFGS": (
        {"max_iter": 4},
        {"line_search_fn": "strong_wolfe", "max_iter": 3},
        {"lr": 0.1, "history_size": 2, "max_iter": 6},
        {"lr": 0.3, "max_eval": 3},
        {"lr": 0.3, "tolerance_grad": 0.5},
        {"lr": 0.3, "tolerance_change": 0.05},
        {"line_search_fn": "strong_wolfe", "tolerance_grad": 0.5, "max_iter": 5},
        {"line_search_fn": "strong_wolfe", "history_size": 1, "max_eval": 7},
    ),
}

SCHEDULERS: dict[str, Any] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.95),
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.25, 0.75, 6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 7, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.001),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 2, "triangular2"),
    "CyclicLR range": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 3, 4, "exp_range", 0.9),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, 12),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(o, [0.1, 0.2], None, 5, 4, 0.4, "linear", three_phase=True),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 6)], [4]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
}


def cases() -> list[tuple[str, int]]:
    return [(name, i) for name, options in OPTIMIZERS.items() for i in range(len(options))]


def trajectory(torch: Any, name: str, index: int, **more: Any) -> dict[str, Any]:
    """The parameters after each step on a bent quadratic, and the state at the end."""
    params = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in START]
    optimizer = getattr(torch.optim, name)(params, **OPTIMIZERS[name][index], **more)
    shape = torch.tensor([[1.0, 2.0], [3.0, 0.5]], dtype=torch.float64)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (shape * params[0] ** 2).sum() + ((params[0] @ params[1] - 1) ** 2).sum()
        loss.backward()
        return loss

    steps = []
    for _ in range(STEPS):
        optimizer.step(closure)
        steps.append([p.tolist() for p in params])
    state = {
        str(position): {key: value.tolist() if hasattr(value, "tolist") else value for key, value in entries.items()}
        for position, entries in optimizer.state_dict()["state"].items()
    }
    for entries in state.values():
        for key in ("al", "old_dirs", "old_stps", "ro"):
            entries.pop(key, None)
    return {"steps": steps, "state": state}


def rates(torch: Any, name: str) -> list[Any]:
    """Learning rates and momentum of two groups over some epochs."""
    params = [torch.zeros(2, requires_grad=True), torch.zeros(3, requires_grad=True)]
    optimizer = torch.optim.SGD([{"params": [params[0]]}, {"params": [params[1]], "lr": 0.03}], lr=0.05, momentum=0.9)
    scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(12):
        found.append([[group["lr"], group["momentum"]] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return found


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    record = {
        "optimizers": {f"{name} {i}": trajectory(torch, name, i) for name, i in cases()},
        "schedulers": {name: rates(torch, name) for name in SCHEDULERS},
    }
    EXPECTED.write_text(json.dumps(record, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
