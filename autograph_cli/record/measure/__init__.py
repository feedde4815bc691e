"""Measurements beside the graph: numbers, times, memory, checks of derivatives."""
