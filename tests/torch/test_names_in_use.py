"""The names that public scripts use are there, or what is said of them tells what to do."""

from operator import attrgetter
from pathlib import Path

from autograph_cli import torch
from tests.cases import for_each

NAMES = Path(__file__).with_name("names_in_use.txt").read_text().split()
NOT_THERE = {
    "torch.cuda.FloatTensor": "use torch.FloatTensor instead",
    "torch.cuda.LongTensor": "use torch.LongTensor instead",
    "torch.fx.": "does not rebuild torch.fx: the script needs PyTorch itself",
    "torch.masked.masked": "does not rebuild masked_tensor: the script needs PyTorch itself",
    "torch.utils.tensorboard": "needs the tensorboard package: pip install tensorboard",
}
"""How names begin that the engine lacks, and what is said of them."""


@for_each("name", NAMES)
def test_a_name_that_scripts_use_is_there_or_its_error_says_what_to_do(name: str) -> None:
    said = next((text for start, text in NOT_THERE.items() if name.startswith(start)), None)
    try:
        assert attrgetter(name.removeprefix("torch."))(torch) is not None
    except (AttributeError, ModuleNotFoundError) as error:
        assert said is not None, error
        assert said in str(error)
