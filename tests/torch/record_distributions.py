"""What distributions give, written by PyTorch: `python -m tests.torch.record_distributions` renews distributions.json."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "distributions.json"
COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
OTHER = [[1.0, -0.2], [-0.2, 0.7]]
LOWER = [[1.0, 0.0], [0.3, 0.8]]
LOC = {"loc": [0.5, -1.0], "scale": [1.5, 0.3]}
LOC2 = {"loc": [0.0, 1.0], "scale": [1.0, 2.0]}
SHAPE = {"concentration": [0.5, 3.0], "rate": [1.0, 2.0]}
PAIR = {"concentration1": [0.5, 3.0], "concentration0": [1.0, 2.0]}
P3, P3B = [0.2, 0.3, 0.5], [0.5, 0.25, 0.25]
FACTOR = {"cov_factor": [[1.0], [0.4]], "cov_diag": [0.5, 0.7]}

# name: (class, parameters, values); several cases of a class have a word after its name
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "Normal": (LOC, [0.2, 1.1]),
    "Laplace": (LOC, [0.2, 1.1]),
    "Cauchy": (LOC, [0.2, 1.1]),
    "Gumbel": (LOC, [0.2, 1.1]),
    "LogNormal": (LOC, [0.2, 1.1]),
    "LogisticNormal": (LOC, [0.2, 0.3, 0.5]),
    "HalfNormal": ({"scale": [1.5, 0.3]}, [0.2, 1.1]),
    "HalfCauchy": ({"scale": [1.5, 0.3]}, [0.2, 1.1]),
    "StudentT": ({"df": [0.8, 3.5], **LOC}, [0.2, 1.1]),
    "Uniform": ({"low": [0.0, 1.0], "high": [2.0, 4.0]}, [0.5, 2.5]),
    "Exponential": ({"rate": [0.5, 2.0]}, [0.4, 1.2]),
    "Gamma": (SHAPE, [0.4, 1.2]),
    "InverseGamma": ({"concentration": [1.5, 3.0], "rate": [1.0, 2.0]}, [0.4, 1.2]),
    "Chi2": ({"df": [0.7, 4.0]}, [0.4, 1.2]),
    "FisherSnedecor": ({"df1": [3.0, 1.5], "df2": [5.0, 3.0]}, [0.4, 1.2]),
    "Beta": (PAIR, [0.4, 0.7]),
    "Kumaraswamy": (PAIR, [0.4, 0.7]),
    "Dirichlet": ({"concentration": [[0.5, 3.0, 1.0], [2.0, 2.0, 2.0]]}, P3),
    "Weibull": ({"scale": [0.5, 2.0], "concentration": [1.5, 3.0]}, [0.4, 1.2]),
    "Pareto": ({"scale": [0.5, 1.0], "alpha": [1.5, 3.0]}, [0.7, 1.2]),
    "GeneralizedPareto": ({"loc": [0.0, 0.1], "scale": [1.0, 2.0], "concentration": [0.3, 0.0]}, [0.7, 1.2]),
    "GeneralizedPareto bounded": ({"loc": [0.0, 0.1], "scale": [1.0, 2.0], "concentration": [-0.3, -0.5]}, [0.7, 1.2]),
    "VonMises": ({"loc": [0.5, -1.0], "concentration": [0.8, 6.0]}, [0.2, 1.1]),
    "Poisson": ({"rate": [0.8, 20.0]}, [2.0, 15.0]),
    "Bernoulli": ({"probs": [0.3, 0.8]}, [1.0, 0.0]),
    "Bernoulli by logits": ({"logits": [0.3, -2.0]}, [1.0, 0.0]),
    "Geometric": ({"probs": [0.3, 0.8]}, [2.0, 0.0]),
    "Geometric by logits": ({"logits": [0.3, -2.0]}, [2.0, 0.0]),
    "Binomial": ({"total_count": 6, "probs": [0.3, 0.8]}, [2.0, 6.0]),
    "Binomial by logits": ({"total_count": 60, "logits": [0.3, -0.5]}, [25.0, 30.0]),
    "NegativeBinomial": ({"total_count": 6, "probs": [0.3, 0.8]}, [2.0, 6.0]),
    "NegativeBinomial by logits": ({"total_count": [3.0, 2.5], "logits": [0.3, -2.0]}, [2.0, 1.0]),
    "ContinuousBernoulli": ({"probs": [0.3, 0.5]}, [0.4, 0.7]),
    "ContinuousBernoulli by logits": ({"logits": [0.3, -2.0]}, [0.4, 0.7]),
    "Categorical": ({"probs": [P3, [1.0, 1.0, 3.0]]}, [2.0, 0.0]),
    "Categorical by logits": ({"logits": [[0.2, -0.3, 0.5]]}, [2.0]),
    "OneHotCategorical": ({"probs": [P3, P3B]}, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "OneHotCategorical by logits": ({"logits": [0.2, -0.3, 0.5]}, [0.0, 1.0, 0.0]),
    "OneHotCategoricalStraightThrough": ({"probs": P3}, [0.0, 1.0, 0.0]),
    "Multinomial": ({"total_count": 6, "probs": P3}, [1.0, 2.0, 3.0]),
    "Multinomial by logits": ({"total_count": 4, "logits": [0.2, -0.3, 0.5]}, [1.0, 2.0, 1.0]),
    "RelaxedBernoulli": ({"temperature": 0.7, "probs": [0.3, 0.8]}, [0.4, 0.7]),
    "RelaxedBernoulli by logits": ({"temperature": 0.7, "logits": [0.3, -2.0]}, [0.4, 0.7]),
    "LogitRelaxedBernoulli": ({"temperature": 0.7, "probs": [0.3, 0.8]}, [0.4, -0.7]),
    "RelaxedOneHotCategorical": ({"temperature": 0.7, "probs": P3}, [0.1, 0.6, 0.3]),
    "RelaxedOneHotCategorical by logits": ({"temperature": 0.7, "logits": [0.2, -0.3, 0.5]}, [0.1, 0.6, 0.3]),
    "MultivariateNormal": ({"loc": [0.5, -1.0], "covariance_matrix": COVARIANCE}, [0.2, 1.1]),
    "MultivariateNormal by precision": ({"loc": [[0.5, -1.0], [0.0, 0.3]], "precision_matrix": COVARIANCE}, [0.2, 1.1]),
    "MultivariateNormal by factor": ({"loc": [[0.5, -1.0], [0.0, 0.3]], "scale_tril": [LOWER, LOWER]}, [0.2, 1.1]),
    "LowRankMultivariateNormal": ({"loc": [0.5, -1.0], **FACTOR}, [0.2, 1.1]),
    "LowRankMultivariateNormal of a batch": ({"loc": [[0.5, -1.0], [0.0, 0.3]], **FACTOR}, [0.2, 1.1]),
    "Wishart": ({"df": 3.5, "covariance_matrix": COVARIANCE}, OTHER),
    "Wishart by factor": ({"df": [3.5, 4.0], "scale_tril": LOWER}, OTHER),
    "Wishart by precision": ({"df": 4.0, "precision_matrix": COVARIANCE}, OTHER),
    "LKJCholesky": ({"dim": 3, "concentration": [0.8, 2.0]}, [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]),
}
FITTED = (
    "Gamma", "InverseGamma", "Chi2", "Beta", "Dirichlet", "StudentT", "FisherSnedecor", "Wishart",
    "Wishart by factor", "Wishart by precision",
)  # fmt: skip
"""PyTorch's gradient of these samples by their shape is a fit, right to about three digits."""

