"""Times are measured by `timeit`; here a clock of our own makes them known."""

import itertools

import pytest

from autograph_cli import torch
from autograph_cli.torch.utils.benchmark import Compare, Measurement, Timer


def clock(step):
    """A clock that goes on by `step` seconds each time it is read."""
    return map(float, itertools.count(0, step)).__next__


def test_a_timer_counts_runs():
    seen = []
    timer = Timer("seen.append(x.sum())", "x = torch.ones(3)", globals={"seen": seen}, timer=clock(6))
    found = timer.timeit(300)
    assert len(seen) == 303 and seen[0].item() == 3.0
    assert (found.number_per_run, found.raw_times, found.median, found.mean) == (300, [6.0], 0.02, 0.02)
    assert "torch.utils.benchmark.utils.common.Measurement object at 0x" in repr(found)
    assert repr(found).splitlines()[1:] == [
        "seen.append(x.sum())",
        "setup: x = torch.ones(3)",
        "  20.00 ms",
        "  1 measurement, 300 runs , 1 thread",
    ]


def test_blocks_run_until_there_was_enough():
    calls = []
    found = Timer("pass", timer=clock(1)).blocked_autorange(lambda number, took: calls.append(took), min_run_time=5)
    assert found.number_per_run == 1 and found.raw_times == calls == [1.0] * 5 and found.iqr == 0.0
    assert len(Timer("pass", timer=clock(1)).adaptive_autorange(min_run_time=2).times) == 4


def test_a_real_statement_takes_time_and_threads_are_put_back():
    threads = torch.get_num_threads()
    assert 0 < Timer("x * x", globals={"x": torch.ones(3)}, num_threads=2).timeit(10).median < 1
    assert torch.get_num_threads() == threads


def test_other_languages_are_refused():
    with pytest.raises(NotImplementedError, match="only Python is measured"):
        Timer("int x;", language="c++")
    with pytest.raises(NotImplementedError, match="collect_callgrind is not available"):
        Timer("pass").collect_callgrind()


def test_measurements_are_compared_in_tables():
    def measured(seconds, name, size):
        return Measurement(
            10, [10 * seconds] * 3, Timer("f()", label="sums", sub_label=size, description=name)._task_spec
        )

    table = Compare([measured(1e-6, "a", "small"), measured(2e-6, "b", "small"), measured(5e-5, "a", "big")])
    assert str(table).splitlines() == [
        "[---------- sums ----------]",
        "             |   a    |   b ",
        "1 threads: -----------------",
        "      small  |   1.0  |  2.0",
        "      big    |  50.0  |     ",
        "",
        "Times are in microseconds (us).",
    ]
    table.trim_significant_figures()
    table.colorize(rowwise=True)
    assert "\033[92m 1\033[0m  |  2" in str(table)
