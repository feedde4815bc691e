"""Special functions against values computed in thirty digits."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._kernels import cpu

VALUES = {
    "erf": {-0.3: -0.3286267594591274, 0.8: 0.7421009647076605, 1.7: 0.9837904585907745, 4.0: 0.9999999845827421},
    "erfc": {
        -2.0: 1.9953222650189528,
        0.3: 0.6713732405408726,
        3.0: 2.209049699858544e-05,
        12.0: 1.3562611692059042e-64,
    },
    "special.erfcx": {
        -3.0: 16205.988853999586,
        0.2: 0.8090195199015807,
        5.0: 0.11070463773306863,
        200.0: 0.0028209126572120466,
    },
    "erfinv": {
        -0.7: -0.7328690779592167,
        0.1: 0.08885599049425769,
        0.99: 1.8213863677184494,
        0.9999999990686774: 4.328028275800946,
    },
    "special.ndtri": {
        9.094947017729282e-13: -7.047700256664409,
        0.125: -1.150349380376008,
        0.5: 0.0,
        0.75: 0.6744897501960817,
    },
    "special.log_ndtr": {
        -20.0: -203.91715537109727,
        -1.5: -2.7059444008238898,
        0.5: -0.3689464152886564,
        3.0: -0.0013508099647481938,
    },
    "lgamma": {
        -2.5: -0.056243716497674054,
        0.2: 1.5240638224307845,
        1.001: -0.0005763935982833062,
        2.0009765625: 0.00041318279306425424,
        3.7: 1.428072326665388,
        40.0: 106.63176026064346,
    },
    "digamma": {-1.5: 0.7031566406452432, 0.25: -4.2274535333762655, 1.5: 0.03648997397857652, 20.0: 2.970523992242149},
    "i0": {
        -3.0: 4.8807925858650245,
        0.5: 1.0634833707413236,
        7.9: 389.406283282158,
        8.1: 469.5006067101215,
        30.0: 781672297823.9775,
    },
    "special.i1e": {
        -3.0: -0.19682671329730086,
        0.5: 0.1564208031848717,
        8.1: 0.13340068832583662,
        300.0: 0.02300412204026895,
    },
    "special.modified_bessel_k0": {
        0.1: 2.4270690247020164,
        1.9: 0.1288459792760475,
        2.1: 0.10078374088996693,
        20.0: 5.741237815336525e-10,
    },
    "special.scaled_modified_bessel_k1": {
        0.1: 10.890182683049696,
        1.9: 1.0674709298145701,
        2.1: 1.0023680527405792,
        200.0: 0.08878860158500368,
    },
    "special.bessel_j0": {
        0.5: 0.9384698072408129,
        -5.0: -0.1775967713143383,
        7.9: 0.19436184484127825,
        8.1: 0.14751745404437766,
        60.0: -0.09147180408906187,
    },
    "special.bessel_j1": {
        0.5: 0.2422684576748739,
        -5.0: 0.32757913759146523,
        8.1: 0.24760776698159287,
        60.0: 0.046598383758166315,
    },
    "special.bessel_y0": {
        0.5: -0.44451873350670656,
        5.0: -0.30851762524903376,
        8.1: 0.23809132870223482,
        60.0: 0.0473589522094494,
    },
    "special.bessel_y1": {
        0.5: -1.471472392670243,
        5.0: 0.14786314339122683,
        8.1: -0.13314879595249593,
        60.0: 0.09186960936986689,
    },
    "special.airy_ai": {
        -30.0: -0.08796818845684216,
        -5.1: 0.3095259962873177,
        -4.9: 0.37453635470583874,
        0.5: 0.23169360648083348,
        4.9: 0.00013599211701506743,
        9.0: 2.47116843087249e-09,
    },
    "special.spherical_bessel_j0": {0.25: 0.9896158370180917, 3.0: 0.04704000268662241},
}
GAMMA = {
    (0.5, 0.2): 0.4729107431344619,
    (3, 1): 0.08030139707139419,
    (3, 9): 0.9937678048936227,
    (80, 75): 0.29679860036785716,
    (1e4, 1.01e4): 0.8413487504471796,
}
ZETA = {(2, 1): 1.6449340668482264, (1.5, 0.3): 8.237761671459724, (4, 25): 2.2647439418045616e-05}


def find(name):
    return getattr(torch.special, name[8:]) if name.startswith("special.") else getattr(torch, name)


def double(values):
    return torch.tensor(list(values), dtype=torch.float64)


@pytest.mark.parametrize("name", VALUES)
def test_function_is_exact_in_double_precision(name):
    table = VALUES[name]
    np.testing.assert_allclose(find(name)(double(table)).numpy(), list(table.values()), rtol=2e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["erfc", "lgamma"])
def test_series_for_other_backends_is_exact(name):
    series, table = getattr(cpu, f"{name}_series"), VALUES[name]
    np.testing.assert_allclose(series(np.array(list(table))), list(table.values()), rtol=2e-12)


@pytest.mark.parametrize("name", VALUES)
def test_single_precision_is_the_rounded_double(name):
    x = torch.tensor([x for x in VALUES[name] if np.float32(x) == x], dtype=torch.float32)
    assert find(name)(x).tolist() == find(name)(x.double()).float().tolist()


def test_incomplete_gamma_functions_are_exact_and_add_up_to_one():
    a, x = double(a for a, _ in GAMMA), double(x for _, x in GAMMA)
    np.testing.assert_allclose(torch.special.gammainc(a, x).numpy(), list(GAMMA.values()), rtol=1e-11)
    np.testing.assert_allclose((torch.special.gammainc(a, x) + torch.special.gammaincc(a, x)).numpy(), 1)


def test_zeta_is_exact():
    s, q = double(s for s, _ in ZETA), double(q for _, q in ZETA)
    np.testing.assert_allclose(torch.special.zeta(s, q).numpy(), list(ZETA.values()), rtol=1e-13)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("torch.lgamma(torch.tensor([0.0, -1.0, float('inf'), 1.0, 2.0]))", "[inf, inf, inf, 0.0, 0.0]"),
        ("torch.digamma(torch.tensor([0.0, -0.0, -1.0]))", "[-inf, inf, nan]"),
        ("torch.erfinv(torch.tensor([1.0, -1.0, 2.0, 0.0]))", "[inf, -inf, nan, 0.0]"),
        ("torch.special.ndtri(torch.tensor([0.0, 1.0, 2.0]))", "[-inf, inf, nan]"),
        ("torch.special.zeta(torch.tensor([1.0, 0.5, 2.0]), 0.0)", "[inf, nan, inf]"),
        ("torch.special.bessel_y0(torch.tensor([0.0, -1.0]))", "[-inf, nan]"),
        ("torch.special.entr(torch.tensor([0.0, -1.0, 1.0]))", "[0.0, -inf, -0.0]"),
        ("torch.xlogy(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.0, float('nan'), 0.0]))", "[0.0, nan, -inf]"),
        ("torch.igamma(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 0.0, float('inf')]))", "[1.0, 0.0, 1.0]"),
        ("torch.special.hermite_polynomial_h(2.0, torch.tensor([0, 1, 3, -1]))", "[1.0, 4.0, 40.0, 0.0]"),
        ("torch.sinc(torch.tensor([0.0]))", "[1.0]"),
    ],
)
def test_edges_are_those_of_pytorch(code, value):
    assert str(eval(code).tolist()) == value


def test_complex_numbers_are_refused():
    with pytest.raises(NotImplementedError, match=r'"erf_vml_cpu" not implemented for .ComplexFloat.'):
        torch.erf(torch.ones(2, dtype=torch.complex64))
