"""`torch.distributed.distributed_c10d`: the same names as in `torch.distributed`."""

from . import *  # noqa: F403
from . import __all__ as __all__
from ._groups import default_group as _get_default_group

_get_default_group = _get_default_group
