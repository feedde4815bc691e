"""Channels among themselves."""

from __future__ import annotations

from ._layer import Layer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Layer, call="channel_shuffle"):
    """The channels, split into groups, one of each group in turn."""

    groups: int
