"""`Work`: a transfer that goes on, and the wait for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..futures import Future
from . import _status
from ._agreement import Agreement, go_on, wait_for
from ._transport import Request

if TYPE_CHECKING:
    from ._groups import Call

_SPINS = 0.02
_BYTES_A_SECOND = 5e7
_NAP, _LONG_NAP, _LOOK = 0.0001, 0.001, 0.25
"""Seconds: how long a wait keeps the core, for MPI moves bytes in its calls only; how long it then sleeps between
calls; how often it looks whether the other ranks are there."""


class Driven(Future):
    """A future of a `Work`, which goes on where it is waited for."""

    def __init__(self, drive: Callable[[], Any], ended: Callable[[], bool]) -> None:
        super().__init__()
        self._drive, self._ended = drive, ended

    def done(self) -> bool:
        """Return whether there is a result, or an error."""
        return super().done() or (self._ended() and super().done())

    def wait(self) -> Any:
        """The result, as soon as there is one."""
        self._drive()
        return super().wait()

    def _following(self) -> Future:
        return Driven(self._drive, self._ended)


class Work:
    """A call between ranks that has begun; `wait` ends it, and only then may its tensors be read."""

    def __init__(
        self,
        call: Call,
        requests: Sequence[Request],
        finish: Callable[[], None] | None,
        result: list[Any],
        agreement: Agreement | None = None,
        post: Callable[[], Sequence[Request]] = tuple,
    ) -> None:
        """`requests` have begun, or those of `post` begin when all ranks agree."""
        self._call, self._requests, self._finish, self._result = call, list(requests), finish, result
        self._agreement, self._post = agreement, post
        self._future: Driven | None = None
        self._error: BaseException | None = None
        self._complete = False
        self.noted: Callable[[], Any] | None = None
        """Tells a recorder that the result is there."""
        call.group.pending.append(self)
        if agreement is not None:
            wait_for(call.group, self._goes_on)
            go_on()

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.Work of {self._call.name}>"

    def is_completed(self) -> bool:
        """Return whether it is over; asking moves it on."""
        if not self._complete:
            go_on()
        if not self._complete and self._agreement is None:
            self._requests = self._tested()
            if not self._requests:
                self._end()
        return self._complete

    def _goes_on(self) -> bool:
        """Return whether it waits for the other ranks no more: they agree, or it has ended."""
        if self._agreement is None or self._complete:
            return True
        try:
            if not self._agreement.request.Test():
                return False
            wrong: RuntimeError | None = self._agreement.error()
            if wrong is None:
                self._requests, self._post = list(self._post()), tuple
        except RuntimeError as error:
            wrong = _status.complaint(self._call, f"failed ({error})")
        self._agreement = None
        if wrong is not None:
            self._end(wrong)
        return True

    def _over(self, request: Request) -> bool:
        return bool(request.Test())

    def _tested(self) -> list[Request]:
        """Return what is not over yet. DistBackendError for what MPI says, as where ranks give different sizes."""
        try:
            return [request for request in self._requests if not self._over(request)]
        except RuntimeError as error:
            wrong = _status.complaint(self._call, f"failed ({error})")
            self._end(wrong)
            raise wrong from None

    def _end(self, error: BaseException | None = None) -> None:
        self._complete, self._error = True, error
        finish, self._finish = self._finish, None
        if self in self._call.group.pending:
            self._call.group.pending.remove(self)
        if error is None and finish is not None:
            finish()
        if error is None and self.noted is not None:
            self.noted()
        if self._future is not None:
            self._settle(self._future)

    def _settle(self, future: Driven) -> None:
        if self._error is None:
            future.set_result(self._result)
        else:
            future.set_exception(self._error)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True when it is over. RuntimeError, naming the line of each rank, after the timeout of the group or this one,
        or as soon as a rank that it needs has ended."""
        if not self.is_completed():
            self._wait(timeout or self._call.group.timeout)
        if self._error is not None:
            raise self._error
        return True

    def _wait(self, timeout: timedelta) -> None:
        begun = looked = time.monotonic()
        gone = 0
        busy = _SPINS + self._call.bytes / _BYTES_A_SECOND
        with _status.waiting(self._call):
            while not self.is_completed():
                now = time.monotonic()
                if now - looked > _LOOK:
                    looked = now
                    gone += _status.gone(self._call)
                    wrong = _status.why_in_vain(self._call, gone, now - begun, timeout.total_seconds())
                    if wrong is not None:
                        self._end(wrong)
                        raise wrong
                if now - begun < busy:
                    os.sched_yield()
                else:
                    time.sleep(_NAP if now - begun < 1 else _LONG_NAP)

    def get_future(self) -> Driven:
        """A future of the list of tensors that it changes."""
        if self._future is None:
            self._future = Driven(self.wait, self.is_completed)
            if self._complete:
                self._settle(self._future)
        return self._future

    def result(self) -> list[Any]:
        """The tensors that it changes."""
        self.wait()
        return self._result

    def is_success(self) -> bool:
        """Return whether it is over without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error with which it ended."""
        return self._error

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    def source_rank(self) -> int:
        """The rank that sent what was received."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any")

    _source_rank = source_rank
