"""Fourier transforms, as `torch.fft` names them.

>>> from autograph_cli import torch
>>> torch.fft.rfft(torch.ones(4))
tensor([4.+0.j, 0.+0.j, 0.+0.j])
"""

from __future__ import annotations

from ._ops.matrices.fft import public as _public

globals().update(_public)
