"""Learning-rate schedulers against the numbers of PyTorch (record_optim.py writes them)."""

import json
import warnings

import pytest

from autograph_cli import torch
from autograph_cli.torch.optim import lr_scheduler
from tests.torch.optim.record_optim import EXPECTED, SCHEDULERS, rates

RECORDED = json.loads(EXPECTED.read_text())["schedulers"]


def sgd(**options):
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], **{"lr": 1.0, "momentum": 0.9, **options})


@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_are_those_of_pytorch(name):
    assert rates(torch, name) == RECORDED[name]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_schedule_goes_on_from_its_state(name):
    def begin():
        optimizer = torch.optim.SGD(
            [{"params": [torch.zeros(1, requires_grad=True)]}, {"params": [torch.zeros(2, requires_grad=True)]}],
            lr=0.05,
            momentum=0.9,
        )
        return optimizer, SCHEDULERS[name](lr_scheduler, optimizer)

    def advance(optimizer, scheduler, epochs):
        for _ in range(epochs):
            optimizer.step()
            scheduler.step()
        return scheduler.get_last_lr()

    optimizer, scheduler = begin()
    advance(optimizer, scheduler, 4)
    resumed, again = begin()
    resumed.load_state_dict(optimizer.state_dict())
    again.load_state_dict(scheduler.state_dict())
    assert advance(resumed, again, 5) == advance(optimizer, scheduler, 5)


def test_a_rate_in_a_tensor_is_filled():
    lr = torch.tensor(1.0)
    optimizer = sgd(lr=lr)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert lr.item() == 0.5


@pytest.mark.parametrize(
    "mode, metrics, reduced",
    [
        ("min", [1.0, 0.5, 0.6, 0.6, 0.6], 0.1),
        ("min", [1.0, 0.9, 0.8, 0.7, 0.6], 1.0),
        ("max", [1.0, 0.9, 0.8, 0.7, 0.6], 0.1),
    ],
)
def test_a_plateau_reduces_the_rate(mode, metrics, reduced):
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, mode, patience=2)
    for metric in metrics:
        scheduler.step(torch.tensor(metric))
    assert scheduler.get_last_lr() == [reduced]


def test_a_scheduler_of_the_users_own_says_its_rates():
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base * 0.5**self.last_epoch for base in self.base_lrs]

    optimizer = sgd()
    scheduler = Halving(optimizer)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5]


def test_stepping_the_scheduler_first_warns():
    scheduler = lr_scheduler.StepLR(sgd(), 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()


def test_stepping_in_order_does_not_warn():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        scheduler.step()


def test_asking_for_rates_outside_a_step_warns():
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        lr_scheduler.StepLR(sgd(), 1).get_lr()


REFUSED = [
    (lambda: lr_scheduler.StepLR("x", 1), TypeError, "str is not an Optimizer"),
    (
        lambda: lr_scheduler.StepLR(sgd(), 1, last_epoch=3),
        KeyError,
        "param 'initial_lr' is not specified in param_groups",
    ),
    (lambda: lr_scheduler.LambdaLR(sgd(), [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
    (lambda: lr_scheduler.MultiplicativeLR(sgd(), 3), TypeError, "lr_lambda should be a function, but got int"),
    (
        lambda: lr_scheduler.ConstantLR(sgd(), 2),
        ValueError,
        "Constant multiplicative factor expected to be between 0 and 1.",
    ),
    (lambda: lr_scheduler.LinearLR(sgd(), 0), ValueError, "Starting multiplicative factor expected"),
    (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0), ValueError, "You must define either total_steps OR"),
    (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, 0), ValueError, "Expected positive integer total_steps, but got 0"),
    (lambda: lr_scheduler.CyclicLR(sgd(), 0.1, 1.0, mode="x"), ValueError, "mode is invalid and scale_fn is None"),
    (lambda: lr_scheduler.CyclicLR(sgd(), [0.1, 0.2], 1.0), ValueError, "base_lr must have the same length"),
    (
        lambda: lr_scheduler.CyclicLR(torch.optim.Adagrad([torch.zeros(1, requires_grad=True)]), 0.1, 1.0),
        ValueError,
        "optimizer must support momentum or beta1",
    ),
    (
        lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 0),
        ValueError,
        "Expected positive integer T_0, but got 0",
    ),
    (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0), ValueError, "Factor should be < 1.0."),
    (lambda: lr_scheduler.SequentialLR(sgd(), [], []), ValueError, "SequentialLR expects at least one scheduler"),
    (
        lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())]),
        ValueError,
        "does not support `ReduceLROnPlateau`",
    ),
]


@pytest.mark.parametrize("make, kind, text", REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals_are_in_the_words_of_pytorch(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
