"""The names of the engine's classes while a script runs, and afterwards."""

import importlib
import pickle
import sys
import typing

import pytest

from autograph_cli import torch as engine
from autograph_cli.record.run.imports import serve
from autograph_cli.record.run.public_names import is_ours

AS_IN_PYTORCH = {
    "torch.nn.Linear": "torch.nn.modules.linear.Linear",
    "torch.nn.MultiheadAttention": "torch.nn.modules.activation.MultiheadAttention",
    "torch.nn.Parameter": "torch.nn.parameter.Parameter",
    "torch.nn.Module": "torch.nn.modules.module.Module",
    "torch.nn.utils.rnn.PackedSequence": "torch.nn.utils.rnn.PackedSequence",
    "torch.optim.Adam": "torch.optim.adam.Adam",
    "torch.optim.AdamW": "torch.optim.adamw.AdamW",
    "torch.optim.Optimizer": "torch.optim.optimizer.Optimizer",
    "torch.optim.lr_scheduler.StepLR": "torch.optim.lr_scheduler.StepLR",
    "torch.optim.lr_scheduler.OneCycleLR": "torch.optim.lr_scheduler.OneCycleLR",
    "torch.utils.data.DataLoader": "torch.utils.data.dataloader.DataLoader",
    "torch.utils.data.TensorDataset": "torch.utils.data.dataset.TensorDataset",
    "torch.autograd.Function": "torch.autograd.function.Function",
    "torch.Tensor": "torch.Tensor",
    "torch.device": "torch.device",
    "torch.Size": "torch.Size",
}


@pytest.mark.parametrize("name", AS_IN_PYTORCH)
def test_class_shows_the_name_that_it_has_in_pytorch(name):
    module, _, cls = name.rpartition(".")
    with serve():
        shown = repr(getattr(importlib.import_module(module), cls))
    assert shown == f"<class '{AS_IN_PYTORCH[name]}'>"


def test_names_are_the_engines_own_again_afterwards():
    before = {cls: cls.__module__ for cls in (engine.nn.Linear, engine.Tensor, engine.Generator)}
    with serve():
        assert all(not cls.__module__.startswith("autograph_cli") for cls in before)
    assert {cls: cls.__module__ for cls in before} == before


@pytest.mark.parametrize(
    "name", ["torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.distributions.normal", "functorch"]
)
def test_public_modules_have_pytorchs_names_while_a_script_runs(name):
    own = importlib.import_module(f"autograph_cli.{name}")
    with serve():
        assert importlib.import_module(name).__name__ == name
        with serve():
            assert own.__name__ == name
        assert own.__name__ == name
    assert own.__name__ == f"autograph_cli.{name}"


def test_module_that_is_loaded_while_a_script_runs_is_named_too():
    name = "autograph_cli.torch.nn.utils.prune"
    sys.modules.pop(name, None)
    with serve():
        prune = importlib.import_module("torch.nn.utils.prune")
        assert prune.Identity.__module__ == "torch.nn.utils.prune"
    assert prune.Identity.__module__ == name


def test_pickles_made_by_a_script_name_pytorchs_modules():
    layer = engine.nn.TransformerEncoderLayer(4, 1)
    with serve():
        made = pickle.dumps(layer, 0)
        assert type(pickle.loads(made)) is engine.nn.TransformerEncoderLayer
    assert b"ctorch.nn.modules.activation\nMultiheadAttention" in made


def test_class_of_a_script_keeps_its_name_and_is_not_ours():
    with serve():
        own = type("Own", (engine.nn.Linear,), {"__module__": "__main__"})
        assert repr(own) == "<class '__main__.Own'>"
        assert is_ours(engine.nn.Linear) and not is_ours(own)
    assert is_ours(engine.nn.Linear)


def test_annotations_of_a_scripts_class_are_read():
    with serve():
        own = type("Own", (importlib.import_module("torch").nn.Linear,), {"__annotations__": {"size": "int"}})
        assert typing.get_type_hints(own)["size"] is int


def test_distributions_expand_while_a_script_runs():
    with serve():
        normal = importlib.import_module("torch.distributions").Normal
        wide = normal(engine.zeros(2), engine.ones(2)).expand((3, 2))
        own = type("Own", (normal,), {"__init__": lambda self: normal.__init__(self, 0.0, 1.0)})
        with pytest.raises(NotImplementedError, match=r"Subclass Own of Normal that defines a custom __init__"):
            own().expand((2,))
    assert wide.batch_shape == (3, 2)


def test_messages_call_tensors_the_same_while_a_script_runs():
    x = engine.ones(2)
    with serve(), pytest.raises(TypeError, match=r"got \(Tensor, str\)"):
        engine.sum(x, "a")
