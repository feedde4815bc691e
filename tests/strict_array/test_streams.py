"""Queues of work and marks in them are PyTorch's: who waits for what, the times between marks, and memory that several
queues use."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli import torch

pytestmark = pytest.mark.usefixtures("gpu")


def test_a_block_changes_the_current_stream() -> None:
    stream, before = torch.cuda.Stream(), torch.cuda.current_stream()
    assert before == torch.cuda.default_stream() != stream
    for block in (torch.cuda.stream(stream), stream):
        with block:
            assert torch.cuda.current_stream() == stream
            with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.stream(None):
                assert torch.cuda.current_stream() not in (stream, before)
            assert torch.cuda.current_stream() == stream
        assert torch.cuda.current_stream() == before
    torch.cuda.set_stream(stream)
    assert torch.cuda.current_stream() == stream
    torch.cuda.set_stream(before)


def test_a_stream_tells_its_device() -> None:
    stream = torch.cuda.Stream(device="cuda:0", priority=-1)
    assert stream.device == torch.device("cuda:0") == torch.cuda.current_stream().device
    assert (stream.device_index, stream.priority) == (0, -1)
    assert len({stream, torch.cuda.default_stream(), torch.cuda.current_stream()}) == 2
    assert repr(stream) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={stream.cuda_stream:#x}>"


def test_work_is_done_when_somebody_has_waited_for_it() -> None:
    stream = torch.cuda.Stream()
    assert stream.query()
    with torch.cuda.stream(stream):
        torch.ones(3, device="cuda").exp()
        event = stream.record_event()
    event.synchronize()
    assert event.query() and stream.query()


@pytest.mark.parametrize("wait", ["wait_stream", "wait_event", "wait"])
def test_one_stream_waits_for_another(wait: str) -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        x = torch.ones(3, device="cuda") * 2
    if wait == "wait_stream":
        second.wait_stream(first)
    elif wait == "wait_event":
        second.wait_event(first.record_event())
    else:
        with torch.cuda.stream(second):
            first.record_event().wait()
    with torch.cuda.stream(second):
        y = x + 1
    second.synchronize()
    assert first.query()
    assert y.tolist() == [3.0, 3.0, 3.0]


def test_an_event_that_was_not_recorded_is_done_and_nobody_waits_for_it() -> None:
    event = torch.cuda.Event()
    assert event.query()
    event.wait()
    event.synchronize()
    assert repr(event) == "<torch.cuda.Event uninitialized>"


def test_the_time_between_events_is_asked_of_those_that_are_done() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(end)
    start.record()
    torch.ones(3, device="cuda").exp()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0
    plain = torch.cuda.Event()
    plain.record()
    with pytest.raises(ValueError, match="created with argument 'enable_timing=True'"):
        start.elapsed_time(plain)


def test_the_time_of_what_is_not_done_is_refused(transfers: dict[str, int]) -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    assert not end.query()
    with pytest.raises(RuntimeError, match="must be completed before"):
        start.elapsed_time(end)


def test_memory_that_another_stream_uses_is_kept_until_that_is_done(transfers: dict[str, int]) -> None:
    stream = torch.cuda.Stream()
    torch.ones(1, device="cuda")
    held = torch.cuda.memory_allocated()
    x = torch.zeros(1 << 16, device="cuda")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x[::2].record_stream(stream)
    del x
    torch.empty(1, device="cuda")
    assert torch.cuda.memory_allocated() == held + (4 << 16)
    stream.synchronize()
    torch.empty(1, device="cuda")
    assert torch.cuda.memory_allocated() == held


@pytest.mark.parametrize(
    "device, stream, error, text",
    [
        ("cpu", torch.cuda.Stream, NotImplementedError, "aten::record_stream"),
        ("cuda", int, RuntimeError, "unknown parameter type"),
    ],
)
def test_what_no_stream_uses_is_refused(device: str, stream: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        torch.ones(1, device=device).record_stream(stream())