# Made of other distributions: code that names `D`, `t` (makes a tensor) and the leaves `a`, `b`; and values.
MADE = {
    "D.Independent(D.Normal(a, b), 1)": [0.2, 1.1],
    "D.Independent(D.Bernoulli(b / 3), 1)": [1.0, 0.0],
    "D.MixtureSameFamily(D.Categorical(b), D.Normal(a, b))": 0.3,
    "D.MixtureSameFamily(D.Categorical(logits=a), D.Poisson(b))": 2.0,
    "D.MixtureSameFamily(D.Categorical(b), D.Independent(D.Normal(t([[0.1, 0.2], [0.3, 0.4]]), t([1.0, 2.0])), 1))": [
        0.3,
        0.4,
    ],
    "D.MixtureSameFamily(D.Categorical(t([[1.0, 2.0], [3.0, 1.0]])), D.Gamma(t([[1.0, 2.0], [3.0, 1.0]]), b))": [
        0.3,
        0.4,
    ],
    "D.TransformedDistribution(D.Normal(a, b), [D.ExpTransform(), D.AffineTransform(1.0, 2.0)])": [1.5, 2.5],
    "D.TransformedDistribution(D.Uniform(t(0.0), t(1.0)), [D.SigmoidTransform().inv, D.AffineTransform(a, b)])": [
        0.2,
        0.7,
    ],
    "D.TransformedDistribution(D.Normal(a, b), D.StickBreakingTransform())": [0.2, 0.3, 0.5],
    "D.TransformedDistribution(D.Normal(a, b), [D.TanhTransform(), D.AffineTransform(0.0, -1.0)])": [0.2, -0.3],
    "D.TransformedDistribution(D.Independent(D.Normal(a, b), 1), D.ReshapeTransform((2,), (1, 2)))": [[0.2, 0.3]],
    "D.TransformedDistribution(D.Normal(a, b), D.SoftplusTransform(cache_size=1))": [0.2, 0.3],
    "D.TransformedDistribution(D.Exponential(b), D.PowerTransform(a * a))": [0.2, 0.3],
    "D.TransformedDistribution(D.LogNormal(a, b), D.CumulativeDistributionTransform(D.HalfNormal(b)))": [0.2, 0.3],
}
LEAVES = {"a": [0.5, -1.0], "b": [1.5, 0.3]}

