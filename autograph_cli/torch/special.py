"""Special functions, as `torch.special` names them.

>>> from autograph_cli import torch
>>> torch.special.erfinv(torch.tensor([0.0, 0.5]))
tensor([0.0000, 0.4769])
"""
# ruff: noqa: F401  (names are here to be found)

from __future__ import annotations

from ._core.registry import functions
from ._ops import special as _ops
from ._ops.special import (
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    ndtr,
    ndtri,
    sinc,
    xlog1py,
    zeta,
)

psi, gammaln, gammainc, gammaincc = digamma, _ops.lgamma, functions["igamma"], functions["igammac"]
multigammaln, expit = functions["mvlgamma"], functions["sigmoid"]
log1p, exp2, expm1, round = (functions[_name] for _name in ("log1p", "exp2", "expm1", "round"))
logit, polygamma, xlogy = (functions[_name] for _name in ("logit", "polygamma", "xlogy"))
softmax, log_softmax, logsumexp = (functions[_name] for _name in ("softmax", "log_softmax", "logsumexp"))
globals().update(_ops.plain)
globals().update({_name: _ops.polynomial(_name) for _name in _ops.POLYNOMIALS})
