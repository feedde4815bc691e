"""Averages of models; the numbers were recorded from PyTorch."""

import pytest

from autograph_cli import torch
from autograph_cli.torch.optim import swa_utils


def line(value):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, value)
    return model


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 3.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.75),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.75),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": lambda averaged, current, n: current - averaged + n}, 6.0),
    ],
)
def test_parameters_are_averaged(options, expected):
    averaged = swa_utils.AveragedModel(line(0.0), **options)
    for value in (1.0, 2.0, 6.0):
        averaged.update_parameters(line(value))
    assert averaged.module.weight.item() == pytest.approx(expected, rel=1e-6)
    assert averaged.n_averaged.item() == 3
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight"]


def test_buffers_are_copied_or_averaged():
    def norm(value):
        model = torch.nn.BatchNorm1d(1)
        model.running_mean.fill_(value)
        return model

    for use_buffers, expected in ((False, 3.0), (True, 2.0)):
        averaged = swa_utils.AveragedModel(norm(0.0), use_buffers=use_buffers)
        averaged.update_parameters(norm(1.0))
        averaged.update_parameters(norm(3.0))
        assert averaged.module.running_mean.item() == expected


def test_update_bn_computes_the_statistics_of_all_batches():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
    model.eval()
    swa_utils.update_bn([[torch.tensor([[0.0], [2.0]])], torch.tensor([[4.0], [6.0]])], model)
    assert model[0].running_mean.tolist() == [3.0]
    assert model[0].momentum == 0.1
    assert not model.training


@pytest.mark.parametrize(
    "strategy, expected",
    [
        ("linear", [1.0, 0.7666666666666667, 0.5333333333333333, 0.30000000000000004, 0.30000000000000004]),
        ("cos", [1.0, 0.8250000000000001, 0.47500000000000003, 0.3, 0.3]),
    ],
)
def test_swalr_goes_to_its_rate(strategy, expected):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, 0.3, 3, strategy)
    found = []
    for _ in range(5):
        found += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    assert found == pytest.approx(expected, rel=1e-12)


def test_refusals_are_in_the_words_of_pytorch():
    with pytest.raises(ValueError, match="Invalid decay value 2 provided"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa_utils.AveragedModel(line(1.0), avg_fn=min, multi_avg_fn=min)