# Transforms: code, and what they map.
TRANSFORMS = {
    "D.ExpTransform()": [0.3, -1.0],
    "D.SigmoidTransform()": [0.3, -1.0],
    "D.TanhTransform()": [0.3, -1.0],
    "D.SoftplusTransform()": [0.3, -1.0],
    "D.AbsTransform()": [0.3, -1.0],
    "D.PowerTransform(2.0)": [0.3, 1.0],
    "D.PowerTransform(t([2.0, 0.5]))": [0.3, 1.0],
    "D.AffineTransform(0.5, -2.0)": [0.3, 1.0],
    "D.AffineTransform(t([0.5, 1.0]), t([2.0, -1.0]))": [0.3, 1.0],
    "D.AffineTransform(0.5, t([2.0, -1.0]), event_dim=1)": [0.3, 1.0],
    "D.SoftmaxTransform()": [0.3, 1.0, -0.5],
    "D.StickBreakingTransform()": [0.3, 1.0, -0.5],
    "D.CorrCholeskyTransform()": [0.3, 1.0, -0.5],
    "D.LowerCholeskyTransform()": [[0.3, 1.0], [-0.5, 0.2]],
    "D.PositiveDefiniteTransform()": [[0.3, 1.0], [-0.5, 0.2]],
    "D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], lengths=[1, 2])": [0.3, 1.0, -0.5],
    "D.CatTransform([D.ExpTransform(), D.StickBreakingTransform()], dim=-1, lengths=[1, 2])": [0.3, 1.0, -0.5],
    "D.StackTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)])": [0.3, 1.0],
    "D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0), D.TanhTransform()])": [0.3, -1.0],
    "D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.StickBreakingTransform()])": [0.3, -1.0],
    "D.identity_transform": [0.3, 1.0],
    "D.IndependentTransform(D.ExpTransform(), 1)": [0.3, 1.0],
    "D.ReshapeTransform((4,), (2, 2))": [0.3, 1.0, 2.0, 3.0],
    "D.ExpTransform().inv": [0.3, 1.0],
    "D.CumulativeDistributionTransform(D.Normal(t(0.3), t(2.0)))": [0.3, 1.0],
    "D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)]).inv": [0.3, 1.0],
    "D.biject_to(D.constraints.positive)": [0.3, 1.0],
    "D.biject_to(D.constraints.interval(-1.0, 2.0))": [0.3, 1.0],
    "D.biject_to(D.constraints.simplex)": [0.3, 1.0],
    "D.transform_to(D.constraints.simplex)": [0.3, 1.0],
    "D.transform_to(D.constraints.positive_definite)": [[0.3, 1.0], [0.2, 0.1]],
    "D.biject_to(D.constraints.corr_cholesky)": [0.3],
    "D.biject_to(D.constraints.less_than(2.0))": [0.3, 1.0],
    "D.biject_to(D.constraints.independent(D.constraints.greater_than(2.0), 1))": [0.3, 1.0],
    "D.biject_to(D.constraints.cat([D.constraints.positive, D.constraints.real]))": [0.3, 1.0],
    "D.transform_to(D.constraints.stack([D.constraints.positive, D.constraints.real]))": [0.3, 1.0],
    "D.biject_to(D.constraints.half_open_interval(0.0, 3.0))": [0.3, 1.0],
}

