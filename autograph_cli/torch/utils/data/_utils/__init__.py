"""The parts of `torch.utils.data._utils`: samples become a batch."""

from . import collate

__all__ = ["collate"]
