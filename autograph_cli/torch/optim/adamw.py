"""AdamW, which is Adam with another weight decay."""

from .adam import AdamW

__all__ = ["AdamW"]
