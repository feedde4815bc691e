"""An exception out of a signal's handler (Ctrl-C, a timeout) leaves no mode switched, wherever it comes within its block.

At the very start of `__exit__` it does, as in PyTorch: Python runs handlers there.
"""

import sys
import traceback
import warnings

import pytest

from autograph_cli import torch
from autograph_cli.pure import is_pure
from autograph_cli.torch._core.base import state
from autograph_cli.torch._core.base.state import process_state, thread_state
from autograph_cli.torch._core.running.autocast import settings
from autograph_cli.torch._core.running.modes import _MODES
from autograph_cli.torch.nn.attention import KERNELS, SDPBackend, sdpa_kernel
from autograph_cli.torch.nn.utils import parametrize
from autograph_cli.torch.utils import checkpoint


class Interrupt(BaseException):
    """What a handler raises."""


def modes():
    """All that can be switched, of this thread and of the process."""
    found = {
        name: getattr(thread_state, name)
        for name in (*_MODES, "current", "walk", "on_meta", "before_change", "watcher")
    }
    found |= {
        "calls": list(thread_state.calls),
        "device": process_state.default_device,
        "dtype": process_state.default_dtype,
    }
    found |= {"casting": (settings.enabled, dict(settings.lower), settings.caches, settings.nesting)}
    found |= {"kernels": dict(KERNELS), "cache": parametrize._cache}
    found |= {
        "checkpoint": (checkpoint._early_stop, checkpoint._debug),
        "grad counted": process_state.without_grad >= (not thread_state.grad),
    }
    return found


# ---------------------------------------------------------------- what is interrupted

X = torch.ones(3, requires_grad=True)
MODEL = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Once(Double):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * 2


def within(*managers):
    """Enter them, one in the other, compute something, and leave them."""

    def run():
        if len(managers) == 1:
            with managers[0]():
                (X * 2).sum()
        else:
            with managers[0]():
                within(*managers[1:])()

    return run


def step(make):
    def run():
        optimizer = make(MODEL.parameters())
        MODEL(X).sum().backward()
        optimizer.step()

    return run


@torch.no_grad()
def decorated():
    return X * 2


@torch.no_grad()
def generated():
    yield X * 2
    yield X * 3


PROGRAMS = {
    "no_grad": within(torch.no_grad),
    "enable_grad in no_grad": within(torch.no_grad, torch.enable_grad),
    "no_grad thrice": within(torch.no_grad, torch.enable_grad, torch.no_grad),
    "inference_mode": within(torch.inference_mode),
    "autocast": within(lambda: torch.autocast("cpu")),
    "autocast off in autocast": within(lambda: torch.autocast("cpu"), lambda: torch.autocast("cpu", enabled=False)),
    "saved_tensors_hooks": within(lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)),
    "save_on_cpu": within(torch.autograd.graph.save_on_cpu),
    "disable_saved_tensors_hooks": within(lambda: torch.autograd.graph.disable_saved_tensors_hooks("no")),
    "allow_mutation": within(torch.autograd.graph.allow_mutation_on_saved_tensors),
    "detect_anomaly": within(torch.autograd.detect_anomaly),
    "device": within(lambda: torch.device("meta")),
    "dual_level": within(torch.autograd.forward_ad.dual_level),
    "sdpa_kernel": within(lambda: sdpa_kernel(SDPBackend.MATH)),
    "cached": within(parametrize.cached),
    "early stop": within(lambda: checkpoint.set_checkpoint_early_stop(False)),
    "decorated": decorated,
    "generated": lambda: list(generated()),
    "backward": lambda: (X * 2).sum().backward(),
    "create_graph": lambda: torch.autograd.grad((X**3).sum(), X, create_graph=True)[0].sum().backward(),
    "Function": lambda: Double.apply(X).sum().backward(),
    "once_differentiable": lambda: Once.apply(X).sum().backward(),
    "hooks and backward": lambda: within(torch.autograd.graph.save_on_cpu)() or (X * X).sum().backward(),
    "checkpoint": lambda: checkpoint.checkpoint(MODEL, X, use_reentrant=False).sum().backward(),
    "reentrant checkpoint": lambda: checkpoint.checkpoint(MODEL, X, use_reentrant=True).sum().backward(),
    "grad": lambda: torch.func.grad(lambda x: (x**2).sum())(torch.ones(2)),
    "vmap of grad": lambda: torch.vmap(torch.func.grad(lambda x: (x**2).sum()))(torch.ones(2, 2)),
    "jvp": lambda: torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),)),
    "functional_call": lambda: torch.func.functional_call(MODEL, dict(MODEL.named_parameters()), (X,)),
    "SGD": step(lambda p: torch.optim.SGD(p, 0.1)),
    "Adam": step(torch.optim.Adam),
    "out=": lambda: torch.add(torch.ones(2), 1, out=torch.empty(2)),
    "gaussian_nll_loss": lambda: torch.nn.functional.gaussian_nll_loss(X, X, torch.ones(3)),
    "batch_norm": lambda: torch.nn.BatchNorm1d(3)(torch.ones(2, 3)),
}


# ---------------------------------------------------------------- interrupting


def is_switching(frame):
    """Return whether a mode is being entered or left, or put back by what was interrupted."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_name in SWITCHING:
            return True
        if is_pure() and frame.f_code.co_filename == state.__file__:  # else this is a function in C
            return True
        frame = frame.f_back
    return False


SWITCHING = ("__enter__", "__exit__")


class Interrupting:
    """Raises once, after so many events, at the next of those where Python runs handlers: where functions start, after
    C calls."""

    def __init__(self, after):
        self.after, self.events, self.raised = after, 0, False

    def __enter__(self):
        sys.setprofile(self.seen)

    def __exit__(self, *_):
        sys.setprofile(None)

    def seen(self, frame, event, argument):
        self.events += 1
        if self.events <= self.after or event not in ("call", "c_return"):
            return
        ours = "autograph_cli" in frame.f_code.co_filename or "contextlib" in frame.f_code.co_filename
        if ours and not is_switching(frame):
            self.raised = True
            raise Interrupt


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_mode_is_left_switched_wherever_it_comes(name):
    run, left = PROGRAMS[name], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
        before, interrupting = modes(), Interrupting(0)
        while not interrupting.events or interrupting.raised:
            interrupting, where = Interrupting(interrupting.events), None
            try:
                with interrupting:
                    run()
            except Interrupt as error:
                where = [entry for entry in traceback.extract_tb(error.__traceback__) if entry.name != "seen"][-1]
            different = [key for key, mode in modes().items() if before[key] != mode]
            if different:
                left.append((interrupting.events, where and (where.name, where.lineno), different))
                restore(before)
    assert left == []


def restore(before):
    """Return what a failing test left switched, for the next try."""
    for key in (*_MODES, "current", "walk", "on_meta", "before_change", "watcher"):
        setattr(thread_state, key, before[key])
    process_state.default_device, parametrize._cache = before["device"], before["cache"]
    settings.enabled, settings.lower, settings.caches, settings.nesting = before["casting"]
    checkpoint._early_stop, checkpoint._debug = before["checkpoint"]
    KERNELS.update(before["kernels"])
    thread_state.calls[:] = before["calls"]
