"""Kernels that move elements: views, positions, dtypes."""
