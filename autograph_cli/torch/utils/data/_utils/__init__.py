"""What PyTorch keeps under `torch.utils.data._utils`: how samples become a batch."""

from . import collate

__all__ = ["collate"]
