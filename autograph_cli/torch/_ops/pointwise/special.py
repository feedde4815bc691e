"""Special functions and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._core.base import dtypes
from ..._core.base.errors import refused
from ..._core.operations.docstrings import documented
from ..._core.operations.operation import operation, operations, right_first
from ..._core.operations.registry import composite, overloaded, publish
from ..._core.running.device_dispatch import kernels
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor, make
from ..._core.tape.wrapped_numbers import wrap_number
from ..._kernels.elementwise.special import ladder
from ..matrices._errors import not_implemented

ROOT_PI = math.sqrt(math.pi)

erf = operation(
    "erf(Tensor self)",
    refuses={"c": "erf_vml_cpu"},
    doc=(
        "The error function of each element, 2 / sqrt(pi) times the integral of exp(-t ** 2) from 0.\n\n"
        "Abramowitz and Stegun, 7.1.1."
    ),
    floating=True,
    memory_format="preserve",
    zero_to_zero=True,
    self=lambda f, grad, self: f.mul_Scalar(f.exp(f.neg(f.pow_Tensor_Scalar(self, 2))), 2 / ROOT_PI) * grad,
)
erfc = operation(
    "erfc(Tensor self)",
    refuses={"c": "erfc_vml_cpu"},
    doc=("`1 - erf(input)`, without the loss of digits where `erf` is near 1.\n\nAbramowitz and Stegun, 7.1.2."),
    floating=True,
    self=lambda f, grad, self: f.mul_Scalar(f.exp(f.neg(f.pow_Tensor_Scalar(self, 2))), -2 / ROOT_PI) * grad,
)
erfcx = operation(
    "special_erfcx(Tensor self)",
    doc="`exp(input ** 2) * erfc(input)`, which neither overflows nor vanishes where its factors do.",
    floating=True,
    refuses={"eE": "erfcx_cpu"},
    self=lambda f, grad, self, result: f.sub_Scalar(f.mul_Scalar(self, 2) * result, 2 / ROOT_PI) * grad,
)
erfinv = operation(
    "erfinv(Tensor self)",
    refuses={"c": "erfinv_vml_cpu"},
    doc="The inverse of `erf`: infinite at -1 and 1, nan outside.",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, self: f.mul_Scalar(f.exp(f.pow_Tensor_Scalar(f.erfinv(self), 2)), 0.5 * ROOT_PI) * grad,
)
ndtri = operation(
    "special_ndtri(Tensor self)",
    doc=(
        "The inverse of `ndtr`: the number below which a standard normal variable falls with probability "
        "`input`.\n\n"
        "-inf at 0, inf at 1, nan outside."
    ),
    floating=True,
    refuses={"eE": "ndtri_cpu"},
    self=lambda f, grad, result: right_first(
        f.exp(f.div_Scalar(f.pow_Tensor_Scalar(result, 2), 2)), f.mul_Scalar(grad, math.sqrt(2 * math.pi))
    ),
)
log_ndtr = operation(
    "special_log_ndtr(Tensor self)",
    doc="The logarithm of `ndtr`, exact also where that is too small for a floating point number.",
    floating=True,
    refuses={"eE": "log_ndtr_cpu"},
    self=lambda f, grad, self, result: right_first(
        f.exp(f.neg(result + f.div_Scalar(f.pow_Tensor_Scalar(self, 2), 2))),
        f.div_Scalar(grad, math.sqrt(2 * math.pi)),
    ),
)
lgamma = operation(
    "lgamma(Tensor self)",
    refuses={"c": "lgamma_vml_cpu"},
    doc=(
        "The logarithm of the absolute value of the gamma function at each element; its derivative is "
        "`digamma`.\n\n"
        "Abramowitz and Stegun, 6.1.41."
    ),
    floating=True,
    self=lambda f, grad, self: grad * f.digamma(self),
)
digamma = operation(
    "digamma(Tensor self)",
    doc=(
        "The derivative of the logarithm of the gamma function at each element; -inf at 0, nan at negative "
        "integers.\n\n"
        "Series: Abramowitz and Stegun, 6.3.18, after the recurrence 6.3.5."
    ),
    floating=True,
    self=lambda f, grad, self: grad * f.polygamma(1, self),
)
polygamma_op = operation(
    "polygamma(int n, Tensor self)", pointwise=True, self=lambda f, grad, n, self: grad * f.polygamma(n + 1, self)
)
polygamma_in_place = operation(
    "polygamma_(Tensor self, int n)",
    lambda f, x, n: f.polygamma(n, x),
    node="PolygammaBackward1",
    pointwise=True,
    self=lambda f, grad, n, self: grad * f.polygamma(n + 1, self),
)
mvlgamma_op = operation(
    "mvlgamma(Tensor self, int p)",
    floating=True,
    memory_format="contiguous",
    self=lambda f, grad, self, p: grad * f.sum_dim_IntList(f.digamma(ladder(f, self, p)), (self.ndim,)),
)
igamma_op = operation(
    "igamma(Tensor self, Tensor other)",
    refuses={"biuc": "igamma_cpu"},
    promotes=True,
    self=not_implemented("igamma: input"),
    other=lambda f, grad, self, other: grad * f.exp(_gamma_density(f, self, other)),
)
igammac_op = operation(
    "igammac(Tensor self, Tensor other)",
    refuses={"biuc": "igammac_cpu"},
    promotes=True,
    self=not_implemented("igammac: input"),
    other=lambda f, grad, self, other: f.neg(grad) * f.exp(_gamma_density(f, self, other)),
)
i0 = operation(
    "i0(Tensor self)",
    doc=(
        "The modified Bessel function of the first kind of order 0.\n\n"
        "Abramowitz and Stegun, 9.6.12; its derivative is `special.i1` (9.6.27)."
    ),
    floating=True,
    self=lambda f, grad, self: grad * f.special_i1(self),
)
i0e = operation(
    "special_i0e(Tensor self)",
    doc="`exp(-abs(input)) * i0(input)`, which does not overflow.",
    floating=True,
    node="SpecialI0EBackward0",
    self=lambda f, grad, self, result: grad * f.sub(f.special_i1e(self), f.sgn(self) * result),
)
i1 = operation(
    "special_i1(Tensor self)",
    doc=("The modified Bessel function of the first kind of order 1.\n\nAbramowitz and Stegun, 9.6."),
    floating=True,
    self=lambda f, grad, self, result: i1_gradient(f, grad, self, result),
)
i1e = operation(
    "special_i1e(Tensor self)",
    doc="`exp(-abs(input)) * i1(input)`, which does not overflow.",
    floating=True,
    node="SpecialI1EBackward0",
    self=lambda f, grad, self, result: i1e_gradient(f, grad, self, result),
)
sinc = operation(
    "sinc(Tensor self)",
    doc="`sin(pi * input) / (pi * input)`, 1 at 0.",
    floating=True,
    self=lambda f, grad, self: sinc_gradient(f, grad, self),
)
logit = operation(
    "logit(Tensor self, float? eps=None)",
    refuses={"c": "logit_cpu"},
    doc=(
        "`log(input / (1 - input))`, the inverse of `sigmoid`; with `eps` the input is first clamped to [eps, 1 - eps]."
    ),
    floating=True,
    self=lambda f, grad, self, eps: logit_gradient(f, grad, self, eps),
)
entr = operation(
    "special_entr(Tensor self)",
    doc="`-input * log(input)`, the terms of an entropy: 0 at 0, -inf below.",
    floating=True,
    self=lambda f, grad, self: grad * f.neg(f.add_Scalar(f.log(self), 1)),
)


def _with_numbers(name: str, shift: int) -> tuple[Any, Any, Any]:
    """x log(y + shift) of two tensors, of a number and a tensor, of a tensor and a number."""
    special = "special_" * bool(shift)
    beyond: Callable[[Any, Any], Any] = (lambda f, y: f.add_Scalar(y, shift)) if shift else (lambda f, y: y)
    node = "SpecialXlog1PyBackward" if shift else "XlogyBackward"
    log: Callable[[Any], Any] = lambda f: getattr(f, f"{special}{name}")  # noqa: E731
    both = operation(
        f"{special}{name}(Tensor self, Tensor other)",
        promotes=True,
        floating=True,
        node=f"{node}0",
        self=lambda f, grad, self, other: f.masked_fill_Scalar(
            log(f)(grad, other), _at_edge(f, self, other, -shift), 0
        ),
        other=lambda f, grad, self, other: f.div(grad * self, beyond(f, other)),
    )
    number_first = operation(
        f"{special}{name}.self_scalar(Scalar self, Tensor other)",
        node=f"{node}1",
        pointwise=True,
        other=lambda f, grad, self, other: f.div(f.mul_Scalar(grad, self), beyond(f, other)),
    )
    number_second = operation(
        f"{special}{name}.other_scalar(Tensor self, Scalar other)",
        node=f"{node}2",
        pointwise=True,
        self=lambda f, grad, self, other: _by_first(
            f, getattr(f, f"{special}{name}_other_scalar")(grad, other), self, other, -shift
        ),
    )
    return both, number_first, number_second


def _by_first(f: Any, gradient: Any, self: Any, other: Any, edge: float) -> Any:
    return gradient if other > edge else f.masked_fill_Scalar(gradient, f.eq(self, f.full_like_number(self, 0)), 0)


def _at_edge(f: Any, x: Any, y: Any, edge: float) -> Any:
    return f.bitwise_and(f.eq(x, f.full_like_number(x, 0)), f.le(y, f.full_like_number(y, edge)))


xlogy_tensors, xlogy_number_first, xlogy_number_second = _with_numbers("xlogy", 0)
xlog1py_tensors, xlog1py_number_first, xlog1py_number_second = _with_numbers("xlog1py", 1)
zeta_tensors = operation(
    "special_zeta(Tensor self, Tensor other)",
    promotes=True,
    floating=True,
    refuses={"eE": "zeta_cpu"},
    self=not_implemented("zeta"),
    other=lambda f, grad, self, other: grad * f.neg(self) * f.special_zeta(f.add_Scalar(self, 1), other),
)
zeta_number_first = operation(
    "special_zeta.self_scalar(Scalar self, Tensor other)",
    node="SpecialZetaBackward1",
    pointwise=True,
    other=lambda f, grad, self, other: f.mul_Scalar(grad, -self) * f.special_zeta_self_scalar(self + 1.0, other),
)
zeta_number_second = operation(
    "special_zeta.other_scalar(Tensor self, Scalar other)",
    node="SpecialZetaBackward2",
    pointwise=True,
    self=not_implemented("zeta"),
)

NOT_DIFFERENTIABLE = {
    "airy_ai": "The Airy function Ai of each element (A&S 10.4).",
    "bessel_j0": "The Bessel function of the first kind of order 0 (A&S 9.1).",
    "bessel_j1": "The Bessel function of the first kind of order 1 (A&S 9.1).",
    "bessel_y0": "The Bessel function of the second kind of order 0, nan below 0 (A&S 9.1).",
    "bessel_y1": "The Bessel function of the second kind of order 1, nan below 0 (A&S 9.1).",
    "modified_bessel_i0": "The modified Bessel function of the first kind of order 0 (A&S 9.6); see `i0`.",
    "modified_bessel_i1": "The modified Bessel function of the first kind of order 1 (A&S 9.6); see `i1`.",
    "modified_bessel_k0": "The modified Bessel function of the second kind of order 0, nan below 0 (A&S 9.6).",
    "modified_bessel_k1": "The modified Bessel function of the second kind of order 1, nan below 0 (A&S 9.6).",
    "scaled_modified_bessel_k0": "`exp(input) * modified_bessel_k0(input)`, which does not vanish.",
    "scaled_modified_bessel_k1": "`exp(input) * modified_bessel_k1(input)`, which does not vanish.",
    "spherical_bessel_j0": "`sin(input) / input`, 1 at 0: the spherical Bessel function of order 0 (A&S 10.1.11).",
}
POLYNOMIALS = {
    "chebyshev_polynomial_t": "The Chebyshev polynomial of the first kind",
    "chebyshev_polynomial_u": "The Chebyshev polynomial of the second kind",
    "chebyshev_polynomial_v": "The Chebyshev polynomial of the third kind",
    "chebyshev_polynomial_w": "The Chebyshev polynomial of the fourth kind",
    "hermite_polynomial_h": "The physicist's Hermite polynomial",
    "hermite_polynomial_he": "The probabilist's Hermite polynomial",
    "laguerre_polynomial_l": "The Laguerre polynomial",
    "legendre_polynomial_p": "The Legendre polynomial",
    "shifted_chebyshev_polynomial_t": "The Chebyshev polynomial of the first kind, moved to [0, 1],",
    "shifted_chebyshev_polynomial_u": "The Chebyshev polynomial of the second kind, moved to [0, 1],",
    "shifted_chebyshev_polynomial_v": "The Chebyshev polynomial of the third kind, moved to [0, 1],",
    "shifted_chebyshev_polynomial_w": "The Chebyshev polynomial of the fourth kind, moved to [0, 1],",
}
plain = {
    name: operation(
        f"special_{name}(Tensor self)",
        doc=f"{doc.replace('A&S', 'Abramowitz and Stegun,')} It has no derivative, as in PyTorch.",
        floating=True,
        refuses={"eE": f"{name}_cpu"},
    )
    for name, doc in NOT_DIFFERENTIABLE.items()
}
"""The functions that PyTorch does not differentiate."""
polynomials = {
    name: operation(f"special_{name}(Tensor x, Tensor n)", promotes=True, floating=True, refuses={"eE": f"{name}_cpu"})
    for name in POLYNOMIALS
}
publish(erf, erfc, erfinv, lgamma, digamma, i0, sinc, logit, inplace=True)


# ---------------------------------------------------------------- parts of the formulas


def _gamma_density(f: Any, a: Any, x: Any) -> Any:
    """The logarithm of the gamma distribution's density."""
    return f.sub(f.sub(f.sub_Scalar(a, 1) * f.log(x), x), f.lgamma(a))