# Constraints: code, and values to check.
CONSTRAINTS = {
    "real": [0.3, math.nan],
    "positive": [0.0, 1.0],
    "nonnegative": [0.0, -1.0],
    "greater_than(2.0)": [2.0, 3.0],
    "greater_than_eq(t([2.0, 4.0]))": [2.0, 3.0],
    "less_than(2.0)": [2.0, 1.0],
    "interval(0.0, 2.0)": [2.0, 3.0],
    "half_open_interval(0.0, 2.0)": [2.0, 0.0],
    "unit_interval": [0.5, 1.5],
    "boolean": [0.0, 1.0, 0.5],
    "nonnegative_integer": [0.0, 1.5, -1.0],
    "positive_integer": [0.0, 2.0],
    "integer_interval(1, 3)": [1.0, 4.0, 1.5],
    "one_hot": [[0.0, 1.0], [1.0, 1.0]],
    "simplex": [[0.3, 0.7], [0.3, 0.8]],
    "real_vector": [[0.3, math.nan], [0.3, 0.8]],
    "multinomial(3)": [[1.0, 2.0], [2.0, 2.0]],
    "lower_triangular": [[1.0, 0.0], [2.0, 0.0]],
    "lower_cholesky": [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 1.0]]],
    "corr_cholesky": [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [2.0, 1.0]]],
    "square": [[1.0, 0.0]],
    "symmetric": [[1.0, 0.5], [0.5, 1.0]],
    "positive_semidefinite": [[1.0, 1.0], [1.0, 1.0]],
    "positive_definite": [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]],
    "independent(positive, 1)": [[1.0, 2.0], [0.0, 1.0]],
    "cat([positive, real], 0, [1, 2])": [1.0, 2.0, math.nan],
    "stack([positive, real])": [0.0, 2.0],
    "MixtureSameFamilyConstraint(positive)": [0.0, 2.0],
    "MixtureSameFamilyConstraint(simplex)": [[0.3, 0.7], [0.3, 0.8]],
    "dependent": 1.0,
    "dependent(is_discrete=True, event_dim=1)": 1.0,
}

# Pairs that have a divergence: parameters by class, two sets each.
POSITIVE2 = {"concentration": [1.5, 2.0], "rate": [0.7, 1.0]}
KL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Bernoulli": ({"probs": [0.3, 0.8]}, {"probs": [0.5, 0.1]}),
    "Beta": (PAIR, {"concentration1": [1.5, 2.0], "concentration0": [0.7, 1.0]}),
    "Binomial": ({"total_count": 6, "probs": [0.3, 0.8]}, {"total_count": 6, "probs": [0.5, 0.1]}),
    "Categorical": ({"probs": [P3, P3B]}, {"probs": [P3B, P3]}),
    "Cauchy": (LOC, LOC2),
    "ContinuousBernoulli": ({"probs": [0.3, 0.8]}, {"probs": [0.6, 0.1]}),
    "Dirichlet": ({"concentration": [0.5, 3.0, 1.0]}, {"concentration": [1.0, 1.0, 1.5]}),
    "Exponential": ({"rate": [0.5, 2.0]}, {"rate": [1.0, 1.5]}),
    "Gamma": (SHAPE, POSITIVE2),
    "Geometric": ({"probs": [0.3, 0.8]}, {"probs": [0.5, 0.1]}),
    "Gumbel": (LOC, LOC2),
    "HalfNormal": ({"scale": [1.5, 0.3]}, {"scale": [1.0, 2.0]}),
    "Laplace": (LOC, LOC2),
    "LogNormal": (LOC, LOC2),
    "Chi2": ({"df": [0.7, 4.0]}, {"df": [1.0, 2.0]}),
    "LowRankMultivariateNormal": (
        {"loc": [0.5, -1.0], **FACTOR},
        {"loc": [0.1, 0.2], "cov_factor": [[0.3], [1.4]], "cov_diag": [0.9, 0.2]},
    ),
    "MultivariateNormal": (
        {"loc": [0.5, -1.0], "covariance_matrix": COVARIANCE},
        {"loc": [0.0, 0.3], "scale_tril": LOWER},
    ),
    "Normal": (LOC, LOC2),
    "OneHotCategorical": ({"probs": P3}, {"probs": P3B}),
    "Pareto": ({"scale": [0.5, 1.0], "alpha": [2.5, 3.0]}, {"scale": [0.4, 0.5], "alpha": [1.0, 2.0]}),
    "Poisson": ({"rate": [0.8, 20.0]}, {"rate": [1.0, 15.0]}),
    "Uniform": ({"low": [0.1, 0.3], "high": [0.5, 0.9]}, {"low": [-1.0, 0.2], "high": [3.0, 0.8]}),
    "Wishart": ({"df": 3.5, "covariance_matrix": COVARIANCE}, {"df": 4.0, "covariance_matrix": OTHER}),
    "VonMises": ({"loc": 0.1, "concentration": 1.0}, {"loc": 0.3, "concentration": 2.0}),
}


