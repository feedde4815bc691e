"""Graphs and profiles as files for other programs."""