def _away_from_zero(f: Any, x: Any) -> tuple[Any, Any]:
    """Return where x is not tiny, and x with something harmless where it is."""
    eps = f.full_like_number(
        x, 2.220446049250313e-16 if x.dtype in (dtypes.float64, dtypes.float64.numpy) else 1.1920928955078125e-07
    )
    fine = f.gt(f.abs(x), eps)
    return fine, f.where(fine, x, eps)


def i1_gradient(f: Any, grad: Any, x: Any, result: Any) -> Any:
    """I0(x) - I1(x) / x, 1/2 at 0."""
    fine, safe = _away_from_zero(f, x)
    shrunk = result * f.reciprocal(safe)
    slope = f.sub(f.i0(safe), shrunk)
    return grad * f.where(fine, slope, f.full_like_number(x, 0.5))


def i1e_gradient(f: Any, grad: Any, x: Any, result: Any) -> Any:
    fine, safe = _away_from_zero(f, x)
    inverse = f.reciprocal(safe)
    shrunk = result * (f.sgn(safe) + inverse)
    slope = f.sub(f.special_i0e(safe), shrunk)
    return grad * f.where(fine, slope, f.full_like_number(x, 0.5))


def sinc_gradient(f: Any, grad: Any, x: Any) -> Any:
    """(pi x cos(pi x) - sin(pi x)) / (pi x**2), 0 at 0."""
    turned, square = f.mul_Scalar(x, math.pi), f.mul_Scalar(x * x, math.pi)
    sine = f.sin(turned)
    slope = grad * f.conj(f.div(f.sub(turned * f.cos(turned), sine), square))
    return f.where(f.eq(square, f.full_like_number(square, 0)), f.full_like_number(grad, 0), slope)