def numbers(x: Any) -> list[Any]:
    flat = x.detach().double().reshape(-1).tolist()
    return [list(x.shape), [str(n) if not math.isfinite(n) else float(f"{n:.10g}") for n in flat]]


def graph(x: Any, leaves: dict[str, Any]) -> str | None:
    """The nodes, breadth first, with the numbers of those that their gradients go to."""
    if x.grad_fn is None:
        return None
    names = {id(leaf): name for name, leaf in leaves.items()}
    nodes = [x.grad_fn]
    for node in nodes:
        nodes += [t for t, _ in node.next_functions if t is not None and t not in nodes]
    nodes = list(dict.fromkeys(nodes))
    positions = {node: i for i, node in enumerate(nodes)}
    rows = []
    for node in nodes:
        shown = node.name().rpartition("::")[2].removesuffix("Backward0")
        targets = (
            [names.get(id(node.variable), "?")]
            if hasattr(node, "variable")
            else ["-" if t is None else str(positions[t]) for t, _ in node.next_functions]
        )
        rows.append(" ".join([shown, *targets]))
    return ";".join(rows)


def build(torch: Any, kind: str, parameters: dict[str, Any], dtype: Any) -> tuple[Any, dict[str, Any]]:
    made = {
        name: torch.tensor(value, dtype=dtype, requires_grad=True)
        if (
            name not in ("total_count", "dim") and not (kind == "Wishart" and name == "df" and isinstance(value, float))
        )
        or isinstance(value, list)
        else value
        for name, value in parameters.items()
    }
    cls = getattr(torch.distributions, kind, None) or getattr(torch.distributions.relaxed_bernoulli, kind)
    return cls(**made), {k: t for k, t in made.items() if hasattr(t, "grad")}


def told(found: dict[str, Any], name: str, run: Any, leaves: dict[str, Any], torch: Any) -> None:
    """A tensor, its graph and its gradients; or the error."""
    try:
        x = run()
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
        return
    if not isinstance(x, torch.Tensor):
        found[name] = str(x)
        return
    found[name] = [*numbers(x), str(x.dtype).removeprefix("torch.")]
    if x.requires_grad:
        found[name].append(graph(x, leaves))
        weights = torch.cos(torch.arange(x.numel(), dtype=x.dtype)).reshape(x.shape)
        try:
            grads = torch.autograd.grad(x, list(leaves.values()), weights, allow_unused=True, retain_graph=True)
        except (RuntimeError, NotImplementedError) as error:
            found[name].append(str(error).partition(". ")[0])
            return
        found[name].append({k: numbers(g)[1] for k, g in zip(leaves, grads, strict=True) if g is not None})


