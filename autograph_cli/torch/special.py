"""Special functions, as `torch.special` names them.

>>> from autograph_cli import torch
>>> torch.special.erfinv(torch.tensor([0.0, 0.5]))
tensor([0.0000, 0.4769])
"""

from __future__ import annotations

from ._core.operations.registry import functions as functions
from ._ops.pointwise import special as _ops
from ._ops.pointwise.special import (
    digamma as digamma,
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfcx as erfcx,
    erfinv as erfinv,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
    sinc as sinc,
    xlog1py as xlog1py,
    zeta as zeta,
)

psi, gammaln, gammainc, gammaincc = digamma, _ops.lgamma, functions["igamma"], functions["igammac"]
multigammaln, expit = functions["mvlgamma"], functions["sigmoid"]
log1p, exp2, expm1, round = (functions[_name] for _name in ("log1p", "exp2", "expm1", "round"))
logit, polygamma, xlogy = (functions[_name] for _name in ("logit", "polygamma", "xlogy"))
softmax, log_softmax, logsumexp = (functions[_name] for _name in ("softmax", "log_softmax", "logsumexp"))
globals().update(_ops.plain)
globals().update({_name: _ops.polynomial(_name) for _name in _ops.POLYNOMIALS})
