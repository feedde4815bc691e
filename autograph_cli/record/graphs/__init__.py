"""Graphs from what was noted, or from nodes that are there."""
