"""The random stream, against what PyTorch drew (generator.json, written by record_generator.py)."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autograph_cli.torch._core.streams import generator
from autograph_cli.torch._core.streams.generator import Stream
from tests.cases import for_each

EXPECTED = json.loads(Path(__file__).with_name("generator.json").read_text())
DTYPES = {"bfloat16": ml_dtypes.bfloat16, "bool": np.bool_}
# Relative, then absolute: what a logarithm or a cosine may differ by from one library to another.
ROUNDING = {"float16": (2e-3, 1e-3), "bfloat16": (1e-2, 1e-2), "float32": (2e-6, 2e-6), "float64": (1e-13, 1e-14)}
# Made of integers and exact products, so equal to the bit.
EXACT = {"uniform", "random", "integers", "permutation", "bernoulli", "bernoulli_each", "dropout_noise", "multinomial"}


def dtype_of(name):
    return np.dtype(DTYPES.get(name, name))


def draw(stream, sampler, *args):
    function = getattr(generator, sampler)
    if sampler == "bernoulli_each":
        p, p_dtype, dtype = args
        return function(stream, np.array(p).astype(dtype_of(p_dtype)), dtype_of(dtype))
    if sampler == "multinomial":
        weights, dtype, count, replacement = args
        return function(stream, np.array(weights).astype(dtype_of(dtype)), count, replacement)
    size, dtype, *rest = args
    return function(stream, size, dtype_of(dtype), *rest)


def numbers(array):
    """The elements as `record_generator.plain` writes them: complex ones in pairs, all in a Python type."""
    parts = np.stack((array.real, array.imag), -1) if array.dtype.kind == "c" else array
    return parts.astype(np.float64 if parts.dtype.kind not in "biu" else parts.dtype).ravel().tolist()


@for_each("name", EXPECTED)
def test_a_stream_draws_the_numbers_of_pytorch(name):
    program = EXPECTED[name]
    stream = Stream(program["seed"])
    for expected in program["calls"]:
        call = expected["call"]
        array = draw(stream, *call)
        assert (array.dtype, list(array.shape)) == (dtype_of(expected["dtype"]), expected["shape"]), call
        if call[0] in EXACT:
            assert numbers(array) == expected["values"], call
        else:
            kind = {"complex64": "float32", "complex128": "float64"}.get(expected["dtype"], expected["dtype"])
            relative, absolute = ROUNDING.get(kind, (0, 0))
            np.testing.assert_allclose(numbers(array), expected["values"], relative, absolute, err_msg=str(call))


@for_each("name", EXPECTED)
def test_a_stream_stands_where_pytorch_stands_afterwards(name):
    program = EXPECTED[name]
    stream = Stream(program["seed"])
    for expected in program["calls"]:
        draw(stream, *expected["call"])
    assert stream.initial_seed() == program["initial_seed"]
    assert stream.get_state().tobytes().hex().startswith(program["state"])
    assert generator.integers(stream, (3,), np.int64, 0, 2**27).tolist() == program["next"]


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 2000])
def test_a_state_restores_the_stream(draws):
    stream = Stream(5)
    stream.bits32(draws)
    generator.normal(stream, (3,), np.float32)
    state = stream.get_state()
    assert (state.dtype, state.shape) == (np.uint8, (5056,))
    other = Stream()
    other.set_state(state)
    assert other.get_state().tobytes() == state.tobytes()
    assert other.initial_seed() == 5
    for sampler, size in ((generator.normal, 2), (generator.uniform, 700), (generator.normal, 5)):
        assert sampler(stream, (size,), np.float32).tolist() == sampler(other, (size,), np.float32).tolist()


@pytest.mark.parametrize(
    ("state", "error", "sentence"),
    [
        (np.zeros(5056), TypeError, "RNG state must be a torch.ByteTensor"),
        (np.zeros(5, np.uint8), RuntimeError, "Expected a CPUGeneratorImplState of size 5056"),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_a_state_that_is_none_is_refused(state, error, sentence):
    stream = Stream(1)
    before = stream.get_state()
    with pytest.raises(error, match=sentence):
        stream.set_state(state)
    assert stream.get_state().tobytes() == before.tobytes()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_a_seed_of_more_than_64_bits_is_refused(seed):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        Stream(seed)


def test_a_seed_from_the_system_is_reported():
    stream = Stream(1)
    seed = stream.seed()
    assert seed == stream.initial_seed()
    assert stream.bits32(4).tolist() == Stream(seed).bits32(4).tolist()


@for_each(
    ("sampler", "args", "error", "sentence"),
    [
        ("uniform", ((2,), "int32"), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Int'"),
        ("uniform", ((2,), "float32", 1, 0), RuntimeError, "uniform_ expects to return a [from, to) range, but found"),
        ("uniform", ((2,), "float16", 0, 1e6), RuntimeError, "to is out of bounds for c10::Half"),
        ("uniform", ((2,), "float32", -3e38, 3e38), RuntimeError, "uniform_ expects to-from <= std::numeric_limits"),
        ("normal", ((2,), "int64"), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
        ("normal", ((2,), "float32", 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (
            "random",
            ((2,), "complex64"),
            NotImplementedError,
            "\"random_kernel_cpu\" not implemented for 'ComplexFloat'",
        ),
        (
            "integers",
            ((2,), "int64", 5, 5),
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=5",
        ),
        ("integers", ((2,), "uint8", 0, 300), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        ("integers", ((2,), "uint8", -1, 30), RuntimeError, "from is out of bounds for unsigned char"),
        ("permutation", (-1, "int64"), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        ("permutation", (3000, "float16"), RuntimeError, "n cannot be greater than 2049 for Half type."),
        ("bernoulli", ((2,), "float32", 1.5), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
        ("bernoulli_each", ([2.0], "float32", "float32"), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true"),
        ("dropout_noise", ((2,), "float32", 2.0), RuntimeError, "dropout probability has to be between 0 and 1"),
        ("exponential", ((2,), "float32", 0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
        ("exponential", ((2,), "int32"), RuntimeError, "Exponential distribution is a continuous probability"),
        ("geometric", ((2,), "float32", 1), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
        ("cauchy", ((2,), "float32", 0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
        ("log_normal", ((2,), "float32", 0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
        ("multinomial", ([1.0, 1.0], "float32", 3, False), RuntimeError, "cannot sample n_sample > prob_dist.size(-1)"),
        ("multinomial", ([1.0, 1.0], "float32", 0, False), RuntimeError, "cannot sample n_sample <= 0 samples"),
        ("multinomial", ([0.0, 0.0], "float32", 1, False), RuntimeError, "invalid multinomial distribution (sum of"),
        ("multinomial", ([1.0, -1.0], "float32", 1, False), RuntimeError, "probability tensor contains either `inf`"),
        ("multinomial", ([1.0, -1.0], "float32", 3, True), RuntimeError, "invalid multinomial distribution (encount"),
        ("multinomial", ([1, 2], "int64", 1, False), RuntimeError, "multinomial only supports floating-point dtypes"),
    ],
)
def test_wrong_arguments_are_refused_in_pytorchs_words(sampler, args, error, sentence):
    with pytest.raises(error) as raised:
        draw(Stream(1), sampler, *args)
    assert str(raised.value).startswith(sentence)


def test_dropout_of_everything_draws_nothing():
    stream = Stream(1)
    assert generator.dropout_noise(stream, (3,), np.float32, 1.0).tolist() == [0, 0, 0]
    assert stream.get_state().tobytes() == Stream(1).get_state().tobytes()


def test_real_pytorch_goes_on_from_our_state_bytes():
    torch = pytest.importorskip("torch")
    stream, real = Stream(3), torch.Generator().manual_seed(3)
    generator.uniform(stream, (1000,), np.float32)
    torch.rand(1000, generator=real)
    assert real.get_state().tolist() == stream.get_state().tolist()
    real.set_state(torch.tensor(stream.get_state()))
    assert torch.rand(5, generator=real).tolist() == generator.uniform(stream, (5,), np.float32).tolist()
