"""What distributions give, written by PyTorch: `python -m tests.torch.record_distributions` renews distributions.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "distributions.json"
COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
OTHER = [[1.0, -0.2], [-0.2, 0.7]]

# name: (class, two sets of parameters, a value)
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], Any]] = {
    "Normal": ("Normal", {"loc": [0.5, -1.0], "scale": [1.5, 0.3]}, {"loc": [0.0, 1.0], "scale": [1.0, 2.0]}, [0.2, 1.1]),
    "Uniform": ("Uniform", {"low": [0.0, 1.0], "high": [2.0, 4.0]}, {"low": [-1.0, 2.0], "high": [3.0, 5.0]}, [0.5, 2.5]),
    "Exponential": ("Exponential", {"rate": [0.5, 2.0]}, {"rate": [1.0, 1.5]}, [0.4, 1.2]),
    "Gamma": ("Gamma", {"concentration": [0.5, 3.0], "rate": [1.0, 2.0]}, {"concentration": [1.5, 2.0], "rate": [0.7, 1.0]}, [0.4, 1.2]),
    "Beta": ("Beta", {"concentration1": [0.5, 3.0], "concentration0": [1.0, 2.0]}, {"concentration1": [1.5, 2.0], "concentration0": [0.7, 1.0]}, [0.4, 0.7]),
    "Dirichlet": ("Dirichlet", {"concentration": [[0.5, 3.0, 1.0], [2.0, 2.0, 2.0]]}, {"concentration": [[1.0, 1.0, 1.5], [0.3, 2.0, 1.0]]}, [0.2, 0.5, 0.3]),
    "MultivariateNormal": ("MultivariateNormal", {"loc": [0.5, -1.0], "covariance_matrix": COVARIANCE}, {"loc": [0.0, 0.3], "covariance_matrix": OTHER}, [0.2, 1.1]),
    "MultivariateNormal by precision": ("MultivariateNormal", {"loc": [0.5, -1.0], "precision_matrix": COVARIANCE}, {"loc": [0.0, 0.3], "precision_matrix": OTHER}, [0.2, 1.1]),
    "Bernoulli": ("Bernoulli", {"probs": [0.3, 0.8]}, {"probs": [0.5, 0.1]}, [1.0, 0.0]),
    "Bernoulli by logits": ("Bernoulli", {"logits": [0.3, -2.0]}, {"logits": [0.5, 0.1]}, [1.0, 0.0]),
    "Categorical": ("Categorical", {"probs": [[0.2, 0.3, 0.5], [1.0, 1.0, 3.0]]}, {"probs": [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]}, [2.0, 0.0]),
    "Categorical by logits": ("Categorical", {"logits": [[0.2, -0.3, 0.5]]}, {"logits": [[1.0, 2.0, 3.0]]}, [2.0]),
    "Multinomial": ("Multinomial", {"total_count": 6, "probs": [0.2, 0.3, 0.5]}, {}, [1.0, 2.0, 3.0]),
}  # fmt: skip
FITTED = ("Gamma", "Beta", "Dirichlet")
"""PyTorch's gradient of these samples by their shape is a fit, right to about three digits."""


def build(torch: Any, kind: str, parameters: dict[str, Any], dtype: Any) -> tuple[Any, dict[str, Any]]:
    made = {
        name: torch.tensor(value, dtype=dtype, requires_grad=True) if isinstance(value, list) else value
        for name, value in parameters.items()
    }
    return getattr(torch.distributions, kind)(**made), {k: t for k, t in made.items() if hasattr(t, "grad")}


def plain(x: Any) -> Any:
    return x.detach().tolist() if hasattr(x, "detach") else list(x)


def observe(torch: Any, name: str) -> dict[str, Any]:
    """Samples, densities, moments and their gradients."""
    kind, first, second, value = CASES[name]
    d, parameters = build(torch, kind, first, torch.float64)
    found: dict[str, Any] = {"batch": d.batch_shape, "event": d.event_shape, "mean": None, "entropy": None}
    torch.manual_seed(0)
    found["sample"] = d.sample()
    found["samples"] = d.sample((3, 2))
    if d.has_rsample:
        drawn = d.rsample((2,))
        found["rsample"] = drawn
        found["gradient of rsample"] = grads(torch, (drawn**2).sum(), parameters)
    found["after"] = torch.rand(1)
    found["narrow"] = build(torch, kind, first, torch.float32)[0].sample((2,))
    log_prob = d.log_prob(torch.tensor(value, dtype=torch.float64))
    found["log_prob"] = log_prob
    found["gradient of log_prob"] = grads(torch, log_prob.sum(), parameters)
    for fact in ("mean", "variance", "stddev"):
        if kind != "Categorical":
            found[fact] = getattr(d, fact)
    if kind != "Multinomial":
        found["entropy"] = d.entropy()
    if second:
        divergence = torch.distributions.kl_divergence(d, build(torch, kind, second, torch.float64)[0])
        found["kl"] = divergence
        found["gradient of kl"] = grads(torch, divergence.sum(), parameters)
    found["expanded"] = d.expand((4, *d.batch_shape)).log_prob(torch.tensor(value, dtype=torch.float64))
    return {key: item if item is None or isinstance(item, dict) else plain(item) for key, item in found.items()}


def grads(torch: Any, y: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    found = torch.autograd.grad(y, list(parameters.values()), allow_unused=True, retain_graph=True)
    return {name: None if g is None else g.tolist() for name, g in zip(parameters, found, strict=True)}


def main() -> None:
    import torch

    rows = (f"{json.dumps(name)}: {json.dumps(observe(torch, name))}" for name in CASES)
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