def facts(torch: Any, d: Any, leaves: dict[str, Any], value: Any) -> dict[str, Any]:
    """Everything of one distribution."""
    found: dict[str, Any] = {
        "shapes": [list(d.batch_shape), list(d.event_shape)],
        "repr": repr(d),
        "flags": [d.has_rsample, d.has_enumerate_support],
    }
    try:
        found["support"] = [repr(d.support), d.support.event_dim, d.support.is_discrete]
    except NotImplementedError:
        found["support"] = None
    torch.manual_seed(0)
    found["sample"] = numbers(d.sample())
    found["samples"] = numbers(d.sample((3, 2)))
    if d.has_rsample:
        told(found, "rsample", lambda: d.rsample((2,)), leaves, torch)
    found["after"] = numbers(torch.rand(1))[1]
    x = torch.tensor(value, dtype=torch.float64)
    told(found, "log_prob", lambda: d.log_prob(x), leaves, torch)
    told(found, "cdf", lambda: d.cdf(x), leaves, torch)
    told(found, "icdf", lambda: d.icdf(torch.full_like(x, 0.3)), leaves, torch)
    for fact in ("mean", "mode", "variance", "stddev"):
        told(found, fact, lambda fact=fact: getattr(d, fact), leaves, torch)
    told(found, "entropy", d.entropy, leaves, torch)
    told(found, "perplexity", d.perplexity, {}, torch) if not leaves else None
    told(found, "enumerated", lambda: d.enumerate_support(False), leaves, torch)
    wide = d.expand((4, *d.batch_shape))
    told(found, "expanded", lambda: wide.log_prob(x), leaves, torch)
    found["wide"] = [repr(wide), list(wide.batch_shape), list(wide.sample().shape)]
    return found


def observe(torch: Any, name: str) -> dict[str, Any]:
    """Samples, densities, moments, their graphs and gradients; and samples in single precision."""
    parameters, value = CASES[name]
    kind = name.split()[0]
    d, leaves = build(torch, kind, parameters, torch.float64)
    found = facts(torch, d, leaves, value)
    narrow = build(torch, kind, parameters, torch.float32)[0].sample((2,))
    return found | {"narrow": [*numbers(narrow), str(narrow.dtype).removeprefix("torch.")]}


def observe_made(torch: Any, code: str) -> dict[str, Any]:
    leaves = {name: torch.tensor(v, dtype=torch.float64, requires_grad=True) for name, v in LEAVES.items()}
    scope = {"D": torch.distributions, "t": lambda x: torch.tensor(x, dtype=torch.float64), **leaves}
    return facts(torch, eval(code, scope), leaves, MADE[code])


def observe_transform(torch: Any, code: str) -> dict[str, Any]:
    D = torch.distributions
    transform = eval(code, {"D": D, "t": lambda x: torch.tensor(x, dtype=torch.float64)})
    x = torch.tensor(TRANSFORMS[code], dtype=torch.float64, requires_grad=True)
    leaves, found = {"x": x}, {}
    y = transform(x)
    told(found, "y", lambda: y, leaves, torch)
    told(found, "back", lambda: transform.inv(y), leaves, torch)
    told(found, "slope", lambda: transform.log_abs_det_jacobian(x, y), leaves, torch)
    told(found, "slope back", lambda: transform.inv.log_abs_det_jacobian(y, x), leaves, torch)
    for fact in ("bijective", "sign", "domain", "codomain", "event_dim", "inv"):
        told(found, fact, lambda fact=fact: getattr(transform, fact), leaves, torch)
    for way in ("forward_shape", "inverse_shape"):
        told(found, way, lambda way=way: tuple(getattr(transform, way)((3, *x.shape))), leaves, torch)
    cached = transform.with_cache(1) if not isinstance(transform, type(D.ExpTransform().inv)) else transform
    z = cached(x)
    return found | {
        "shown": repr(transform),
        "cached": cached.inv(z) is x,
        "equal": [transform == cached, transform == D.TanhTransform(), transform.inv.inv == transform],
    }


