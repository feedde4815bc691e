"""Snapshots of graphs: beside scripts, beside tests, and how they are checked."""
