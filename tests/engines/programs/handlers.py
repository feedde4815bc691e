"""A signal comes wherever Python may run its handler while PyTorch makes new tensors; the handler computes a gradient."""

import signal
import sys

import torch

w, lost, inside = torch.ones(3, requires_grad=True), [], []


def handler(*_):
    inside.append(0)
    y = (w * 2).sum()
    if y.grad_fn is None:
        lost.append(made.__name__)
    else:
        y.backward()
    w.grad = None  # handlers come as often as Python runs anything
    inside.pop()


def seen(frame, event, arg):
    own = frame.f_code is handler.__code__ or frame.f_code.co_filename == "<string>"
    if event == "call" and not inside and not own:
        signal.raise_signal(signal.SIGUSR1)


signal.signal(signal.SIGUSR1, handler)
MADE = (torch.ones, torch.zeros, torch.rand, torch.arange, torch.eye, torch.randperm)
for made in (*MADE, torch.ones_like, torch.zeros_like, torch.rand_like):
    given = w if made.__name__.endswith("_like") else 3
    sys.setprofile(seen)
    found = made(given)
    sys.setprofile(None)
    print(made.__name__, found.requires_grad, found._version, tuple(found.shape))
with torch.inference_mode():
    print(torch.zeros(2).is_inference(), (w * 2).requires_grad)
(w * 2).sum().backward()
print(lost)