def observe_constraint(torch: Any, code: str) -> dict[str, Any]:
    module = torch.distributions.constraints
    constraint = eval(code, {**vars(module), "t": torch.tensor})
    found: dict[str, Any] = {"shown": repr(constraint)}
    for name, run in (
        ("check", lambda: constraint.check(torch.tensor(CONSTRAINTS[code])).tolist()),
        ("event_dim", lambda: constraint.event_dim),
        ("is_discrete", lambda: constraint.is_discrete),
    ):
        try:
            found[name] = run()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def divergences(torch: Any) -> dict[str, Any]:
    """Every pair of the classes above: the divergence with its graph and gradients, or the error."""
    found: dict[str, Any] = {}
    for p in KL:
        for q in KL:
            ours, theirs = build(torch, p, KL[p][0], torch.float64), build(torch, q, KL[q][1], torch.float64)
            leaves = {f"p.{k}": t for k, t in ours[1].items()} | {f"q.{k}": t for k, t in theirs[1].items()}
            told(found, f"{p} {q}", lambda: torch.distributions.kl_divergence(ours[0], theirs[0]), leaves, torch)  # noqa: B023
    return found


REFUSED = """
D.Normal(t([0.0]), t([-1.0])) | D.Bernoulli(0.5).log_prob(t(0.3)) | D.Bernoulli() | D.Bernoulli(0.5, logits=0.1) | D.Uniform(1.0, 0.0) | D.Categorical(t(0.5)) | D.Categorical(logits=t(0.5)) | D.Normal(0.0, 1.0).log_prob(1.0)
D.Normal(t([0.0, 0.0]), 1.0).log_prob(t([0.0, 0.0, 0.0])) | D.MultivariateNormal(t([0.0, 0.0])) | D.MultivariateNormal(t(0.0), torch.eye(2)) | D.MultivariateNormal(t([0.0, 0.0]), t([1.0, 1.0])) | D.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([1.0, 1.0]))
D.MultivariateNormal(t([0.0, 0.0]), torch.eye(2), torch.eye(2)) | D.MultivariateNormal(t([0.0, 0.0]), -torch.eye(2)) | D.MultivariateNormal(t([0.0, 0.0]), torch.eye(2)).log_prob(t([1.0])) | D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5)) | D.Normal("a", 1.0)
D.Dirichlet(t(1.0)) | D.Dirichlet(t([1.0, -1.0])) | D.Multinomial(t(3), t([0.5, 0.5])) | D.Multinomial(3, t([0.5, 0.5])).log_prob(t([4.0, 0.0])) | D.LKJCholesky(1) | D.Independent(D.Normal(0.0, 1.0), 1) | D.Geometric(t(0.0)) | D.Geometric(t([0.5, 0.0]))
D.TransformedDistribution(D.Normal(0.0, 1.0), 3) | D.TransformedDistribution(D.Normal(0.0, 1.0), [3]) | D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()) | D.LowRankMultivariateNormal(t(0.0), t([[1.0]]), t([1.0])) | D.LowRankMultivariateNormal(t([0.0]), t([1.0]), t([1.0]))
D.LowRankMultivariateNormal(t([0.0]), t([[1.0], [1.0]]), t([1.0])) | D.LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([1.0, 2.0])) | D.LowRankMultivariateNormal(torch.zeros(3, 2), torch.zeros(2, 2, 1), torch.ones(2)) | D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(t([0.0]), 1.0)) | D.MixtureSameFamily(D.Categorical(t([0.5, 0.5])), 3)
D.MixtureSameFamily(D.Categorical(t([0.5, 0.5])), D.Normal(torch.zeros(3), 1.0)) | D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(2, 2), 1.0)) | D.Binomial(t([2.0, 3.0]), t(0.5)).entropy() | D.Binomial(t([2.0, 3.0]), t(0.5)).enumerate_support() | D.Binomial(3, t(0.5)).log_prob(t(4.0)) | D.Binomial(-1, t(0.5))
D.Poisson(t(-1.0)) | D.Poisson(t(1.0)).log_prob(t(0.5)) | D.NegativeBinomial(3.0, t(1.0)) | D.ContinuousBernoulli(t(2.0)) | D.ContinuousBernoulli(t(2.0), validate_args=True) | D.OneHotCategorical(t([0.5, 0.5])).log_prob(t([1.0, 1.0])) | D.Wishart(1.0, torch.eye(2)) | D.Wishart(3.0) | D.Wishart(3.0, t([1.0])) | D.Wishart(3.0, -torch.eye(2))
D.Normal(0.0, 1.0).mode + D.Poisson(1.0).entropy() | D.VonMises(0.0, 1.0).entropy() | D.VonMises(0.0, 1.0).cdf(t(0.0)) | D.Distribution().mean | D.Distribution(validate_args=False).mode | D.Distribution(validate_args=False).sample() | D.Distribution(validate_args=False).entropy() | D.Poisson(1.0).rsample() | D.LKJCholesky(2).mode | D.Independent(D.Bernoulli(t([0.5])), 1).enumerate_support()
D.Transform(cache_size=2) | D.Transform()(t(1.0)) | D.Transform().sign | D.AbsTransform().sign | D.StickBreakingTransform().sign | D.AffineTransform(0.0, 1.0).with_cache(2) | D.CorrCholeskyTransform().forward_shape((4,)) | D.CorrCholeskyTransform().inverse_shape((4, 3)) | D.ReshapeTransform((2,), (3,)) | D.ReshapeTransform((2,), (1, 2)).forward_shape((3,))
D.ReshapeTransform((2,), (1, 2)).forward_shape(()) | D.IndependentTransform(D.ExpTransform(), 2)(t([1.0])) | D.CatTransform([3]) | D.CatTransform([D.ExpTransform()], lengths=[1, 2]) | D.CatTransform([D.ExpTransform()])(t([1.0, 2.0])) | D.CatTransform([D.ExpTransform()], dim=3)(t([1.0])) | D.StackTransform([D.ExpTransform()])(t([1.0, 2.0])) | D.StackTransform([D.ExpTransform()]).inv(t([1.0, 2.0])) | D.StackTransform([3])
D.StickBreakingTransform().event_dim | D.CorrCholeskyTransform().event_dim | D.SoftmaxTransform().forward_shape(()) | D.biject_to(D.constraints.square) | D.biject_to(D.constraints.positive_definite) | D.transform_to(3) | D.biject_to.register(3, 4) | D.constraints.independent(3, 1) | D.constraints.independent(D.constraints.real, -1)
D.constraints.independent(D.constraints.real, 2).check(t([1.0])) | D.constraints.cat([3]) | D.constraints.stack([D.constraints.real], 4).check(t([1.0])) | D.constraints.cat([D.constraints.real], 0, [1, 2]) | D.constraints.dependent.event_dim | D.constraints.dependent.check(t(1.0)) | D.constraints.Constraint().check(t(1.0)) | D.utils.vec_to_tril_matrix(t([1.0, 2.0])) | D.utils.tril_matrix_to_vec(torch.eye(2), 3)
D.Distribution.set_default_validate_args(3) | D.RelaxedBernoulli(t(0.5)) | D.RelaxedOneHotCategorical(t(0.5), t([0.5, 0.5])).log_prob(t([0.5, 0.6])) | D.HalfNormal(t(-1.0)) | D.HalfCauchy(t(1.0)).log_prob(t(-1.0)) | D.Pareto(t(1.0), t(1.0)).log_prob(t(0.5)) | D.LogNormal(t(0.0), t(1.0)).log_prob(t(-0.5)) | D.LogisticNormal(t([0.0]), t([1.0])).log_prob(t([0.5, 0.6]))
"""


def refusals(torch: Any) -> dict[str, str]:
    """Return what each of the lines above raises."""
    scope, found = {"D": torch.distributions, "t": torch.tensor, "torch": torch}, {}
    for code in (code.strip() for line in REFUSED.strip().splitlines() for code in line.split(" | ")):
        try:
            found[code] = str(eval(code, scope)) and "nothing"
        except Exception as error:
            found[code] = f"{type(error).__name__}: {error}".replace(torch.__name__, "torch")
    return found


def everything(torch: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "distributions": {name: observe(torch, name) for name in CASES},
            "made": {code: observe_made(torch, code) for code in MADE},
            "transforms": {code: observe_transform(torch, code) for code in TRANSFORMS},
            "constraints": {code: observe_constraint(torch, code) for code in CONSTRAINTS},
            "divergences": divergences(torch),
            "refusals": refusals(torch),
        }


def main() -> None:
    import torch

    parts = []
    for part, rows in everything(torch).items():
        lines = (f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows.items())
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    EXPECTED.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
