"""`torch.distributed.constants`: the timeout of groups that name none."""

from ._groups import default_pg_timeout

__all__ = ["default_pg_timeout"]
