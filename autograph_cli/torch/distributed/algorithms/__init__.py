"""`torch.distributed.algorithms`: training that goes on where some ranks have no inputs left, and hooks that reduce."""