def logit_gradient(f: Any, grad: Any, x: Any, eps: float | None) -> Any:
    """1 / (x (1 - x)) inside; outside 0 where x was clamped, else nan."""
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    inside = f.within(x, low, 1.0 - low)
    return f.where(inside, f.div(grad, x * f.sub(f.full_like_number(x, 1), x)), f.full_like_number(x, outside))


def arange_like(start: float, end: float, step: float, like: Tensor) -> Tensor:
    return make(kernels(like._ag_raw).arange_like(start, end, step, like._ag_raw))


operations.arange_like = arange_like


# ---------------------------------------------------------------- functions


@composite(method=False, out="partial")
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`.

    >>> from autograph_cli import torch
    >>> torch.polygamma(2, torch.tensor([1.0]))
    tensor([-2.4041])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return polygamma_op(n, input)


@composite(function=False, name="polygamma")
def _polygamma_method(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma` at each element. RuntimeError for a negative n."""
    return polygamma(n, input)


@composite(function=False, name="polygamma_")
def _polygamma_in_place(input: Tensor, n: int) -> Tensor:
    """`polygamma` in place: overwrites each element with the n-th derivative of `digamma` there. RuntimeError for a
    negative n.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return run_inplace(polygamma_in_place.op, (input, n))


@overloaded(aliases=("multigammaln",), method=True)
def mvlgamma(input: Tensor, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension `p` at each element.

    The sum of `lgamma(input - i / 2)` for i < p, and `p * (p - 1) / 4 * log(pi)`. RuntimeError for p < 1.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input._ag_raw.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    return mvlgamma_op, input, p


def _choice(tensors: Any, number_first: Any, number_second: Any) -> Callable[..., Any]:
    def choose(input: Any, other: Any) -> Any:
        if not isinstance(input, Tensor):
            return number_first, input, other
        return (tensors if isinstance(other, Tensor) else number_second), input, other

    return choose


_xlogy = _choice(xlogy_tensors, xlogy_number_first, xlogy_number_second)
_xlog1py = _choice(xlog1py_tensors, xlog1py_number_first, xlog1py_number_second)
_zeta = _choice(zeta_tensors, zeta_number_first, zeta_number_second)


def _out(choose: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """A function of two operands from what chooses its operation."""

    def run(input: Any, other: Any, *, out: Any = None) -> Any:
        chosen, *given = choose(input, other)
        return chosen(*given, out=out)

    return documented(run, doc, name)


xlog1py = _out(
    _xlog1py,
    "xlog1py",
    "`input * log1p(other)`, 0 where `input` is 0 and `other` is not nan; one of both may be a number.",
)
zeta = _out(
    _zeta,
    "zeta",
    "The Hurwitz zeta function, the sum of 1 / (k + `other`) ** `input` over k = 0, 1, ...; one of both may be a "
    "number.\n\n"
    "It can be differentiated by `other` only; RuntimeError otherwise.",
)


def polynomial(name: str) -> Callable[..., Any]:
    """The polynomial of degree n at x, elementwise; one of both may be a number."""
    op = polynomials[name]

    def run(input: Any, n: Any, *, out: Any = None) -> Any:
        if not isinstance(input, Tensor):
            input = wrap_number(input, n)
        return op(input, n if isinstance(n, Tensor) else wrap_number(n, input), out=out)

    doc = (
        f"{POLYNOMIALS[name]} of degree `n` at `input`, elementwise; one of both may be a number. It has no derivative."
    )
    return documented(run, doc, name)


def ndtr(input: Tensor) -> Tensor:
    """The area under the standard normal distribution's density up to each element."""
    f = operations
    return f.mul_Scalar(f.add_Scalar(f.erf(f.mul_Scalar(input, math.sqrt(0.5))), 1), 0.5)


@overloaded()
def xlogy(input: Any, other: Any) -> Any:
    """input * log(other), 0 where the input is 0."""
    return _xlogy(input, other)


@overloaded()
def igamma(input: Tensor, other: Tensor) -> Any:
    """The regularized lower incomplete gamma function P(input, other)."""
    _tensors_only("igamma", input, other)
    return igamma_op, input, other


@overloaded()
def igammac(input: Tensor, other: Tensor) -> Any:
    """The regularized upper incomplete gamma function Q(input, other)."""
    _tensors_only("igammac", input, other)
    return igammac_op, input, other


def _tensors_only(name: str, input: Any, other: Any) -> None:
    for position, (shown, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise refused(
                TypeError, f"{name}(): argument '{shown}' (position {position}) must be Tensor, not {type(x).__name__}"
            )
