"""The line search of L-BFGS: a step that fulfills the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

DECREASE = 1e-4
"""The part of the slope by which the loss must fall."""
FLATNESS = 0.9
"""The part of the slope that may be left."""
SMALLEST = 1e-9
"""The least movement of a parameter that counts."""


class Point(NamedTuple):
    """A step size with the loss, the gradient and the slope found there."""

    t: Any
    loss: float
    grad: Any
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]], t: Any, direction: Any, loss: float, grad: Any, slope: Any, most: int
) -> tuple[float, Any, Any, int]:
    """Search along `direction` from `t` on, in at most `most` turns.

    `evaluate(t)` gives loss and gradient. Returns the loss, gradient and step size found, and the number of
    evaluations.
    """
    start = Point(0, loss, grad.clone(), slope)
    used = 0

    def at(t: Any) -> Point:
        nonlocal used
        used += 1
        loss, grad = evaluate(t)
        return Point(t, loss, grad, grad.dot(direction))

    def too_high(point: Point) -> bool:
        return bool(point.loss > start.loss + DECREASE * point.t * start.slope)

    def flat(point: Point) -> bool:
        return bool(abs(point.slope) <= -FLATNESS * start.slope)

    bracket, turns, done = _bracket(start, at, at(t), too_high, flat, most)
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    stuck, reach = False, direction.abs().max()
    while not done and turns < most and not abs(bracket[1].t - bracket[0].t) * reach < SMALLEST:
        t, stuck = _inside(bracket, _interpolate(bracket[0], bracket[1]), stuck)
        point = at(t)
        turns += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if flat(point):
            done = True
        elif point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    found = bracket[low]
    return found.loss, found.grad, found.t, used


def _bracket(
    start: Point,
    at: Callable[[Any], Point],
    point: Point,
    too_high: Callable[[Point], bool],
    flat: Callable[[Point], bool],
    most: int,
) -> tuple[list[Point], int, bool]:
    """Go further until two points have a good step between them, or one is good: (points, turns, whether one is)."""
    before = start
    for turn in range(most):
        if too_high(point) or (turn > 1 and point.loss >= before.loss):
            return [before, point], turn, False
        if flat(point):
            return [point], turn, True
        if point.slope >= 0:
            return [before, point], turn, False
        bounds = (point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, at(_interpolate(before, point, bounds))
    return [start, point], most, False


def _interpolate(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return where the cubic through two points with their slopes is least, within bounds (the points, if none are
    given)."""
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        least = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(least, low), high)


def _inside(bracket: list[Point], t: Any, stuck: bool) -> tuple[Any, bool]:
    """`t`, kept a tenth away from an end when it was close to one twice, or at it; whether it was close now."""
    ends = [point.t for point in bracket]
    low, high = min(ends), max(ends)
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if stuck or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
