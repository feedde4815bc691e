"""Draws with real PyTorch what test_generator.py expects, into generator.json: `python record_generator.py`."""

import json
from pathlib import Path

import torch

EXPECTED = Path(__file__).with_name("generator.json")


def empty(shape, dtype):
    return torch.empty(shape, dtype=getattr(torch, dtype))


SAMPLERS = {
    "uniform": lambda g, shape, dtype, low=0.0, high=1.0: empty(shape, dtype).uniform_(low, high, generator=g),
    "normal": lambda g, shape, dtype, mean=0.0, std=1.0: empty(shape, dtype).normal_(mean, std, generator=g),
    "random": lambda g, shape, dtype: empty(shape, dtype).random_(generator=g),
    "integers": lambda g, shape, dtype, low, high: empty(shape, dtype).random_(low, high, generator=g),
    "permutation": lambda g, count, dtype: torch.randperm(count, dtype=getattr(torch, dtype), generator=g),
    "bernoulli": lambda g, shape, dtype, p: empty(shape, dtype).bernoulli_(p, generator=g),
    "exponential": lambda g, shape, dtype, rate=1.0: empty(shape, dtype).exponential_(rate, generator=g),
    "geometric": lambda g, shape, dtype, p: empty(shape, dtype).geometric_(p, generator=g),
    "cauchy": lambda g, shape, dtype, median=0.0, sigma=1.0: empty(shape, dtype).cauchy_(median, sigma, generator=g),
    "log_normal": lambda g, shape, dtype, mean=1.0, std=2.0: empty(shape, dtype).log_normal_(mean, std, generator=g),
    "bernoulli_each": lambda g, p, p_dtype, dtype: empty((len(p),), dtype).bernoulli_(
        torch.tensor(p, dtype=getattr(torch, p_dtype)), generator=g
    ),
    "multinomial": lambda g, weights, dtype, count, replacement: torch.multinomial(
        torch.tensor(weights, dtype=getattr(torch, dtype)), count, replacement, generator=g
    ),
    "dropout_noise": lambda g, shape, dtype, p: dropout(g, torch.ones(shape, dtype=getattr(torch, dtype)), p),
}


def dropout(generator, ones, p):
    """`dropout` takes no generator, so the default one stands in for it."""
    torch.default_generator.set_state(generator.get_state())
    noise = torch.nn.functional.dropout(ones, p)
    generator.set_state(torch.default_generator.get_state())
    return noise


FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
WEIGHTS = [0.1, 0.0, 0.4, 0.2, 0.05, 0.25]
# Each program is one stream: a seed, and the calls that share it.
PROGRAMS = {
    "mixed": (
        7,
        [
            ("uniform", [3], "float32"),
            ("normal", [5], "float32"),
            ("uniform", [17], "float32"),
            ("permutation", 10, "int64"),
            ("normal", [2], "float64"),
            ("normal", [19], "float32"),
            ("integers", [4], "int64", 0, 10),
            ("normal", [1], "float32"),
            ("uniform", [700], "float32"),
            ("log_normal", [3], "float32"),
            ("uniform", [2, 3], "float64"),
        ],
    ),
    "uniform": (0, [("uniform", [20], dtype) for dtype in (*FLOATS, "complex64", "complex128")]),
    "uniform between": (1, [("uniform", [30], dtype, -2.7, 9.1) for dtype in FLOATS]),
    "uniform at the open end": (2, [("uniform", [60], "bfloat16", 1.0, 1.02), ("uniform", [60], "float16", 1, 1.01)]),
    **{
        f"normal of {size}": (size, [("normal", [size], dtype) for dtype in (*FLOATS, "complex64", "complex128")])
        for size in (0, 1, 3, 8, 15, 16, 17, 33)
    },
    "normal with mean and std": (3, [("normal", [size], dtype, 2.0, 0.5) for dtype in FLOATS for size in (7, 20)]),
    "random": (4, [("random", [6], dtype) for dtype in (*FLOATS, *INTEGERS, "bool")]),
    "integers": (5, [("integers", [8], dtype, -5, 100) for dtype in (*FLOATS, *INTEGERS[:4])]),
    "integers of wide ranges": (
        6,
        [("integers", [4], "int64", low, high) for low in (0, -(2**40)) for high in (2**28 - 1, 2**28, 2**32, 2**50)],
    ),
    "integers of all": (8, [("integers", [4], dtype, 3, None) for dtype in (*FLOATS, *INTEGERS)]),
    "integers of 64 bits": (8, [("integers", [4], "int64", -(2**63), None)]),
    "permutation": (9, [("permutation", count, "int64") for count in (0, 1, 2, 5, 40)]),
    "bernoulli": (10, [("bernoulli", [20], dtype, 0.3) for dtype in (*FLOATS, "int64", "bool")]),
    "bernoulli of each": (11, [("bernoulli_each", WEIGHTS, p, d) for p in FLOATS for d in ("float32", "bool")]),
    "dropout": (12, [("dropout_noise", [20], dtype, p) for dtype in FLOATS for p in (0.2, 0.5)]),
    "exponential": (13, [("exponential", [9], dtype, 1.5) for dtype in FLOATS]),
    "geometric": (14, [("geometric", [9], dtype, 0.25) for dtype in (*FLOATS, "int64")]),
    "cauchy": (15, [("cauchy", [9], dtype, 1.0, 2.0) for dtype in FLOATS]),
    "log normal": (16, [("log_normal", [size], dtype, 0.1, 0.5) for dtype in FLOATS for size in (3, 20)]),
    "multinomial": (
        17,
        [("multinomial", WEIGHTS, d, n, r) for d in FLOATS for n, r in ((1, False), (3, False), (9, True))],
    ),
    "multinomial of rows": (18, [("multinomial", [WEIGHTS, WEIGHTS[::-1]], "float32", 4, r) for r in (False, True)]),
    **{f"seed {seed}": (seed, [("uniform", [2], "float32")]) for seed in (-1, -(2**63), 2**40 + 3, 2**64 - 1)},
}


def plain(tensor):
    """A tensor as JSON: its dtype, its shape, and its numbers, those of complex ones in pairs."""
    numbers = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return {"dtype": str(tensor.dtype)[6:], "shape": list(tensor.shape), "values": numbers.flatten().tolist()}


def record(seed, calls):
    generator = torch.Generator().manual_seed(seed)
    results = [{"call": call, **plain(SAMPLERS[call[0]](generator, *call[1:]))} for call in calls]
    return {
        "seed": seed,
        "initial_seed": generator.initial_seed(),
        "calls": results,
        "state": bytes(generator.get_state().tolist()).hex()[:48],
        "next": torch.randint(0, 2**27, (3,), generator=generator).tolist(),
    }


if __name__ == "__main__":
    programs = [json.dumps(name) + ": " + json.dumps(record(*program)) for name, program in PROGRAMS.items()]
    EXPECTED.write_text("{\n" + ",\n".join(programs) + "\n}\n")
