"""`torch.distributions`: random variables with densities, samples and divergences."""

from __future__ import annotations

from typing import Any

from .. import _missing
from . import constraints
from .continuous import Beta, Exponential, Gamma, Normal, Uniform
from .discrete import Bernoulli, Categorical, Multinomial
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .multivariate import Dirichlet, MultivariateNormal

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Dirichlet", "Distribution", "Exponential", "Gamma", "Independent", "Multinomial",
    "MultivariateNormal", "Normal", "Uniform", "constraints", "kl_divergence", "register_kl",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
