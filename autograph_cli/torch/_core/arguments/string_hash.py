"""The order in which PyTorch's messages list keywords: that of the hash table of the C++ library that it keeps them
in."""

from __future__ import annotations

from collections.abc import Iterable

_FACTOR, _SEED, _BITS = 0xC6A4A7935BD1E995, 0xC70F6907, (1 << 64) - 1
_BUCKETS = (13, 29, 59, 127)


def told_order(names: Iterable[str]) -> list[str]:
    """Keywords as a `std::unordered_map` holds them: each comes before those that were put in earlier, next to its
    bucket's.

    >>> told_order(["stride", "padding"])
    ['padding', 'stride']
    """
    given = list(names)
    buckets = next((n for n in _BUCKETS if len(given) <= n), 1)
    found: list[tuple[int, str]] = []
    for name in given:
        bucket = _hash(name.encode()) % buckets
        found.insert(next((i for i, (b, _) in enumerate(found) if b == bucket), 0), (bucket, name))
    return [name for _, name in found]


def _hash(text: bytes) -> int:
    """Murmur hash of 64 bits, as `std::hash<std::string>` computes it."""
    result = _SEED ^ (len(text) * _FACTOR & _BITS)
    whole = len(text) & ~7
    for i in range(0, whole, 8):
        word = int.from_bytes(text[i : i + 8], "little") * _FACTOR & _BITS
        result = (result ^ (_mixed(word) * _FACTOR & _BITS)) * _FACTOR & _BITS
    if whole < len(text):
        result = (result ^ int.from_bytes(text[whole:], "little")) * _FACTOR & _BITS
    return _mixed(_mixed(result) * _FACTOR & _BITS)


def _mixed(x: int) -> int:
    return x ^ (x >> 47)
